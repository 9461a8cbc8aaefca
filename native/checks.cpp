// SPDX-License-Identifier: MIT
#include "checks.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "digraph.hpp"
#include "wiring.hpp"

namespace rocketride {

void check_numbers(const GraphInput& input) {
    const int size = static_cast<int>(input.nodes.size());
    const int lanes = static_cast<int>(input.lane_names.size());
    auto require = [](bool ok, const char* what) {
        if (!ok) throw std::out_of_range(what);
    };
    auto is_node = [&](int n) { return n >= 0 && n < size; };
    auto is_lane = [&](int n) { return n >= 0 && n < lanes; };
    for (const NodeDecl& node : input.nodes) {
        require(std::all_of(node.emits.begin(), node.emits.end(), is_lane), "nodes.emits");
        for (const Handler& handler : node.on)
            require(is_lane(handler.lane) && std::all_of(handler.emits.begin(), handler.emits.end(), is_lane), "nodes.on");
    }
    for (const LaneLink& l : input.links) require(is_node(l.producer) && is_lane(l.lane) && is_node(l.consumer), "links");
    for (const ControlLink& c : input.controls) require(is_node(c.caller) && is_node(c.callee), "controls");
    require(input.source == -1 || is_node(input.source), "source");
}

std::vector<Diagnostic> lane_problems(const GraphInput& input, const std::vector<int>& links) {
    std::vector<Diagnostic> problems;
    std::vector<bool> feeds(input.nodes.size(), false);
    for (int index : links) feeds[input.links[index].producer] = true;
    for (int index : links) {
        const LaneLink& l = input.links[index];
        const NodeDecl &producer = input.nodes[l.producer], &consumer = input.nodes[l.consumer];
        if (!takes(consumer, l.lane)) {
            const bool wrong = feeds[l.consumer] || consumer.source;
            problems.push_back(finding(wrong ? Code::unknown_lane : Code::silent_undeclared_input, wrong, l.consumer, index, l.lane, {l.producer}));
        } else if (!declares(producer, l.lane)) {
            problems.push_back(finding(Code::silent_never_emitted, false, l.consumer, index, l.lane, {l.producer}));
        }
    }
    return problems;
}

std::vector<Diagnostic> port_cycle_problems(const GraphInput& input, const std::vector<int>& links, const Ports& ports) {
    std::vector<Diagnostic> problems = ports.cycles();
    std::map<std::tuple<int, int, int>, Diagnostic*> closing;
    for (Diagnostic& cycle : problems) closing[{cycle.nodes.back(), cycle.lanes.back(), cycle.node}] = &cycle;
    for (int index : links)
        if (auto at = closing.find(key(input.links[index])); at != closing.end()) at->second->link = index;
    return problems;
}

std::vector<Diagnostic> control_cycle_problems(const GraphInput& input, const std::vector<int>& calls) {
    const int size = static_cast<int>(input.nodes.size());
    std::vector<Edge> edges;
    for (int index : calls) edges.push_back({input.controls[index].caller, input.controls[index].callee});
    std::vector<Diagnostic> problems;
    std::vector<int> loop_of(size, -1);
    for (const std::vector<int>& loop : loops(Digraph(size, edges))) {
        for (int node : loop) loop_of[node] = static_cast<int>(problems.size());
        problems.push_back(finding(Code::control_cycle, true, loop.front(), -1, -1, loop));
    }
    for (int index : calls) {
        const ControlLink& call = input.controls[index];
        const int loop = loop_of[call.callee];
        if (loop < 0 || loop != loop_of[call.caller] || problems[loop].node != call.callee || problems[loop].link >= 0) continue;
        problems[loop].link = index;
        problems[loop].lane_or_control = call.control;
    }
    return problems;
}

std::vector<Diagnostic> arity_problems(const GraphInput& input, const Compiled& compiled, const Slots& reversed) {
    std::vector<Diagnostic> problems;
    const int size = static_cast<int>(input.nodes.size());
    for (int node = 0; node < size; ++node)
        for (const Need& need : input.nodes[node].needs) {
            const std::vector<int> callees = compiled.callees(node, need.control);
            const int count = static_cast<int>(callees.size());
            const bool error = compiled.reachable[node];
            if (count < need.least && reversed.count({node, need.control}) == 0)
                problems.push_back(finding(Code::missing_control, error, node, -1, need.control, {}, count));
            if (need.most >= 0 && count > need.most)
                problems.push_back(finding(Code::too_many_controls, error, node, -1, need.control, callees, count));
        }
    return problems;
}

}  // namespace rocketride
