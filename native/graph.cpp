// SPDX-License-Identifier: MIT
#include "graph.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "checks.hpp"
#include "order.hpp"
#include "owners.hpp"
#include "ports.hpp"
#include "wiring.hpp"

namespace rocketride {

namespace {

class Compiler {
public:
    explicit Compiler(const GraphInput& input) : in_(input), size_(static_cast<int>(input.nodes.size())) {}
    Compiled run();

private:
    void keep_controls();
    void keep_links();
    void choose_source();
    void report(std::vector<Diagnostic> problems);
    void make_regions(Orders& orders);
    void add_region(Orders& orders, int root, const std::vector<int>& nodes);

    const GraphInput& in_;
    const int size_;
    Compiled out_;
    std::vector<int> link_index_, call_index_;  // of out_.links and out_.calls, in the input
    Slots reversed_;                            // already explained
    std::vector<Edge> data_, calls_;
    std::vector<bool> controlled_;
};

Compiled Compiler::run() {
    check_numbers(in_);
    keep_controls();
    choose_source();
    keep_links();
    report(lane_problems(in_, link_index_));
    const Ports ports(in_, out_.links);
    report(port_cycle_problems(in_, link_index_, ports));
    report(control_cycle_problems(in_, call_index_));

    Orders orders(size_, data_, calls_, ports.last_places(size_));
    std::vector<int> all(size_);
    std::iota(all.begin(), all.end(), 0);
    out_.dependency = orders.flush(all);

    std::vector<Edge> both = data_;
    both.insert(both.end(), calls_.begin(), calls_.end());
    const Digraph graph(size_, both);
    const std::vector<int> reached = Reach(graph).from(out_.source >= 0 ? std::vector<int>{out_.source} : out_.starts);
    out_.reachable.assign(size_, false);
    for (int node : reached) out_.reachable[node] = true;

    report(arity_problems(in_, out_, reversed_));
    make_regions(orders);

    std::vector<int> served, others;
    for (int node : reached) (controlled_[node] ? served : others).push_back(node);
    out_.begin_order = orders.call(served);
    const std::vector<int> rest = orders.flush(others);
    out_.begin_order.insert(out_.begin_order.end(), rest.rbegin(), rest.rend());
    return std::move(out_);
}

void Compiler::report(std::vector<Diagnostic> problems) {
    std::move(problems.begin(), problems.end(), std::back_inserter(out_.problems));
}

void Compiler::keep_controls() {
    std::vector<Diagnostic> backwards(size_);
    for (int index : first_of_equal(in_.controls)) {
        const ControlLink& c = in_.controls[index];
        const NodeDecl &caller = in_.nodes[c.caller], &callee = in_.nodes[c.callee];
        if (need_of(caller, c.control) && contains(callee.serves, c.control)) {
            out_.calls.push_back(c);
            call_index_.push_back(index);
            calls_.push_back({c.caller, c.callee});
        } else if (need_of(callee, c.control) && contains(caller.serves, c.control)) {
            reversed_.insert({c.callee, c.control});
            Diagnostic& problem = backwards[c.callee];
            if (problem.node < 0) problem = finding(Code::reversed_control, true, c.callee, index, c.control);
            if (!contains(problem.nodes, c.caller)) problem.nodes.push_back(c.caller);
        } else {
            out_.problems.push_back(finding(Code::undeclared_slot, false, c.callee, index, c.control, {c.caller}));
        }
    }
    for (Diagnostic& problem : backwards)
        if (problem.node >= 0) out_.problems.push_back(std::move(problem));
    out_.slots = out_.calls;
    sort_by_key(out_.slots);
    controlled_.assign(size_, false);
    for (const Edge& call : calls_) controlled_[call.to] = true;
}

void Compiler::choose_source() {
    for (int n = 0; n < size_; ++n)
        if (in_.nodes[n].source) out_.starts.push_back(n);
    out_.source = in_.source < 0 && out_.starts.size() == 1 ? out_.starts.front() : in_.source;
    if (out_.starts.size() > 1 && out_.source < 0) out_.problems.push_back(finding(Code::ambiguous_source, true, -1, -1, -1, out_.starts));
}

void Compiler::keep_links() {
    link_index_ = first_of_equal(in_.links);
    std::vector<bool> fed(size_, false), feeds(size_, false);
    out_.wired.assign(size_, false);
    for (int index : link_index_) {
        const LaneLink& l = in_.links[index];
        out_.links.push_back(l);
        if (takes(in_.nodes[l.consumer], l.lane)) out_.deliveries.push_back(l);
        data_.push_back({l.producer, l.consumer});
        feeds[l.producer] = true;
        fed[l.consumer] = true;
        if (l.producer != l.consumer) out_.wired[l.producer] = true;
    }
    sort_by_key(out_.deliveries);
    for (int n = 0; n < size_; ++n)
        if (controlled_[n] && feeds[n] && !fed[n]) out_.roots.push_back(n);
}

void Compiler::make_regions(Orders& orders) {
    std::vector<std::vector<int>> of_starts, of_roots;
    for (int start : out_.starts) of_starts.push_back(orders.region(start));
    for (int root : out_.roots) of_roots.push_back(orders.region(root));
    report(owner_problems(out_.dependency, out_.starts, out_.roots, of_starts, of_roots));

    out_.region_of.assign(size_, -1);
    for (std::size_t n = 0; n < of_starts.size(); ++n) add_region(orders, out_.starts[n], of_starts[n]);
    for (std::size_t n = 0; n < of_roots.size(); ++n) add_region(orders, out_.roots[n], of_roots[n]);
    for (const Region& region : out_.regions)
        if (std::none_of(region.flush_order.begin(), region.flush_order.end(), [&](int n) { return in_.nodes[n].responds || in_.nodes[n].stores; }))
            out_.problems.push_back(finding(Code::no_response, false, region.root));
    if (out_.source >= 0 && out_.region_of[out_.source] < 0) add_region(orders, out_.source, orders.region(out_.source));
}

void Compiler::add_region(Orders& orders, int root, const std::vector<int>& nodes) {
    if (out_.region_of[root] < 0) out_.region_of[root] = static_cast<int>(out_.regions.size());
    out_.regions.push_back({root, orders.flush(nodes), orders.call(orders.served(nodes))});
}

}  // namespace

std::vector<int> Compiled::consumers(int node, int lane) const {
    std::vector<int> found;
    const auto range = slice(deliveries, node, lane);
    for (auto at = range.first; at != range.second; ++at) found.push_back(at->consumer);
    return found;
}

std::vector<int> Compiled::callees(int node, int control) const {
    std::vector<int> found;
    const auto range = slice(slots, node, control);
    for (auto at = range.first; at != range.second; ++at) found.push_back(at->callee);
    return found;
}

Compiled compile(const GraphInput& input) { return Compiler(input).run(); }

}  // namespace rocketride
