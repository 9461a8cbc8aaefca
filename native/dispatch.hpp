// SPDX-License-Identifier: MIT
// Delivery inside one entry: who receives an emit, how deep deliveries nest, what is put off. No Python, no text for users.
//
// Everything here belongs to one thread: an entry never leaves the thread it was opened on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rocketride {

enum class Phase : std::uint8_t { idle, open, handler, flush, close, tool };

/// One consumer of one output lane: the slot (instance) that receives, and the callable, which only the host understands.
struct Target {
    std::int32_t slot = -1;
    std::int32_t lane = -1;
    void* handler = nullptr;
    void* owner = nullptr;      // what the handler is called on, where it is a plain method
    std::uint64_t allowed = 0;  // the output lanes this handler may cause, one bit each
};

/// One output lane of one slot; `key` is the host's identity of the lane, bit number n of a mask stands for the n-th of a slot.
struct Out {
    void* key = nullptr;
    std::int32_t lane = -1;
    std::uint32_t first = 0, count = 0;  // a range of Layout::targets
};

struct SlotPlan {
    std::int32_t node = -1;
    bool control = false;
    std::uint32_t first_out = 0, outs = 0;  // a range of Layout::outs
    std::uint64_t declared = 0;             // what hooks may emit: all of the node's lanes
    void* open = nullptr;
    void* flush = nullptr;
    void* close = nullptr;
};

/// Everything an entry of one root needs, in flat tables.
struct Layout {
    std::int32_t root = -1;
    std::vector<SlotPlan> slots;  // lane instances in flush order, then control instances, callees first
    std::size_t lane_slots = 0;
    std::vector<std::int32_t> control_slot;  // per node: its control instance, or -1
    SlotPlan feed;                           // the root's own outputs; it has no instance
    std::vector<Out> outs;
    std::vector<Target> targets;
};

/// Depth-first delivery with a limit. `Host` provides:
///   void call(const Target&, void* payload)   runs the handler; a failure sets what `stopped` answers
///   bool stopped() const                      the entry has failed or was cancelled
///   void retain(void*), release(void*)        keep a payload alive while its delivery is put off
template <typename Host>
class Delivery {
public:
    std::int32_t level = 0;
    std::uint64_t count = 0;  // deliveries so far

    /// False: the entry has stopped, and the emitter must unwind.
    bool deliver(Host& host, const Target* first, const Target* last, void* payload, std::int32_t limit) {
        if (level >= limit) {
            for (; first != last; ++first) {
                host.retain(payload);
                pending_.push_back({first, payload});
            }
            return true;
        }
        for (; first != last; ++first) {
            ++level;
            ++count;
            host.call(*first, payload);
            if (!pending_.empty()) drain(host);
            --level;
            if (host.stopped()) return false;
        }
        return true;
    }

    void drop(Host& host) {
        while (!pending_.empty()) {
            void* payload = pending_.back().payload;
            pending_.pop_back();
            host.release(payload);
        }
    }

    template <typename Visit>
    void each_pending(Visit visit) const {
        for (const Put& put : pending_) visit(put.payload);
    }

private:
    struct Put {
        const Target* target;
        void* payload;
    };

    // Only the handler at the limit puts anything off, so the list holds its block alone: newest block first, each in its own order.
    void drain(Host& host) {
        std::reverse(pending_.begin(), pending_.end());
        while (!pending_.empty() && !host.stopped()) {
            const Put put = pending_.back();
            pending_.pop_back();
            const std::size_t mark = pending_.size();
            ++count;
            host.call(*put.target, put.payload);
            host.release(put.payload);
            std::reverse(pending_.begin() + static_cast<std::ptrdiff_t>(mark), pending_.end());
        }
        drop(host);
    }

    std::vector<Put> pending_;
};

}  // namespace rocketride
