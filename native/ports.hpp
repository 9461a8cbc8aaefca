// SPDX-License-Identifier: MIT
// The graph of (node, lane) ports: an input leads to the lanes its handler may cause, an output to the inputs wired to it.
#pragma once

#include <vector>

#include "digraph.hpp"
#include "graph.hpp"

namespace rocketride {

class Ports {
public:
    /// `links` without duplicates.
    Ports(const GraphInput& input, const std::vector<LaneLink>& links);

    /// Per node: the place of its last output port in the order of all ports; of a node without one, of its last input port; else -1.
    std::vector<int> last_places(int nodes) const;
    /// One problem for each loop, with the path that a walk inside it finds, least port first.
    std::vector<Diagnostic> cycles() const;

private:
    struct Port {
        int node;
        bool out;
        int lane_rank;
        int lane;
    };

    int find(int node, bool out, int lane) const;
    Diagnostic walk(const std::vector<int>& loop, const std::vector<int>& component) const;

    std::vector<int> lane_rank_;
    std::vector<Port> ports_;  // sorted: node, inputs before outputs, lane name
    Digraph graph_;
};

}  // namespace rocketride
