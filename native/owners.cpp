// SPDX-License-Identifier: MIT
#include "owners.hpp"

#include <map>
#include <set>
#include <utility>

namespace rocketride {

namespace {

Diagnostic shared(Code code, int node, std::vector<int> owners) {
    Diagnostic problem;
    problem.code = code;
    problem.node = node;
    problem.nodes = std::move(owners);
    return problem;
}

}  // namespace

std::vector<Diagnostic> owner_problems(const std::vector<int>& dependency, const std::vector<int>& starts, const std::vector<int>& roots,
                                       const std::vector<std::vector<int>>& start_regions, const std::vector<std::vector<int>>& root_regions) {
    std::vector<bool> in_main(dependency.size(), false);
    for (int start : starts) in_main[start] = true;
    for (const std::vector<int>& region : start_regions)
        for (int node : region) in_main[node] = true;
    std::vector<std::vector<int>> owners(dependency.size());
    for (std::size_t r = 0; r < roots.size(); ++r)
        for (int node : root_regions[r]) owners[node].push_back(static_cast<int>(r));

    std::vector<int> with_main(roots.size(), -1);
    std::map<std::pair<int, int>, int> with_each_other;
    std::set<std::vector<int>> known;  // a long chain behind a shared node has the same owners all along
    for (int node : dependency) {
        const std::vector<int>& mine = owners[node];
        if (in_main[node])
            for (int r : mine)
                if (with_main[r] < 0) with_main[r] = node;
        if (mine.size() < 2 || !known.insert(mine).second) continue;
        for (std::size_t a = 0; a < mine.size(); ++a)
            for (std::size_t b = a + 1; b < mine.size(); ++b) with_each_other.emplace(std::make_pair(mine[a], mine[b]), node);
    }

    std::vector<Diagnostic> problems;
    for (std::size_t r = 0; r < roots.size(); ++r)
        if (with_main[r] >= 0) problems.push_back(shared(Code::shared_with_main, with_main[r], {roots[r]}));
    for (const auto& [pair, node] : with_each_other) problems.push_back(shared(Code::two_owners, node, {roots[pair.first], roots[pair.second]}));
    return problems;
}

}  // namespace rocketride
