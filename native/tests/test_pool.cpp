// SPDX-License-Identifier: MIT
// The queue of the pool: order, backpressure, closing, dropping.
#include <limits>
#include <stdexcept>

#include "pool_help.hpp"

using rocketride::Pool;
using rocketride::PoolStatus;
using rocketride::Ticket;

TEST(tickets_come_out_in_the_order_they_went_in) {
    Pool pool(3);
    for (Ticket round = 0; round < 5; ++round) {
        for (Ticket t = 0; t < 3; ++t) CHECK(pool.put(round * 10 + t, 0) == PoolStatus::ok);
        for (Ticket t = 0; t < 3; ++t) CHECK_EQ(taken(pool), round * 10 + t);
    }
    CHECK_EQ(pool.running(), 15u);
}

TEST(a_full_queue_holds_the_submitter_back_until_something_is_taken) {
    Pool pool(2);
    CHECK(pool.put(1, 0) == PoolStatus::ok && pool.put(2, 0) == PoolStatus::ok);
    const auto before = std::chrono::steady_clock::now();
    CHECK(pool.put(3, soon) == PoolStatus::timed_out);
    CHECK(seconds_since(before) >= soon);
    CHECK(pool.put(3, 0) == PoolStatus::timed_out);
    CHECK_EQ(pool.queued(), 2u);
    std::thread submitter([&] { CHECK(pool.put(4, forever) == PoolStatus::ok); });
    until([&] { return pool.blocked() == 1; });
    CHECK_EQ(taken(pool), 1);
    submitter.join();
    CHECK_EQ(taken(pool), 2);
    CHECK_EQ(taken(pool), 4);  // 3 was given up
    CHECK_EQ(pool.blocked(), 0u);
}

TEST(blocked_submitters_get_room_in_order_of_arrival) {
    Pool pool(1);
    CHECK(pool.put(0, 0) == PoolStatus::ok);
    std::vector<std::thread> submitters;
    for (Ticket t = 1; t <= 5; ++t) {
        submitters.emplace_back([&pool, t] { CHECK(pool.put(t, forever) == PoolStatus::ok); });
        until([&] { return pool.blocked() == static_cast<std::size_t>(t); });
    }
    for (Ticket t = 0; t <= 5; ++t) CHECK_EQ(taken(pool), t);
    for (std::thread& thread : submitters) thread.join();
}

TEST(one_who_gives_up_leaves_the_line_whole) {
    Pool pool(1);
    CHECK(pool.put(0, 0) == PoolStatus::ok);
    std::thread first([&] { CHECK(pool.put(1, forever) == PoolStatus::ok); });
    until([&] { return pool.blocked() == 1; });
    std::thread second([&] { CHECK(pool.put(2, soon) == PoolStatus::timed_out); });
    until([&] { return pool.blocked() == 2; });
    std::thread third([&] { CHECK(pool.put(3, forever) == PoolStatus::ok); });
    second.join();
    until([&] { return pool.blocked() == 2; });
    CHECK_EQ(taken(pool), 0);
    CHECK_EQ(taken(pool), 1);
    CHECK_EQ(taken(pool), 3);
    first.join();
    third.join();
}

TEST(an_empty_queue_makes_a_worker_wait_no_longer_than_asked) {
    Pool pool(2);
    Ticket ticket = 42;
    const auto before = std::chrono::steady_clock::now();
    CHECK(pool.take(soon, ticket) == PoolStatus::timed_out);
    CHECK(seconds_since(before) >= soon);
    CHECK(pool.take(0, ticket) == PoolStatus::timed_out);
    CHECK(pool.take(-1, ticket) == PoolStatus::timed_out);
    CHECK(pool.take(std::numeric_limits<double>::quiet_NaN(), ticket) == PoolStatus::timed_out);
    CHECK_EQ(ticket, 42);
    CHECK_EQ(pool.idle(), 0u);
    CHECK_EQ(pool.running(), 0u);
}

TEST(an_endless_timeout_does_not_overflow) {
    Pool pool(1);
    std::thread worker([&] {
        Ticket ticket = 0;
        CHECK(pool.take(std::numeric_limits<double>::infinity(), ticket) == PoolStatus::ok);
        CHECK_EQ(ticket, 9);
    });
    until([&] { return pool.idle() == 1; });
    CHECK(pool.put(9, std::numeric_limits<double>::max()) == PoolStatus::ok);
    worker.join();
}

TEST(the_longest_waiting_worker_is_served_first) {
    Pool pool(4);
    Ticket got[3] = {-1, -1, -1};
    std::vector<std::thread> workers;
    for (std::size_t n = 0; n < 3; ++n) {
        workers.emplace_back([&pool, &got, n] { CHECK(pool.take(forever, got[n]) == PoolStatus::ok); });
        until([&] { return pool.idle() == n + 1; });
    }
    for (Ticket t = 0; t < 3; ++t) CHECK(pool.put(t, 0) == PoolStatus::ok);
    for (std::thread& thread : workers) thread.join();
    for (Ticket t = 0; t < 3; ++t) CHECK_EQ(got[t], t);
    CHECK_EQ(pool.running(), 3u);
}

TEST(after_close_nothing_is_put_and_what_is_queued_is_still_taken) {
    Pool pool(3);
    CHECK(pool.put(1, 0) == PoolStatus::ok && pool.put(2, 0) == PoolStatus::ok);
    pool.close();
    pool.close();
    CHECK(pool.closed());
    CHECK(pool.put(3, forever) == PoolStatus::closed);
    CHECK_EQ(taken(pool), 1);
    CHECK_EQ(taken(pool), 2);
    Ticket ticket = 0;
    CHECK(pool.take(forever, ticket) == PoolStatus::closed);
}

TEST(close_wakes_all_who_wait) {
    Pool empty(1), full(1);
    CHECK(full.put(1, 0) == PoolStatus::ok);
    std::vector<std::thread> threads;
    for (int n = 0; n < 3; ++n) {
        threads.emplace_back([&] { Ticket t; CHECK(empty.take(forever, t) == PoolStatus::closed); });
        threads.emplace_back([&] { CHECK(full.put(2, forever) == PoolStatus::closed); });
    }
    until([&] { return empty.idle() == 3 && full.blocked() == 3; });
    empty.close();
    full.close();
    for (std::thread& thread : threads) thread.join();
    CHECK_EQ(full.queued(), 1u);
}

TEST(a_queued_ticket_can_be_discarded_once) {
    Pool pool(4);
    for (Ticket t = 1; t <= 4; ++t) CHECK(pool.put(t, 0) == PoolStatus::ok);
    CHECK_EQ(taken(pool), 1);
    CHECK(pool.put(5, 0) == PoolStatus::ok);  // the ring has wrapped
    CHECK(pool.discard(3));
    CHECK(!pool.discard(3));
    CHECK(!pool.discard(1));
    CHECK(!pool.discard(99));
    CHECK_EQ(taken(pool), 2);
    CHECK_EQ(taken(pool), 4);
    CHECK_EQ(taken(pool), 5);
    CHECK_EQ(pool.queued(), 0u);
}

TEST(discarding_and_dropping_make_room) {
    Pool pool(2);
    CHECK(pool.put(1, 0) == PoolStatus::ok && pool.put(2, 0) == PoolStatus::ok);
    std::thread third([&] { CHECK(pool.put(3, forever) == PoolStatus::ok); });
    until([&] { return pool.blocked() == 1; });
    CHECK(pool.discard(1));
    third.join();
    std::thread fourth([&] { CHECK(pool.put(4, forever) == PoolStatus::ok); });
    until([&] { return pool.blocked() == 1; });
    CHECK_EQ(pool.drop_queued(), (std::vector<Ticket>{2, 3}));
    fourth.join();
    pool.close();
    CHECK_EQ(pool.drop_queued(), std::vector<Ticket>{4});
    CHECK_EQ(pool.drop_queued(), std::vector<Ticket>{});
}

TEST(a_pool_without_room_is_refused) {
    bool refused = false;
    try {
        Pool pool(0);
    } catch (const std::invalid_argument&) {
        refused = true;
    }
    CHECK(refused);
    CHECK_EQ(Pool(7).capacity(), 7u);
}

RUN_TESTS
