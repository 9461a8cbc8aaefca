// SPDX-License-Identifier: MIT
#include "ports.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace rocketride {

Ports::Ports(const GraphInput& input, const std::vector<LaneLink>& links) {
    std::vector<int> lanes(input.lane_names.size());
    std::iota(lanes.begin(), lanes.end(), 0);
    std::stable_sort(lanes.begin(), lanes.end(), [&](int a, int b) { return input.lane_names[a] < input.lane_names[b]; });
    lane_rank_.resize(lanes.size());
    for (std::size_t n = 0; n < lanes.size(); ++n) lane_rank_[lanes[n]] = static_cast<int>(n);

    auto key = [](const Port& p) { return std::make_tuple(p.node, p.out, p.lane_rank); };
    for (const LaneLink& link : links) {
        ports_.push_back({link.producer, true, lane_rank_[link.lane], link.lane});
        ports_.push_back({link.consumer, false, lane_rank_[link.lane], link.lane});
    }
    std::sort(ports_.begin(), ports_.end(), [&](const Port& a, const Port& b) { return key(a) < key(b); });
    ports_.erase(std::unique(ports_.begin(), ports_.end(), [&](const Port& a, const Port& b) { return key(a) == key(b); }), ports_.end());

    std::vector<Edge> edges;
    for (const LaneLink& link : links) edges.push_back({find(link.producer, true, link.lane), find(link.consumer, false, link.lane)});
    for (std::size_t node = 0; node < input.nodes.size(); ++node)
        for (const Handler& handler : input.nodes[node].on) {
            const int in = find(static_cast<int>(node), false, handler.lane);
            if (in < 0) continue;
            for (int lane : handler.emits)
                if (const int out = find(static_cast<int>(node), true, lane); out >= 0) edges.push_back({in, out});
        }
    graph_ = Digraph(static_cast<int>(ports_.size()), edges);
}

int Ports::find(int node, bool out, int lane) const {
    const auto wanted = std::make_tuple(node, out, lane_rank_[lane]);
    auto at = std::lower_bound(ports_.begin(), ports_.end(), wanted,
                               [](const Port& p, const auto& w) { return std::make_tuple(p.node, p.out, p.lane_rank) < w; });
    if (at == ports_.end() || std::make_tuple(at->node, at->out, at->lane_rank) != wanted) return -1;
    return static_cast<int>(at - ports_.begin());
}

std::vector<int> Ports::last_places(int nodes) const {
    std::vector<int> last(nodes, -1);
    std::vector<bool> has_output(nodes, false);
    int place = 0;
    for (int port : kahn(graph_)) {  // places grow, so the later one of a kind wins
        const Port& p = ports_[port];
        if (p.out) has_output[p.node] = true;
        if (p.out || !has_output[p.node]) last[p.node] = place;
        ++place;
    }
    return last;
}

std::vector<Diagnostic> Ports::cycles() const {
    std::vector<Diagnostic> found;
    std::vector<int> loop_of(ports_.size(), -1);
    int number = 0;
    for (const std::vector<int>& loop : loops(graph_)) {
        for (int port : loop) loop_of[port] = number;
        found.push_back(walk(loop, loop_of));
        ++number;
    }
    return found;
}

Diagnostic Ports::walk(const std::vector<int>& loop, const std::vector<int>& loop_of) const {
    const int number = loop_of[loop.front()];
    std::vector<int> path;
    std::vector<int> place(loop.size(), -1);
    auto local = [&](int port) { return std::lower_bound(loop.begin(), loop.end(), port) - loop.begin(); };
    int port = *std::find_if(loop.begin(), loop.end(), [&](int p) { return ports_[p].out; });
    while (place[local(port)] < 0) {
        place[local(port)] = static_cast<int>(path.size());
        path.push_back(port);
        int least = -1;
        for (int next : successors(graph_, port))
            if (loop_of[next] == number && (least < 0 || next < least)) least = next;
        port = least;
    }
    Diagnostic cycle;
    cycle.code = Code::port_cycle;
    for (std::size_t n = place[local(port)]; n < path.size(); ++n)
        if (const Port& p = ports_[path[n]]; p.out) {
            cycle.nodes.push_back(p.node);
            cycle.lanes.push_back(p.lane);
        }
    cycle.node = cycle.nodes.front();
    cycle.lane_or_control = cycle.lanes.front();
    return cycle;
}

}  // namespace rocketride
