// SPDX-License-Identifier: MIT
#include "digraph.hpp"

#include <algorithm>
#include <functional>
#include <queue>

namespace rocketride {

Digraph::Digraph(int size, const std::vector<Edge>& edges) : row_(size + 1, 0), to_(edges.size()) {
    for (const Edge& edge : edges) ++row_[edge.from + 1];
    for (int n = 0; n < size; ++n) row_[n + 1] += row_[n];
    std::vector<int> next(row_.begin(), row_.end() - 1);
    for (const Edge& edge : edges) to_[next[edge.from]++] = edge.to;
}

std::vector<int> kahn(const Digraph& graph) {
    const int size = graph.size();
    std::vector<int> missing(size, 0);
    for (int n = 0; n < size; ++n)
        for (int m : successors(graph, n))
            if (m != n) ++missing[m];
    std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
    for (int n = 0; n < size; ++n)
        if (missing[n] == 0) ready.push(n);
    std::vector<int> order;
    order.reserve(size);
    while (!ready.empty()) {
        const int node = ready.top();
        ready.pop();
        order.push_back(node);
        for (int m : successors(graph, node))
            if (m != node && --missing[m] == 0) ready.push(m);
    }
    return order;
}

std::vector<int> components(const Digraph& graph) {
    const int size = graph.size();
    std::vector<int> component(size, -1), index(size, -1), low(size, 0), stack;
    std::vector<const int*> next(size);
    std::vector<int> path;
    int visited = 0, found = 0;
    for (int root = 0; root < size; ++root) {
        if (index[root] >= 0) continue;
        path.push_back(root);
        while (!path.empty()) {
            const int node = path.back();
            if (index[node] < 0) {
                index[node] = low[node] = visited++;
                next[node] = graph.begin(node);
                stack.push_back(node);
            }
            if (next[node] != graph.end(node)) {
                const int to = *next[node]++;
                if (index[to] < 0) path.push_back(to);
                else if (component[to] < 0) low[node] = std::min(low[node], index[to]);
                continue;
            }
            path.pop_back();
            if (!path.empty()) low[path.back()] = std::min(low[path.back()], low[node]);
            if (low[node] != index[node]) continue;
            int member;
            do {
                member = stack.back();
                stack.pop_back();
                component[member] = found;
            } while (member != node);
            ++found;
        }
    }
    return component;
}

std::vector<std::vector<int>> loops(const Digraph& graph) {
    const std::vector<int> component = components(graph);
    const int size = graph.size();
    std::vector<int> members(size, 0), place(size, -1);
    std::vector<bool> cyclic(size, false);
    for (int n = 0; n < size; ++n) {
        if (++members[component[n]] > 1) cyclic[component[n]] = true;
        for (int m : successors(graph, n))
            if (m == n) cyclic[component[n]] = true;
    }
    std::vector<std::vector<int>> result;
    for (int n = 0; n < size; ++n) {
        const int c = component[n];
        if (!cyclic[c]) continue;
        if (place[c] < 0) {
            place[c] = static_cast<int>(result.size());
            result.emplace_back();
        }
        result[place[c]].push_back(n);
    }
    return result;
}

std::vector<int> Reach::from(const std::vector<int>& start) {
    ++round_;
    std::vector<int> found;
    auto visit = [&](int node) {
        if (seen_[node] == round_) return;
        seen_[node] = round_;
        found.push_back(node);
    };
    for (int node : start) visit(node);
    for (std::size_t n = 0; n < found.size(); ++n)
        for (int m : successors(*graph_, found[n])) visit(m);
    std::sort(found.begin(), found.end());
    return found;
}

}  // namespace rocketride
