// SPDX-License-Identifier: MIT
// Orders of random graphs are valid, are what a slow reading of the rule gives, and depend on the file among independent branches only.
#include <algorithm>
#include <set>

#include "check.hpp"
#include "random_graph.hpp"

using rocketride::Code;
using rocketride::Compiled;
using rocketride::GraphInput;

static std::vector<int> numbers(int size) {
    std::vector<int> all(size);
    std::iota(all.begin(), all.end(), 0);
    return all;
}

/// The rule read aloud: of all nodes whose producers are out, the first in the file.
static std::vector<int> slow_order(const GraphInput& g, std::set<int> left) {
    std::vector<int> order;
    while (!left.empty()) {
        auto ready = [&](int node) {
            for (const auto& l : g.links)
                if (l.consumer == node && left.count(l.producer)) return false;
            return true;
        };
        auto next = left.begin();
        while (next != left.end() && !ready(*next)) ++next;
        if (next == left.end()) return {};
        order.push_back(*next);
        left.erase(next);
    }
    return order;
}

static std::vector<int> positions(const std::vector<int>& order, int size) {
    std::vector<int> at(size, -1);
    for (std::size_t n = 0; n < order.size(); ++n) at[order[n]] = static_cast<int>(n);
    return at;
}

static std::vector<int> renamed(const std::vector<int>& nodes, const std::vector<int>& names) {
    std::vector<int> result;
    for (int node : nodes) result.push_back(names[node]);
    return result;
}

TEST(orders_without_loops_are_what_the_rule_says) {
    Random random(1);
    for (int round = 0; round < 300; ++round) {
        const int size = 2 + random.below(25);
        std::vector<int> place = numbers(size);
        random.shuffle(place);
        const GraphInput g = placed(random_input(random, size, false), place);
        const Compiled c = rocketride::compile(g);
        const std::vector<int> all = numbers(size);
        CHECK_EQ(c.dependency, slow_order(g, {all.begin(), all.end()}));
        const auto reach = reachability(g);
        std::set<int> region;
        for (int n = 0; n < size; ++n)
            if (reach[place[0]][n]) region.insert(n);
        CHECK_EQ(c.regions.at(0).root, place[0]);
        CHECK_EQ(c.regions.at(0).flush_order, slow_order(g, region));
        std::vector<int> begin = c.begin_order;
        std::reverse(begin.begin(), begin.end());
        region.insert(place[0]);
        CHECK_EQ(begin, slow_order(g, region));
    }
}

TEST(fifty_shuffles_change_nothing_but_the_order_of_independent_branches) {
    for (int seed = 0; seed < 20; ++seed) {
        Random random(seed);
        const int size = 3 + random.below(30);
        const GraphInput g = random_input(random, size, false);
        const auto reach = reachability(g);
        const std::vector<int> first = rocketride::compile(g).regions.at(0).flush_order;
        for (int shuffle = 0; shuffle < 50; ++shuffle) {
            std::vector<int> place = numbers(size), who(size);
            random.shuffle(place);
            for (int n = 0; n < size; ++n) who[place[n]] = n;
            const Compiled c = rocketride::compile(placed(g, place));
            const std::vector<int> order = renamed(c.regions.at(0).flush_order, who);
            CHECK_EQ(std::set<int>(order.begin(), order.end()) == std::set<int>(first.begin(), first.end()), true);
            const std::vector<int> at = positions(order, size);
            for (int a : order)
                for (int b : order)
                    if (reach[a][b]) CHECK(at[a] < at[b]);
            const std::vector<int> begin = positions(renamed(c.begin_order, who), size);
            for (int a : order)
                for (int b : order)
                    if (reach[a][b]) CHECK(begin[a] > begin[b]);
        }
    }
}

TEST(consumers_follow_the_file_and_are_the_same_set_in_every_shuffle) {
    Random random(7);
    const GraphInput g = random_input(random, 20, false);
    const Compiled plain = rocketride::compile(g);
    for (int shuffle = 0; shuffle < 50; ++shuffle) {
        std::vector<int> place = numbers(20);
        random.shuffle(place);
        const Compiled c = rocketride::compile(placed(g, place));
        for (int node = 0; node < 20; ++node)
            for (int lane = 0; lane < 2; ++lane) {
                std::vector<int> wanted = renamed(plain.consumers(node, lane), place);
                std::sort(wanted.begin(), wanted.end());
                CHECK_EQ(c.consumers(place[node], lane), wanted);
            }
    }
}

TEST(with_loops_every_node_is_flushed_once_and_in_order_between_the_loops) {
    int cyclic = 0, looped = 0;
    for (int seed = 0; seed < 300; ++seed) {
        Random random(1000 + seed);
        const int size = 3 + random.below(20);
        const GraphInput g = random_input(random, size, true);
        const auto reach = reachability(g);
        const Compiled c = rocketride::compile(g);
        const std::vector<int>& order = c.regions.at(0).flush_order;
        CHECK_EQ(std::set<int>(order.begin(), order.end()).size(), order.size());
        for (int n = 0; n < size; ++n) {
            const bool inside = n != 0 && reach[0][n];
            CHECK_EQ(std::find(order.begin(), order.end(), n) != order.end(), inside);
            if (inside && reach[n][n]) ++looped;
        }
        const std::vector<int> at = positions(order, size);
        for (const auto& l : g.links)
            if (at[l.producer] >= 0 && at[l.consumer] >= 0 && !reach[l.consumer][l.producer]) CHECK(at[l.producer] < at[l.consumer]);
        for (const auto& problem : c.problems) {
            if (problem.code != Code::port_cycle) continue;
            ++cyclic;
            for (std::size_t n = 0; n < problem.nodes.size(); ++n) {  // the path is really there
                const int from = problem.nodes[n], lane = problem.lanes[n], to = problem.nodes[(n + 1) % problem.nodes.size()], next = problem.lanes[(n + 1) % problem.nodes.size()];
                const auto& links = g.links;
                CHECK(std::any_of(links.begin(), links.end(), [&](const auto& l) { return l.producer == from && l.lane == lane && l.consumer == to; }));
                const auto& on = g.nodes[to].on;
                CHECK(std::any_of(on.begin(), on.end(), [&](const auto& h) { return h.lane == lane && std::count(h.emits.begin(), h.emits.end(), next); }));
            }
        }
    }
    CHECK(cyclic > 20 && looped > 200);
}

TEST(compiling_twice_gives_the_same) {
    Random random(3);
    const GraphInput g = random_input(random, 200, true);
    const Compiled a = rocketride::compile(g), b = rocketride::compile(g);
    CHECK_EQ(a.dependency, b.dependency);
    CHECK_EQ(a.begin_order, b.begin_order);
    CHECK_EQ(a.problems.size(), b.problems.size());
}

RUN_TESTS
