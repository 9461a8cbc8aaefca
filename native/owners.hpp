// SPDX-License-Identifier: MIT
// A node of a region has exactly one owner: the main flow (all starts together) or one controlled root.
#pragma once

#include <vector>

#include "graph.hpp"

namespace rocketride {

/// The problems of sharing: first each root against the main flow, then each pair of roots; the first shared node in dependency order.
std::vector<Diagnostic> owner_problems(const std::vector<int>& dependency, const std::vector<int>& starts, const std::vector<int>& roots,
                                       const std::vector<std::vector<int>>& start_regions, const std::vector<std::vector<int>>& root_regions);

}  // namespace rocketride
