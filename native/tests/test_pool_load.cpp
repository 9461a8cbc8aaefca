// SPDX-License-Identifier: MIT
// The pool under many threads: every ticket has exactly one fate, whatever is closed or dropped meanwhile.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "check.hpp"
#include "pool.hpp"

using rocketride::Pool;
using rocketride::PoolStatus;
using rocketride::Ticket;

namespace {

constexpr int workers = 8, submitters = 4;
#ifdef ROCKETRIDE_SANITIZED
constexpr Ticket per_submitter = 25000;
#else
constexpr Ticket per_submitter = 100000;
#endif

/// A worker that keeps what it got; with slices it asks again after every timeout.
void work(Pool& pool, double slice, std::vector<Ticket>& got) {
    pool.attach();
    for (;;) {
        Ticket ticket = -1;
        const PoolStatus status = pool.take(slice, ticket);
        if (status == PoolStatus::closed) break;
        if (status == PoolStatus::timed_out) continue;
        got.push_back(ticket);
        pool.done();
    }
    pool.detach();
}

/// Submits its tickets in order until the pool is closed; returns how many were accepted.
Ticket submit(Pool& pool, int who, double slice) {
    for (Ticket n = 0; n < per_submitter; ++n) {
        PoolStatus status;
        do status = pool.put(who * per_submitter + n, slice);
        while (status == PoolStatus::timed_out);
        if (status == PoolStatus::closed) return n;
    }
    return per_submitter;
}

struct Outcome {
    std::vector<std::vector<Ticket>> got = std::vector<std::vector<Ticket>>(workers);
    std::vector<Ticket> dropped;
    std::vector<Ticket> accepted = std::vector<Ticket>(submitters, 0);
};

template <typename Meanwhile>
Outcome run(Pool& pool, double slice, Meanwhile meanwhile) {
    Outcome outcome;
    std::vector<std::thread> takers, putters;
    for (int n = 0; n < workers; ++n) takers.emplace_back([&, n] { work(pool, slice, outcome.got[n]); });
    for (int n = 0; n < submitters; ++n) putters.emplace_back([&, n] { outcome.accepted[n] = submit(pool, n, slice); });
    meanwhile(outcome);
    for (std::thread& thread : putters) thread.join();
    pool.close();
    for (std::thread& thread : takers) thread.join();
    return outcome;
}

void check_fates(Pool& pool, const Outcome& outcome) {
    std::vector<Ticket> all = outcome.dropped;
    for (const std::vector<Ticket>& mine : outcome.got) {
        all.insert(all.end(), mine.begin(), mine.end());
        Ticket last[submitters] = {-1, -1, -1, -1};
        for (Ticket t : mine) {  // first in, first out: of one submitter each worker sees rising numbers
            CHECK(t > last[t / per_submitter]);
            last[t / per_submitter] = t;
        }
    }
    std::sort(all.begin(), all.end());
    std::vector<Ticket> wanted;
    for (int who = 0; who < submitters; ++who)
        for (Ticket n = 0; n < outcome.accepted[who]; ++n) wanted.push_back(who * per_submitter + n);
    CHECK(all == wanted);
    CHECK_EQ(pool.queued() + pool.running() + pool.idle() + pool.blocked() + pool.workers(), 0u);
    CHECK(pool.wait_idle(0) == PoolStatus::ok);
}

}  // namespace

TEST(each_of_many_tickets_is_taken_exactly_once) {
    Pool pool(16);
    const Outcome outcome = run(pool, 60, [](Outcome&) {});
    CHECK_EQ(outcome.accepted, std::vector<Ticket>(submitters, per_submitter));
    check_fates(pool, outcome);
}

TEST(waits_in_slices_lose_nothing) {
    Pool pool(1);
    const Outcome outcome = run(pool, 0.00002, [](Outcome&) {});
    CHECK_EQ(outcome.accepted, std::vector<Ticket>(submitters, per_submitter));
    check_fates(pool, outcome);
}

TEST(closing_under_load_refuses_the_rest_and_keeps_what_was_accepted) {
    Pool pool(16);
    const Outcome outcome = run(pool, 60, [&](Outcome&) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        pool.close();
    });
    check_fates(pool, outcome);
}

TEST(dropping_under_load_drops_what_nobody_took) {
    Pool pool(64);
    const Outcome outcome = run(pool, 60, [&](Outcome& o) {
        for (int n = 0; n < 200; ++n) {
            for (Ticket t : pool.drop_queued()) o.dropped.push_back(t);
            if (n % 3 == 0) {
                const Ticket guess = n * per_submitter / 200;
                if (pool.discard(guess)) o.dropped.push_back(guess);
            }
            std::this_thread::yield();
        }
    });
    CHECK_EQ(outcome.accepted, std::vector<Ticket>(submitters, per_submitter));
    check_fates(pool, outcome);
}

TEST(close_and_drop_end_a_pool_at_once) {
    Pool pool(1000);
    const Outcome outcome = run(pool, 60, [&](Outcome& o) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        pool.close();
        o.dropped = pool.drop_queued();
    });
    check_fates(pool, outcome);
}

TEST(a_drain_sees_the_end_of_all_work) {
    Pool pool(8);
    std::atomic<int> finished{0};
    std::vector<std::thread> threads;
    for (int n = 0; n < workers; ++n)
        threads.emplace_back([&] {
            Ticket ticket;
            while (pool.take(60, ticket) == PoolStatus::ok) {
                ++finished;
                pool.done();
            }
        });
    for (int round = 1; round <= 500; ++round) {
        for (Ticket t = 0; t < 10; ++t) CHECK(pool.put(t, 60) == PoolStatus::ok);
        CHECK(pool.wait_idle(60) == PoolStatus::ok);
        CHECK_EQ(finished.load(), round * 10);
    }
    pool.close();
    for (std::thread& thread : threads) thread.join();
}

TEST(a_batch_is_run_when_everything_in_flight_waits_for_it) {
    // Every entry waits for the stall; without a sure signal of it this ends only by its long timeouts.
    Pool pool(8);
    std::atomic<int> released{0};
    std::vector<std::thread> threads;
    for (int n = 0; n < workers; ++n)
        threads.emplace_back([&] {
            pool.attach();
            Ticket ticket;
            while (pool.take(60, ticket) == PoolStatus::ok) {
                pool.begin_wait();
                CHECK(pool.wait_stalled(60) == PoolStatus::ok);
                pool.end_wait();
                ++released;
                pool.done();
            }
            pool.detach();
        });
    for (Ticket t = 0; t < 400; ++t) CHECK(pool.put(t, 60) == PoolStatus::ok);
    CHECK(pool.wait_idle(60) == PoolStatus::ok);
    CHECK_EQ(released.load(), 400);
    pool.close();
    for (std::thread& thread : threads) thread.join();
}

RUN_TESTS
