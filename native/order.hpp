// SPDX-License-Identifier: MIT
// Regions, and the orders in which nodes are flushed, opened and begun.
#pragma once

#include <vector>

#include "digraph.hpp"

namespace rocketride {

class Orders {
public:
    /// `last_place`: per node, where its last output port stands (see Ports); it orders the nodes of a loop.
    Orders(int nodes, const std::vector<Edge>& data, const std::vector<Edge>& calls, std::vector<int> last_place);
    Orders(const Orders&) = delete;
    Orders& operator=(const Orders&) = delete;

    /// What `root` reaches by data edges, without itself; sorted.
    std::vector<int> region(int root);
    /// What these reach over control edges, not counting themselves unless they are called; sorted.
    std::vector<int> served(const std::vector<int>& nodes);
    /// Producers first; `nodes` sorted. The edges inside a loop are replaced by the chain of its nodes by last place.
    std::vector<int> flush(const std::vector<int>& nodes);
    /// Callees first; `nodes` sorted. Nodes on a control cycle, and their callers, are left out.
    std::vector<int> call(const std::vector<int>& nodes);

private:
    std::vector<Edge> inside(const Digraph& graph, const std::vector<int>& nodes);

    Digraph data_, calls_;
    Reach data_reach_, call_reach_;
    std::vector<int> last_place_;
    std::vector<int> local_;  // place of a node in the set at hand, else -1
};

}  // namespace rocketride
