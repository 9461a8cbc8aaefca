// SPDX-License-Identifier: MIT
// Problems that are found without regions: lanes, cycles, and the number of wired controls.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "graph.hpp"
#include "ports.hpp"

namespace rocketride {

using Slots = std::set<std::pair<int, int>>;  // (node, control)

/// Throws std::out_of_range where a number names no node or no lane.
void check_numbers(const GraphInput& input);

/// `links`: indices into input.links, each link once, ascending.
std::vector<Diagnostic> lane_problems(const GraphInput& input, const std::vector<int>& links);
std::vector<Diagnostic> port_cycle_problems(const GraphInput& input, const std::vector<int>& links, const Ports& ports);

/// `calls`: indices into input.controls, those that are kept, ascending.
std::vector<Diagnostic> control_cycle_problems(const GraphInput& input, const std::vector<int>& calls);

/// Needs slots and reachable of `compiled`; a slot in `reversed` is not missing. Errors where the source reaches the node, else warnings.
std::vector<Diagnostic> arity_problems(const GraphInput& input, const Compiled& compiled, const Slots& reversed);

}  // namespace rocketride
