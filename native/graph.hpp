// SPDX-License-Identifier: MIT
// Compiling a pipeline graph: problems, roots, regions and orders. No Python, no text for users.
//
// Nodes, lanes and controls are small integers; a node's number is its place in the file, and every tie is broken by it.
// `compile` is pure: it may be called on several threads at once. Cost: O((nodes + links) log) plus the size of all regions.
#pragma once

#include <string>
#include <vector>

namespace rocketride {

/// One `@on(lane, emits=...)`: a lane the node takes, and the lanes that this input may cause.
struct Handler {
    int lane = -1;
    std::vector<int> emits;
};

/// One slot of `needs`: how many components may be wired to a control; `most` -1 means unbounded.
struct Need {
    int control = -1;
    int least = 0;
    int most = -1;
};

/// What a node class declares. `serves` includes the tool control of a node that has tools.
struct NodeDecl {
    std::vector<Handler> on;
    std::vector<int> emits;  // lanes caused by no handler
    std::vector<Need> needs;
    std::vector<int> serves;
    bool source = false;
    bool responds = false;
    bool stores = false;
};

struct LaneLink {
    int producer = -1;
    int lane = -1;
    int consumer = -1;
};

struct ControlLink {
    int caller = -1;
    int control = -1;
    int callee = -1;
};

/// The wired graph. Links stand in file order (by the component that lists them); `source` is the chosen one, or -1.
struct GraphInput {
    std::vector<NodeDecl> nodes;
    std::vector<LaneLink> links;
    std::vector<ControlLink> controls;
    std::vector<std::string> lane_names;  // UTF-8; ports of one node are ordered by it
    int source = -1;
};

enum class Code {
    port_cycle,               // node: first of the cycle; nodes, lanes: nodes[i] emits lanes[i] to nodes[i + 1], the last to nodes[0]; link: the last of these
    control_cycle,            // node: first in the file; nodes: all of them; link: a control that leads to `node` inside the cycle
    shared_with_main,         // node: first shared in dependency order; nodes: {root}
    two_owners,               // node: first shared in dependency order; nodes: {root, later root}
    missing_control,          // node: caller; lane_or_control: control; count: how many are wired
    too_many_controls,        // node: caller; lane_or_control: control; count: how many are wired; nodes: the callees
    reversed_control,         // node: the component that holds the list; nodes: what it lists wrongly; link, lane_or_control: the first
    undeclared_slot,          // node: callee (holds the list); nodes: {caller}; link; lane_or_control: control
    no_response,              // node: start or root
    ambiguous_source,         // node: -1; nodes: the starts
    silent_undeclared_input,  // node: consumer; nodes: {producer}; link; lane_or_control: lane
    silent_never_emitted,     // node: consumer; nodes: {producer}; link; lane_or_control: lane
    unknown_lane,             // node: consumer; nodes: {producer}; link; lane_or_control: lane
};

/// One finding. `link` is an index into GraphInput::links (lanes) or ::controls, of the first of equal ones; -1 where none is to blame.
struct Diagnostic {
    Code code = Code::unknown_lane;
    bool error = true;
    int node = -1;
    int link = -1;
    int lane_or_control = -1;
    std::vector<int> nodes;
    std::vector<int> lanes;
    int count = 0;
};

/// What one root opens, flushes and closes. The root itself is not in it.
struct Region {
    int root = -1;
    std::vector<int> flush_order;  // lane instances, producers first; opening is the exact reverse
    std::vector<int> call_order;   // control instances, callees first: the order of opening; they flush and close in reverse
};

/// The compiled graph. Where a problem is an error, the rest is filled in all the same, as far as it makes sense.
struct Compiled {
    std::vector<Diagnostic> problems;
    int source = -1;                   // the chosen source, else the only start, else -1
    std::vector<int> dependency;       // all nodes, producers first
    std::vector<int> starts;           // every source component
    std::vector<int> roots;            // controlled nodes that feed a region of their own
    std::vector<Region> regions;       // of the starts, then of the roots, then of a chosen source that is neither
    std::vector<int> region_of;        // per node: index into regions, or -1
    std::vector<int> begin_order;      // what the source reaches: controlled nodes, callees first, then the others, consumers first
    std::vector<bool> reachable;       // per node: from the source (from any start where none is chosen), over lanes and controls
    std::vector<bool> wired;           // per node: feeds another node; one that does not may start an empty entry without a region
    std::vector<LaneLink> links;       // each once, in file order
    std::vector<ControlLink> calls;    // each once, in file order; undeclared and reversed ones dropped
    std::vector<LaneLink> deliveries;  // links whose consumer takes the lane, by (producer, lane, consumer)
    std::vector<ControlLink> slots;    // calls by (caller, control, callee)

    /// Who receives what `node` emits on `lane`, in file order.
    std::vector<int> consumers(int node, int lane) const;
    /// Who is wired to the slot `control` of `node`, in file order.
    std::vector<int> callees(int node, int control) const;
};

/// Throws std::out_of_range when a number in the input names no node or no lane: that is a caller's bug, not a user's.
Compiled compile(const GraphInput& input);

}  // namespace rocketride
