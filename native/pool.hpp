// SPDX-License-Identifier: MIT
// A bounded first-in-first-out queue of tickets between submitters and worker threads. No Python, no text for users.
//
// All functions may be called on any thread; none may be inside when the pool is destroyed. They neither throw (but for the
// constructor and drop_queued, on want of memory) nor call back. Every wait ends after `timeout` seconds (0 or less: do not
// wait), so that callers can wait in slices.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace rocketride {

using Ticket = std::int64_t;

enum class PoolStatus { ok, timed_out, closed };

class Pool {
public:
    /// At most `capacity` (at least 1, else std::invalid_argument) tickets are queued; the memory for them is taken here.
    explicit Pool(std::size_t capacity);
    ~Pool() = default;
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    /// Queues a ticket; waits while the queue is full. Who waits longest is next. Unless `ok`, the ticket was not queued.
    PoolStatus put(Ticket ticket, double timeout);
    /// Takes the oldest ticket, which is then running until `done`. `closed`: closed and nothing is left. Who waits longest is served first.
    PoolStatus take(double timeout, Ticket& ticket);
    /// The work of one taken ticket is over. True: from now on everything in flight is waiting (see stalled). Like leave,
    /// end_wait and detach it does nothing when there is nothing to end.
    bool done();

    /// Work that runs outside of the workers (on a host's own thread) counts as in flight between enter and leave; also after close.
    void enter();
    bool leave();  // as done

    /// Between these two the calling thread's work waits for the others (say, for a batch to fill up). begin_wait answers as done.
    bool begin_wait();
    void end_wait();
    /// True when something is in flight, all of it waits, and no free worker is about to take what is queued.
    bool stalled() const;
    /// Waits until stalled (`ok`), or until nothing can be in flight any more (`closed`).
    PoolStatus wait_stalled(double timeout);

    /// A worker thread begins or ends; only `stalled` and `workers` look at the number.
    void attach();
    void detach();

    /// Takes a ticket out of the queue; false if it is not there (taken already, or never put).
    bool discard(Ticket ticket);
    /// Takes everything out of the queue, oldest first. Those who waited for room then get it; call close first to prevent that.
    std::vector<Ticket> drop_queued();
    /// From now on nothing is put: who waits in put gets `closed`. Workers still get what is queued. Twice is as good as once.
    void close();
    /// Waits until nothing is queued and nothing is in flight.
    PoolStatus wait_idle(double timeout);

    bool closed() const;
    std::size_t capacity() const;
    std::size_t queued() const;
    std::size_t idle() const;      // threads inside take, waiting
    std::size_t blocked() const;   // threads inside put, waiting
    std::size_t running() const;   // taken and not done, plus entered and not left
    std::size_t waiting() const;   // of the running ones
    std::size_t workers() const;   // attached

private:
    struct Waiter {  // on the stack of a waiting thread, linked in order of arrival
        std::condition_variable wake;
        Waiter* before = nullptr;
        Waiter* after = nullptr;
        Ticket ticket = 0;
        bool settled = false;  // out of the list: handed over, or closed
        PoolStatus outcome = PoolStatus::timed_out;
    };
    struct Line {
        Waiter* first = nullptr;
        Waiter* last = nullptr;
        std::size_t length = 0;
        void join(Waiter& waiter);
        void part(Waiter& waiter);
        void settle_first(PoolStatus outcome);
    };

    PoolStatus wait_in(Line& line, Waiter& waiter, std::unique_lock<std::mutex>& lock, double timeout);
    template <typename Get>
    auto read(Get get) const;
    template <typename Ready>
    PoolStatus wait_for_state(double timeout, Ready ready);
    void push(Ticket ticket);
    Ticket pop();
    void admit();
    bool stalled_now() const;
    bool idle_now() const;
    bool settle_state();

    mutable std::mutex mutex_;
    std::condition_variable state_;  // wait_idle, wait_stalled
    std::vector<Ticket> ring_;
    std::size_t head_ = 0, size_ = 0;
    Line takers_, putters_;
    std::size_t taken_ = 0, entered_ = 0, waiting_ = 0, workers_ = 0, observers_ = 0;
    bool closed_ = false;
};

}  // namespace rocketride
