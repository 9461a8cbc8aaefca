// SPDX-License-Identifier: MIT
// Small questions about declarations and links, asked in several places of the compile step.
#pragma once

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "graph.hpp"

namespace rocketride {

inline auto key(const LaneLink& l) { return std::make_tuple(l.producer, l.lane, l.consumer); }
inline auto key(const ControlLink& c) { return std::make_tuple(c.caller, c.control, c.callee); }

template <typename T>
bool contains(const std::vector<T>& values, const T& value) {
    return std::find(values.begin(), values.end(), value) != values.end();
}

inline bool takes(const NodeDecl& node, int lane) {
    return std::any_of(node.on.begin(), node.on.end(), [&](const Handler& h) { return h.lane == lane; });
}

inline bool declares(const NodeDecl& node, int lane) {
    return contains(node.emits, lane) || std::any_of(node.on.begin(), node.on.end(), [&](const Handler& h) { return contains(h.emits, lane); });
}

inline const Need* need_of(const NodeDecl& node, int control) {
    auto at = std::find_if(node.needs.begin(), node.needs.end(), [&](const Need& n) { return n.control == control; });
    return at == node.needs.end() ? nullptr : &*at;
}

/// The indices of the first of equal links, ascending.
template <typename Link>
std::vector<int> first_of_equal(const std::vector<Link>& links) {
    std::vector<int> index(links.size());
    std::iota(index.begin(), index.end(), 0);
    std::stable_sort(index.begin(), index.end(), [&](int a, int b) { return key(links[a]) < key(links[b]); });
    index.erase(std::unique(index.begin(), index.end(), [&](int a, int b) { return key(links[a]) == key(links[b]); }), index.end());
    std::sort(index.begin(), index.end());
    return index;
}

template <typename Link>
void sort_by_key(std::vector<Link>& links) {
    std::sort(links.begin(), links.end(), [](const Link& a, const Link& b) { return key(a) < key(b); });
}

/// The part of links sorted by key that agrees in the first two numbers.
template <typename Link>
auto slice(const std::vector<Link>& links, int first, int second) {
    auto slot = [](const Link& link) { return std::make_pair(std::get<0>(key(link)), std::get<1>(key(link))); };
    auto less = [&](const Link& a, const Link& b) { return slot(a) < slot(b); };
    return std::equal_range(links.begin(), links.end(), Link{first, second, -1}, less);
}

inline Diagnostic finding(Code code, bool error, int node, int link = -1, int lane_or_control = -1, std::vector<int> nodes = {}, int count = 0) {
    return {code, error, node, link, lane_or_control, std::move(nodes), {}, count};
}

}  // namespace rocketride
