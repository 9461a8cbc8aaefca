// SPDX-License-Identifier: MIT
#include "order.hpp"

#include <algorithm>
#include <utility>

namespace rocketride {

Orders::Orders(int nodes, const std::vector<Edge>& data, const std::vector<Edge>& calls, std::vector<int> last_place)
    : data_(nodes, data), calls_(nodes, calls), data_reach_(data_), call_reach_(calls_), last_place_(std::move(last_place)), local_(nodes, -1) {}

std::vector<int> Orders::region(int root) {
    std::vector<int> found = data_reach_.from({data_.begin(root), data_.end(root)});
    const auto self = std::lower_bound(found.begin(), found.end(), root);
    if (self != found.end() && *self == root) found.erase(self);
    return found;
}

std::vector<int> Orders::served(const std::vector<int>& nodes) {
    std::vector<int> called;
    for (int node : nodes) called.insert(called.end(), calls_.begin(node), calls_.end(node));
    return call_reach_.from(called);
}

std::vector<int> Orders::flush(const std::vector<int>& nodes) {
    std::vector<Edge> edges = inside(data_, nodes);
    const int size = static_cast<int>(nodes.size());
    const std::vector<std::vector<int>> found = loops(Digraph(size, edges));
    if (!found.empty()) {
        std::vector<int> loop_of(size, -1);
        for (std::size_t n = 0; n < found.size(); ++n)
            for (int node : found[n]) loop_of[node] = static_cast<int>(n);
        auto in_a_loop = [&](const Edge& e) { return loop_of[e.from] >= 0 && loop_of[e.from] == loop_of[e.to]; };
        edges.erase(std::remove_if(edges.begin(), edges.end(), in_a_loop), edges.end());
        for (std::vector<int> chain : found) {
            std::stable_sort(chain.begin(), chain.end(), [&](int a, int b) { return last_place_[nodes[a]] < last_place_[nodes[b]]; });
            for (std::size_t n = 1; n < chain.size(); ++n) edges.push_back({chain[n - 1], chain[n]});
        }
    }
    std::vector<int> order = kahn(Digraph(size, edges));
    for (int& node : order) node = nodes[node];
    return order;
}

std::vector<int> Orders::call(const std::vector<int>& nodes) {
    std::vector<Edge> edges = inside(calls_, nodes);
    for (Edge& edge : edges) std::swap(edge.from, edge.to);
    std::vector<int> order = kahn(Digraph(static_cast<int>(nodes.size()), edges));
    for (int& node : order) node = nodes[node];
    return order;
}

std::vector<Edge> Orders::inside(const Digraph& graph, const std::vector<int>& nodes) {
    for (std::size_t n = 0; n < nodes.size(); ++n) local_[nodes[n]] = static_cast<int>(n);
    std::vector<Edge> edges;
    for (int node : nodes)
        for (int to : successors(graph, node))
            if (local_[to] >= 0) edges.push_back({local_[node], local_[to]});
    for (int node : nodes) local_[node] = -1;
    return edges;
}

}  // namespace rocketride
