// SPDX-License-Identifier: MIT
// What the kernel itself adds to a hop: look-up of the lane, depth-first delivery and what an instance keeps of its state. The
// handlers are C++ functions that pass a payload on, so there is no interpreter in the figure.
//
//   bench_hop          prints the figures and fails where they are far beyond the budget of 15 ns
//   bench_hop --json   prints them for `python -m benchmarks`
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

#include "dispatch.hpp"

using rocketride::Delivery;
using rocketride::Layout;
using rocketride::Out;
using rocketride::Phase;
using rocketride::SlotPlan;
using rocketride::Target;

namespace {

constexpr int LINE = 50, ROUNDS = 15, TIMES = 4000;
constexpr double BUDGET = 15;

struct Instance {
    const SlotPlan* plan;
    Phase phase = Phase::idle;
    std::int32_t lane = -1;
    std::uint64_t allowed = 0;
};

struct Span {
    std::int32_t node, lane;
    std::int64_t start;
};

/// As the Python host: keeps who is current, and calls what the target names. `Traced`: it asks whether there are spans to write.
template <bool Traced>
struct Flight {
    using Handler = void (*)(Flight&, Instance&, void*);

    const Layout* layout;
    std::vector<Instance> instances;
    Instance* current = nullptr;
    Delivery<Flight> delivery;
    std::vector<Span>* volatile spans = nullptr;
    bool failed = false;
    std::uint64_t arrived = 0, retained = 0;

    void call(const Target& target, void* payload) {
        Instance& instance = instances[static_cast<std::size_t>(target.slot)];
        Instance* const outer = current;
        const Instance before = instance;
        instance.phase = Phase::handler;
        instance.lane = target.lane;
        instance.allowed = target.allowed;
        current = &instance;
        bool span = false;
        if constexpr (Traced) {
            if (std::vector<Span>* open = spans) {
                open->push_back({instance.plan->node, target.lane, 0});
                span = true;
            }
        }
        reinterpret_cast<Handler>(target.handler)(*this, instance, payload);
        if constexpr (Traced) {
            if (span) spans->back().start = 1;
        }
        instance = before;
        current = outer;
    }
    bool stopped() const { return failed; }
    void retain(void*) { ++retained; }
    void release(void*) { --retained; }

    bool emit(const Instance& instance, void* lane, void* payload) {
        const Out* outs = layout->outs.data() + instance.plan->first_out;
        for (std::uint32_t n = 0; n < instance.plan->outs; ++n) {
            if (outs[n].key != lane || !(instance.allowed >> n & 1)) continue;
            const Target* first = layout->targets.data() + outs[n].first;
            return delivery.deliver(*this, first, first + outs[n].count, payload, 64);
        }
        return false;
    }
};

int text, tags;  // their addresses are lanes

template <bool Traced>
void pass_on(Flight<Traced>& flight, Instance& instance, void* payload) {
    if (!flight.emit(instance, &text, payload)) flight.failed = true;
}

template <bool Traced>
void arrive(Flight<Traced>& flight, Instance&, void*) {
    ++flight.arrived;
}

/// A line whose nodes pass text on; each declares another lane first, as real ones do.
template <bool Traced>
Layout line(int length) {
    Layout layout;
    layout.lane_slots = static_cast<std::size_t>(length);
    for (int n = 0; n < length; ++n) {
        const bool last = n == length - 1;
        SlotPlan plan;
        plan.node = n;
        plan.first_out = static_cast<std::uint32_t>(layout.outs.size());
        plan.outs = 2;
        layout.slots.push_back(plan);
        layout.outs.push_back({&tags, 1, 0, 0});
        layout.outs.push_back({&text, 0, static_cast<std::uint32_t>(layout.targets.size()), last ? 0u : 1u});
        if (last) continue;
        Target target;
        target.slot = n + 1;
        target.lane = 0;
        target.handler = reinterpret_cast<void*>(n + 1 == length - 1 ? &arrive<Traced> : &pass_on<Traced>);
        target.allowed = 3;
        layout.targets.push_back(target);
    }
    return layout;
}

/// ns a hop: the best of some rounds, because whatever disturbs a round only adds to it.
template <bool Traced>
double hop(int length) {
    const Layout layout = line<Traced>(length);
    Flight<Traced> flight{&layout, {}, nullptr, {}, nullptr, false, 0, 0};
    for (const SlotPlan& plan : layout.slots) flight.instances.push_back({&plan});
    flight.instances[0].allowed = 3;
    double best = 1e9;
    const int times = TIMES * LINE / length;
    for (int round = 0; round < ROUNDS; ++round) {
        const auto before = std::chrono::steady_clock::now();
        for (int n = 0; n < times; ++n) flight.emit(flight.instances[0], &text, &flight);
        const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - before;
        best = std::min(best, took.count() / times / (length - 1));
    }
    const bool good = flight.arrived == static_cast<std::uint64_t>(times) * ROUNDS && flight.retained == 0 && !flight.failed &&
                      flight.delivery.count == flight.arrived * static_cast<std::uint64_t>(length - 1);
    return good ? best : -1;
}

}  // namespace

int main(int count, char** arguments) {
    const double plain = hop<false>(LINE), traceable = hop<true>(LINE), deferred = hop<false>(1000);
    if (plain < 0 || traceable < 0 || deferred < 0) {
        std::fprintf(stderr, "payloads got lost\n");
        return 2;
    }
    if (count > 1 && std::strcmp(arguments[1], "--json") == 0) {
        std::printf("{\"hop\": %.3f, \"hop_with_tracing_off\": %.3f, \"hop_in_a_line_of_1000\": %.3f}\n", plain, traceable, deferred);
        return 0;
    }
    std::printf("hop %.2f ns, with tracing off %.2f ns, in a line of 1000 %.2f ns; the budget is %.0f ns\n", plain, traceable, deferred, BUDGET);
#if defined(ROCKETRIDE_SANITIZED) || !defined(NDEBUG)
    return 0;  // not what is shipped
#else
    // A test machine is busy: only an error of principle is three times over.
    return plain > 3 * BUDGET || deferred > 3 * BUDGET ? 1 : 0;
#endif
}
