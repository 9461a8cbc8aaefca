// SPDX-License-Identifier: MIT
// Directed graphs over 0..n-1, and the four walks that the compile step needs. None of them recurses.
#pragma once

#include <vector>

namespace rocketride {

struct Edge {
    int from;
    int to;
};

/// An immutable graph in compressed rows; successors keep the order of the edges.
class Digraph {
public:
    Digraph() = default;
    Digraph(int size, const std::vector<Edge>& edges);

    int size() const { return static_cast<int>(row_.size()) - 1; }
    const int* begin(int node) const { return to_.data() + row_[node]; }
    const int* end(int node) const { return to_.data() + row_[node + 1]; }

private:
    std::vector<int> row_ = {0};
    std::vector<int> to_;
};

struct Successors {
    const Digraph& graph;
    int node;
    const int* begin() const { return graph.begin(node); }
    const int* end() const { return graph.end(node); }
};

inline Successors successors(const Digraph& graph, int node) { return {graph, node}; }

/// Topological order; of all ready nodes the least comes next. Nodes on a cycle, and those behind it, are left out. Self-loops are ignored.
std::vector<int> kahn(const Digraph& graph);

/// The strongly connected component of every node (Tarjan); the numbers mean nothing.
std::vector<int> components(const Digraph& graph);

/// Components with a cycle (a self-loop counts), each sorted, by their least nodes.
std::vector<std::vector<int>> loops(const Digraph& graph);

/// Repeated searches of one graph, each at the cost of what it finds.
class Reach {
public:
    explicit Reach(const Digraph& graph) : graph_(&graph), seen_(graph.size(), 0) {}
    /// The start nodes and everything behind them, sorted.
    std::vector<int> from(const std::vector<int>& start);

private:
    const Digraph* graph_;
    std::vector<int> seen_;
    int round_ = 0;
};

}  // namespace rocketride
