// SPDX-License-Identifier: MIT
// What the pool knows of the work in flight: drain, and the stall of all.
#include "pool_help.hpp"

using rocketride::Pool;
using rocketride::PoolStatus;
using rocketride::Ticket;

TEST(draining_waits_for_the_queued_and_the_running) {
    Pool pool(2);
    CHECK(pool.wait_idle(0) == PoolStatus::ok);
    CHECK(pool.put(1, 0) == PoolStatus::ok);
    CHECK(pool.wait_idle(soon) == PoolStatus::timed_out);
    taken(pool);
    CHECK(pool.wait_idle(soon) == PoolStatus::timed_out);
    std::thread drain([&] { CHECK(pool.wait_idle(forever) == PoolStatus::ok); });
    let_it_wait();
    pool.done();
    drain.join();
    pool.enter();
    CHECK(pool.wait_idle(0) == PoolStatus::timed_out);
    pool.leave();
    CHECK(pool.wait_idle(0) == PoolStatus::ok);
}

TEST(dropping_the_queue_ends_a_drain) {
    Pool pool(2);
    CHECK(pool.put(1, 0) == PoolStatus::ok);
    std::thread drain([&] { CHECK(pool.wait_idle(forever) == PoolStatus::ok); });
    let_it_wait();
    CHECK_EQ(pool.drop_queued(), std::vector<Ticket>{1});
    drain.join();
    CHECK(pool.put(2, 0) == PoolStatus::ok);
    std::thread again([&] { CHECK(pool.wait_idle(forever) == PoolStatus::ok); });
    let_it_wait();
    CHECK(pool.discard(2));
    again.join();
}

TEST(stalled_when_all_in_flight_wait) {
    Pool pool(4);
    CHECK(!pool.stalled());
    for (Ticket t = 1; t <= 2; ++t) CHECK(pool.put(t, 0) == PoolStatus::ok);
    taken(pool);
    taken(pool);
    pool.enter();
    CHECK(!pool.begin_wait());
    CHECK(!pool.begin_wait());
    CHECK_EQ(pool.waiting(), 2u);
    CHECK_EQ(pool.running(), 3u);
    CHECK(pool.begin_wait());
    pool.end_wait();
    CHECK(!pool.stalled());
    CHECK(pool.leave());  // the two left both wait
    CHECK(pool.stalled());
    pool.end_wait();
    CHECK(pool.done());
    pool.end_wait();
    CHECK(!pool.done());
    CHECK_EQ(pool.running() + pool.waiting(), 0u);
}

TEST(not_stalled_while_a_free_worker_is_about_to_take_what_is_queued) {
    Pool pool(4);
    pool.attach();
    pool.attach();
    CHECK(pool.put(1, 0) == PoolStatus::ok && pool.put(2, 0) == PoolStatus::ok);
    taken(pool);
    CHECK(!pool.begin_wait());
    taken(pool);
    CHECK(pool.begin_wait());
    CHECK(pool.put(3, 0) == PoolStatus::ok);  // nobody is free to take it
    CHECK(pool.stalled());
    pool.end_wait();
    CHECK(!pool.done());  // one waits, and the other worker is free for 3
    CHECK(!pool.stalled());
    CHECK(pool.discard(3));
    CHECK(pool.stalled());
    CHECK_EQ(pool.workers(), 2u);
    pool.detach();
    CHECK_EQ(pool.workers(), 1u);
}

TEST(waiting_for_a_stall) {
    Pool pool(1);
    CHECK(pool.wait_stalled(soon) == PoolStatus::timed_out);
    CHECK(pool.put(1, 0) == PoolStatus::ok);
    taken(pool);
    std::thread watcher([&] { CHECK(pool.wait_stalled(forever) == PoolStatus::ok); });
    let_it_wait();
    pool.begin_wait();
    watcher.join();
    pool.end_wait();
    std::thread last([&] { CHECK(pool.wait_stalled(forever) == PoolStatus::closed); });
    let_it_wait();
    pool.close();
    CHECK(!pool.done());
    last.join();
}

TEST(ending_what_was_not_begun_does_nothing) {
    Pool pool(1);
    pool.end_wait();
    pool.detach();
    CHECK(!pool.done());
    CHECK(!pool.leave());
    CHECK_EQ(pool.running() + pool.waiting() + pool.workers(), 0u);
}

RUN_TESTS
