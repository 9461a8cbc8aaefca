// SPDX-License-Identifier: MIT
// Large graphs: no recursion (a small stack suffices) and no more than nearly linear time (bounds are generous: a quadratic step takes minutes).
#include <chrono>
#include <functional>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

#include "check.hpp"
#include "random_graph.hpp"

using rocketride::Code;
using rocketride::Compiled;
using rocketride::GraphInput;

namespace {

constexpr std::size_t small_stack = 256 * 1024;

void on_small_stack(const std::function<void()>& work) {
#if defined(__unix__) || defined(__APPLE__)
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    CHECK_EQ(pthread_attr_setstacksize(&attributes, small_stack), 0);
    pthread_t thread;
    auto body = [](void* argument) -> void* {
        (*static_cast<const std::function<void()>*>(argument))();
        return nullptr;
    };
    const int error = pthread_create(&thread, &attributes, body, const_cast<std::function<void()>*>(&work));
    CHECK_EQ(error, 0);
    if (error == 0) pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
#else
    work();
#endif
}

Compiled timed(const GraphInput& g, double seconds) {
#ifdef ROCKETRIDE_SANITIZED
    seconds *= 20;
#endif
    Compiled result;
    const auto before = std::chrono::steady_clock::now();
    on_small_stack([&] { result = rocketride::compile(g); });
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
    std::printf("       %zu nodes, %zu links, %zu controls: %.2f ms\n", g.nodes.size(), g.links.size(), g.controls.size(), took * 1e3);
    CHECK(took < seconds);
    return result;
}

/// A start and `size - 1` nodes that pass text on; no links yet.
GraphInput passers(int size) {
    GraphInput g;
    g.lane_names = {"text", "tags"};
    g.nodes.resize(size);
    for (rocketride::NodeDecl& node : g.nodes) node.on = {{0, {0}}};
    g.nodes[0] = {};
    g.nodes[0].source = true;
    g.nodes[0].emits = {0};
    g.nodes[size - 1].responds = true;
    return g;
}

GraphInput line(int size) {
    GraphInput g = passers(size);
    for (int n = 1; n < size; ++n) g.links.push_back({n - 1, 0, n});
    return g;
}

}  // namespace

TEST(a_line_of_1000) {
    const Compiled c = timed(line(1000), 0.1);
    CHECK(c.problems.empty());
    CHECK_EQ(c.regions.at(0).flush_order.size(), 999u);
    for (int n = 1; n < 1000; ++n) CHECK(c.regions[0].flush_order[n - 1] == n);
}

TEST(a_line_of_100000) {
    const Compiled c = timed(line(100000), 5);
    CHECK_EQ(c.begin_order.size(), 100000u);
    CHECK_EQ(c.begin_order.front(), 99999);
}

TEST(ten_thousand_edges_between_1000_nodes) {
    Random random(5);
    GraphInput g = passers(1000);
    for (int n = 1; n < 1000; ++n) {
        g.links.push_back({n - 1, 0, n});
        for (int k = 0; k < 10; ++k) g.links.push_back({random.below(n), 0, n});
    }
    CHECK(g.links.size() > 10000);
    const Compiled c = timed(g, 0.5);
    CHECK_EQ(c.regions.at(0).flush_order.size(), 999u);
    CHECK_EQ(c.regions[0].flush_order.back(), 999);
}

TEST(a_port_cycle_through_50000_nodes) {
    GraphInput g = line(50000);
    g.links.push_back({49999, 0, 1});
    const Compiled c = timed(g, 5);
    CHECK_EQ(c.problems.size(), 1u);
    CHECK(c.problems.at(0).code == Code::port_cycle);
    CHECK_EQ(c.problems.at(0).nodes.size(), 49999u);
    CHECK_EQ(c.problems.at(0).link, 49999);
}

TEST(a_node_level_loop_of_50000) {
    GraphInput g = line(50000);
    g.nodes[1].on.push_back({1, {}});
    g.nodes[49999].on = {{0, {1}}};
    g.links.push_back({49999, 1, 1});
    const Compiled c = timed(g, 5);
    CHECK(c.problems.empty());
    CHECK_EQ(c.regions.at(0).flush_order.size(), 49999u);
    CHECK_EQ(c.regions[0].flush_order.front(), 1);
}

TEST(ten_thousand_small_cycles) {
    GraphInput g = line(20001);
    for (int n = 1; n < 20001; n += 2) g.links.push_back({n + 1, 0, n});
    const Compiled c = timed(g, 5);
    CHECK_EQ(c.problems.size(), 10000u);
    CHECK_EQ(c.problems.at(9999).node, 19999);
}

TEST(control_chain_of_50000) {
    GraphInput g = passers(50000);
    for (rocketride::NodeDecl& node : g.nodes) {
        node.needs = {{0, 0, -1}};
        node.serves = {0};
    }
    g.links = {{0, 0, 1}};
    for (int n = 1; n + 1 < 50000; ++n) g.controls.push_back({n, 0, n + 1});
    const Compiled c = timed(g, 5);
    CHECK_EQ(c.regions.at(0).call_order.size(), 49998u);
    CHECK_EQ(c.regions[0].call_order.front(), 49999);
}

TEST(a_hundred_roots_that_share_a_long_chain) {
    GraphInput g = passers(2000);
    g.nodes[0].needs = {{0, 0, -1}};
    for (int n = 1; n <= 100; ++n) {
        g.nodes[n] = {};
        g.nodes[n].emits = {0};
        g.nodes[n].serves = {0};
        g.controls.push_back({0, 0, n});
        g.links.push_back({n, 0, 101});
    }
    for (int n = 102; n < 2000; ++n) g.links.push_back({n - 1, 0, n});
    const Compiled c = timed(g, 5);
    CHECK_EQ(c.roots.size(), 100u);
    std::size_t pairs = 0;
    for (const auto& problem : c.problems)
        if (problem.code == Code::two_owners) {
            ++pairs;
            CHECK_EQ(problem.node, 101);
        }
    CHECK_EQ(pairs, 4950u);
}

RUN_TESTS
