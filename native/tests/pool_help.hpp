// SPDX-License-Identifier: MIT
// Times and waits that the tests of the pool share.
#pragma once

#include <chrono>
#include <thread>

#include "check.hpp"
#include "pool.hpp"

inline constexpr double soon = 0.02;
inline constexpr double forever = 60;

inline double seconds_since(std::chrono::steady_clock::time_point before) { return std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count(); }

/// Waits until a count of the pool has the value, at most a minute.
template <typename Get>
void until(Get get) {
    const auto before = std::chrono::steady_clock::now();
    while (!get() && seconds_since(before) < forever) std::this_thread::yield();
    CHECK(get());
}

inline rocketride::Ticket taken(rocketride::Pool& pool) {
    rocketride::Ticket ticket = -1;
    CHECK(pool.take(0, ticket) == rocketride::PoolStatus::ok);
    return ticket;
}

/// Lets a thread that was just started come to its wait; the test holds also if it does not get there.
inline void let_it_wait() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }
