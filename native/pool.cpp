// SPDX-License-Identifier: MIT
#include "pool.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace rocketride {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double longest_wait = 365.0 * 24 * 3600;  // seconds; more could overflow the clock

Clock::time_point deadline_after(double timeout) {
    const double seconds = timeout > 0 ? std::min(timeout, longest_wait) : 0;  // not a number: no wait
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

void Pool::Line::join(Waiter& waiter) {
    waiter.before = last;
    (last ? last->after : first) = &waiter;
    last = &waiter;
    ++length;
}

void Pool::Line::part(Waiter& waiter) {
    (waiter.before ? waiter.before->after : first) = waiter.after;
    (waiter.after ? waiter.after->before : last) = waiter.before;
    --length;
}

/// Notified under the mutex: the waiter is on the stack of its thread, which may return as soon as the mutex is free.
void Pool::Line::settle_first(PoolStatus outcome) {
    Waiter& waiter = *first;
    part(waiter);
    waiter.outcome = outcome;
    waiter.settled = true;
    waiter.wake.notify_one();
}

Pool::Pool(std::size_t capacity) : ring_(capacity) {
    if (capacity == 0) throw std::invalid_argument("capacity");
}

PoolStatus Pool::wait_in(Line& line, Waiter& waiter, std::unique_lock<std::mutex>& lock, double timeout) {
    if (!(timeout > 0)) return PoolStatus::timed_out;
    line.join(waiter);
    if (!waiter.wake.wait_until(lock, deadline_after(timeout), [&] { return waiter.settled; })) line.part(waiter);
    return waiter.outcome;
}

PoolStatus Pool::put(Ticket ticket, double timeout) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (closed_) return PoolStatus::closed;
    if (takers_.length > 0) {  // then nothing is queued, and nobody waits for room
        takers_.first->ticket = ticket;
        ++taken_;
        takers_.settle_first(PoolStatus::ok);
        return PoolStatus::ok;
    }
    if (size_ < ring_.size()) {
        push(ticket);
        return PoolStatus::ok;
    }
    Waiter waiter;
    waiter.ticket = ticket;
    return wait_in(putters_, waiter, lock, timeout);
}

PoolStatus Pool::take(double timeout, Ticket& ticket) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (size_ > 0) {
        ticket = pop();
        ++taken_;
        admit();
        return PoolStatus::ok;
    }
    if (closed_) return PoolStatus::closed;
    Waiter waiter;
    const PoolStatus outcome = wait_in(takers_, waiter, lock, timeout);
    if (outcome == PoolStatus::ok) ticket = waiter.ticket;
    return outcome;
}

bool Pool::done() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (taken_ > 0) --taken_;
    return settle_state();
}

void Pool::enter() {
    std::lock_guard<std::mutex> lock(mutex_);
    ++entered_;
}

bool Pool::leave() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (entered_ > 0) --entered_;
    return settle_state();
}

bool Pool::begin_wait() {
    std::lock_guard<std::mutex> lock(mutex_);
    ++waiting_;
    return settle_state();
}

void Pool::end_wait() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (waiting_ > 0) --waiting_;
}

void Pool::attach() {
    std::lock_guard<std::mutex> lock(mutex_);
    ++workers_;
}

void Pool::detach() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (workers_ > 0) --workers_;
    settle_state();
}

bool Pool::discard(Ticket ticket) {
    std::lock_guard<std::mutex> lock(mutex_);
    const std::size_t capacity = ring_.size();
    std::size_t at = 0;
    while (at < size_ && ring_[(head_ + at) % capacity] != ticket) ++at;
    if (at == size_) return false;
    for (; at + 1 < size_; ++at) ring_[(head_ + at) % capacity] = ring_[(head_ + at + 1) % capacity];
    --size_;
    admit();
    settle_state();
    return true;
}

std::vector<Ticket> Pool::drop_queued() {
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<Ticket> dropped;
    dropped.reserve(size_);
    while (size_ > 0) dropped.push_back(pop());
    admit();
    settle_state();
    return dropped;
}

void Pool::close() {
    std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
    while (putters_.length > 0) putters_.settle_first(PoolStatus::closed);
    while (takers_.length > 0) takers_.settle_first(PoolStatus::closed);  // somebody waits to take: nothing is queued
    settle_state();
}

template <typename Ready>
PoolStatus Pool::wait_for_state(double timeout, Ready ready) {
    const Clock::time_point deadline = deadline_after(timeout);
    std::unique_lock<std::mutex> lock(mutex_);
    ++observers_;
    const bool reached = state_.wait_until(lock, deadline, ready);
    --observers_;
    return reached ? PoolStatus::ok : PoolStatus::timed_out;
}

PoolStatus Pool::wait_idle(double timeout) {
    return wait_for_state(timeout, [&] { return idle_now(); });
}

PoolStatus Pool::wait_stalled(double timeout) {
    bool over = false;
    const PoolStatus status = wait_for_state(timeout, [&] {
        over = closed_ && idle_now();
        return over || stalled_now();
    });
    return over ? PoolStatus::closed : status;
}

template <typename Get>
auto Pool::read(Get get) const {
    std::lock_guard<std::mutex> lock(mutex_);
    return get();
}

bool Pool::stalled() const { return read([&] { return stalled_now(); }); }
bool Pool::closed() const { return read([&] { return closed_; }); }
std::size_t Pool::capacity() const { return ring_.size(); }
std::size_t Pool::queued() const { return read([&] { return size_; }); }
std::size_t Pool::idle() const { return read([&] { return takers_.length; }); }
std::size_t Pool::blocked() const { return read([&] { return putters_.length; }); }
std::size_t Pool::running() const { return read([&] { return taken_ + entered_; }); }
std::size_t Pool::waiting() const { return read([&] { return waiting_; }); }
std::size_t Pool::workers() const { return read([&] { return workers_; }); }

void Pool::push(Ticket ticket) {
    ring_[(head_ + size_) % ring_.size()] = ticket;
    ++size_;
}

Ticket Pool::pop() {
    const Ticket ticket = ring_[head_];
    head_ = (head_ + 1) % ring_.size();
    --size_;
    return ticket;
}

void Pool::admit() {
    while (putters_.length > 0 && size_ < ring_.size()) {
        push(putters_.first->ticket);
        putters_.settle_first(PoolStatus::ok);
    }
}

bool Pool::idle_now() const { return size_ == 0 && putters_.length == 0 && taken_ + entered_ == 0; }

bool Pool::stalled_now() const {
    const bool more_to_come = size_ > 0 && taken_ < workers_;
    return taken_ + entered_ > 0 && waiting_ >= taken_ + entered_ && !more_to_come;
}

/// After a change that can only bring the pool nearer to idle or stalled.
bool Pool::settle_state() {
    if (observers_ > 0) state_.notify_all();
    return stalled_now();
}

}  // namespace rocketride
