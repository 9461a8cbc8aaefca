// SPDX-License-Identifier: MIT
// Random graphs, the same on every platform, and slow but obvious answers to compare with.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "graph.hpp"

class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed * 2654435769u + 1) {}
    int below(int bound) {  // splitmix64
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return static_cast<int>((z ^ (z >> 31)) % static_cast<std::uint64_t>(bound));
    }
    template <typename T>
    void shuffle(std::vector<T>& values) {
        for (std::size_t n = values.size(); n > 1; --n) std::swap(values[n - 1], values[below(static_cast<int>(n))]);
    }

private:
    std::uint64_t state_;
};

/// Nodes 1..size-1 are fed by earlier ones (with `loops` at times by later ones) on one of two lanes; 0 is the start.
inline rocketride::GraphInput random_input(Random& random, int size, bool loops) {
    rocketride::GraphInput g;
    g.lane_names = {"text", "answers"};
    for (int n = 0; n < size; ++n) {
        rocketride::NodeDecl node;
        node.source = n == 0;
        if (n == 0) node.emits = {0, 1};
        else if (loops && random.below(2) == 0) node.on = {{0, {1}}, {1, {}}};
        else node.on = {{0, {0}}, {1, {1}}};
        node.responds = random.below(5) == 0;
        g.nodes.push_back(node);
        const int inputs = n == 0 ? 0 : 1 + random.below(3);
        for (int k = 0; k < inputs; ++k) g.links.push_back({loops && random.below(5) == 0 ? 1 + random.below(size - 1) : random.below(n), random.below(2), n});
    }
    return g;
}

/// The same graph with node n at place[n] in the file.
inline rocketride::GraphInput placed(const rocketride::GraphInput& g, const std::vector<int>& place) {
    rocketride::GraphInput moved;
    moved.lane_names = g.lane_names;
    moved.nodes.resize(g.nodes.size());
    std::vector<int> who(place.size());
    for (std::size_t n = 0; n < place.size(); ++n) {
        moved.nodes[place[n]] = g.nodes[n];
        who[place[n]] = static_cast<int>(n);
    }
    for (int node : who)
        for (const rocketride::LaneLink& l : g.links)
            if (l.consumer == node) moved.links.push_back({place[l.producer], l.lane, place[node]});
    return moved;
}

/// reach[a][b]: data edges lead from a to b.
inline std::vector<std::vector<bool>> reachability(const rocketride::GraphInput& g) {
    const std::size_t size = g.nodes.size();
    std::vector<std::vector<bool>> reach(size, std::vector<bool>(size, false));
    for (const rocketride::LaneLink& l : g.links) reach[l.producer][l.consumer] = true;
    for (std::size_t k = 0; k < size; ++k)
        for (std::size_t a = 0; a < size; ++a)
            if (reach[a][k])
                for (std::size_t b = 0; b < size; ++b)
                    if (reach[k][b]) reach[a][b] = true;
    return reach;
}
