// SPDX-License-Identifier: MIT
// Graphs by name for the tests, and compiled graphs as short texts.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph.hpp"

using Names = std::vector<std::string>;

/// One component: what its class declares, and where it is wired from.
struct Part {
    explicit Part(std::string name) : id(std::move(name)) {}
    Part& on(const std::string& lane, Names out = {}) { handlers.emplace_back(lane, std::move(out)); return *this; }
    Part& emits(Names lanes) { own = std::move(lanes); return *this; }
    Part& needs(const std::string& control, int least, int most) { slots.push_back({control, least, most}); return *this; }
    Part& serves(Names controls) { served = std::move(controls); return *this; }
    Part& source() { starts = true; return *this; }
    Part& responds() { answers = true; return *this; }
    Part& stores() { keeps = true; return *this; }
    Part& from(const std::string& producer, const std::string& lane = "text") { input.emplace_back(lane, producer); return *this; }
    Part& called_by(const std::string& caller, const std::string& control) { control_input.emplace_back(control, caller); return *this; }

    struct Slot { std::string control; int least, most; };
    std::string id;
    std::vector<std::pair<std::string, Names>> handlers;
    Names own, served;
    std::vector<Slot> slots;
    bool starts = false, answers = false, keeps = false;
    std::vector<std::pair<std::string, std::string>> input, control_input;
};

inline Part start(const std::string& id) { return Part(id).source().emits({"text", "questions"}); }
inline Part pass(const std::string& id) { return Part(id).on("text", {"text"}).on("questions", {"questions"}).on("answers", {"answers"}); }
inline Part response(const std::string& id) { return Part(id).on("text").on("questions").on("answers").responds(); }
inline Part agent(const std::string& id) { return Part(id).on("questions", {"answers"}).needs("llm", 0, 1).needs("tool", 0, -1).needs("memory", 0, 1).serves({"tool"}); }
inline Part llm(const std::string& id) { return Part(id).on("questions", {"answers"}).serves({"llm"}); }
inline Part tool_pipe(const std::string& id) { return Part(id).emits({"questions", "text"}).serves({"tool"}); }

class Compilation {
public:
    Compilation(const std::vector<Part>& parts, const std::string& source = "") {
        for (const Part& part : parts) ids_.push_back(part.id);
        rocketride::GraphInput& g = input;
        for (const Part& part : parts) {
            rocketride::NodeDecl node;
            for (const auto& [lane, out] : part.handlers) node.on.push_back({lane_number(lane), lane_numbers(out)});
            node.emits = lane_numbers(part.own);
            for (const Part::Slot& slot : part.slots) node.needs.push_back({control_number(slot.control), slot.least, slot.most});
            for (const std::string& control : part.served) node.serves.push_back(control_number(control));
            node.source = part.starts;
            node.responds = part.answers;
            node.stores = part.keeps;
            g.nodes.push_back(node);
            for (const auto& [lane, producer] : part.input) g.links.push_back({at(producer), lane_number(lane), at(part.id)});
            for (const auto& [control, caller] : part.control_input) g.controls.push_back({at(caller), control_number(control), at(part.id)});
        }
        g.lane_names = lanes_;
        if (!source.empty()) g.source = at(source);
        compiled = rocketride::compile(g);
    }

    int at(const std::string& id) const { return static_cast<int>(std::find(ids_.begin(), ids_.end(), id) - ids_.begin()); }
    int lane_number(const std::string& lane) { return number(lanes_, lane); }
    int control_number(const std::string& control) { return number(controls_, control); }
    std::string names(const std::vector<int>& nodes) const {
        std::string text;
        for (int node : nodes) text += (text.empty() ? "" : " ") + ids_.at(node);
        return text;
    }
    const rocketride::Region& region(const std::string& root) const { return compiled.regions.at(compiled.region_of.at(at(root))); }
    std::string flush(const std::string& root) const { return names(region(root).flush_order); }
    std::string calls(const std::string& root) const { return names(region(root).call_order); }
    std::string consumers(const std::string& id, const std::string& lane) { return names(compiled.consumers(at(id), lane_number(lane))); }
    std::string callees(const std::string& id, const std::string& control) { return names(compiled.callees(at(id), control_number(control))); }
    std::string errors() const { return list(true); }
    std::string warnings() const { return list(false); }
    /// The wired edge that a problem blames: "producer lane consumer" or "caller control callee".
    std::string blamed(const rocketride::Diagnostic& problem) const {
        using rocketride::Code;
        if (problem.link < 0) return "none";
        if (problem.code == Code::control_cycle || problem.code == Code::reversed_control || problem.code == Code::undeclared_slot) {
            const rocketride::ControlLink& c = input.controls.at(problem.link);
            return ids_.at(c.caller) + " " + controls_.at(c.control) + " " + ids_.at(c.callee);
        }
        const rocketride::LaneLink& l = input.links.at(problem.link);
        return ids_.at(l.producer) + " " + lanes_.at(l.lane) + " " + ids_.at(l.consumer);
    }

    rocketride::GraphInput input;
    rocketride::Compiled compiled;

private:
    static int number(Names& names, const std::string& name) {
        auto found = std::find(names.begin(), names.end(), name);
        if (found == names.end()) found = names.insert(names.end(), name);
        return static_cast<int>(found - names.begin());
    }
    std::vector<int> lane_numbers(const Names& lanes) {
        std::vector<int> numbers;
        for (const std::string& lane : lanes) numbers.push_back(lane_number(lane));
        return numbers;
    }
    std::string list(bool errors) const {
        std::string text;
        for (const rocketride::Diagnostic& p : compiled.problems)
            if (p.error == errors) text += (text.empty() ? "" : "; ") + describe(p);
        return text;
    }
    std::string describe(const rocketride::Diagnostic& p) const {
        using rocketride::Code;
        static const std::map<Code, std::string> codes = {
            {Code::port_cycle, "port-cycle"}, {Code::control_cycle, "control-cycle"}, {Code::shared_with_main, "shared-with-main"},
            {Code::two_owners, "two-owners"}, {Code::missing_control, "missing-control"}, {Code::too_many_controls, "too-many-controls"},
            {Code::reversed_control, "reversed-control"}, {Code::undeclared_slot, "undeclared-slot"}, {Code::no_response, "no-response"},
            {Code::ambiguous_source, "ambiguous-source"}, {Code::silent_undeclared_input, "silent-input"},
            {Code::silent_never_emitted, "silent-output"}, {Code::unknown_lane, "unknown-lane"}};
        std::string text = codes.at(p.code) + (p.node < 0 ? "" : " " + ids_.at(p.node));
        if (p.code == Code::port_cycle) {
            text += ":";
            for (std::size_t n = 0; n < p.nodes.size(); ++n) text += " " + ids_.at(p.nodes[n]) + "-[" + lanes_.at(p.lanes.at(n)) + "]->";
            return text;
        }
        const bool control = p.code == Code::missing_control || p.code == Code::too_many_controls || p.code == Code::reversed_control || p.code == Code::undeclared_slot;
        const bool lane = p.code == Code::silent_undeclared_input || p.code == Code::silent_never_emitted || p.code == Code::unknown_lane;
        if (control) text += " " + controls_.at(p.lane_or_control);
        if (lane) text += " " + lanes_.at(p.lane_or_control);
        if (p.code == Code::missing_control || p.code == Code::too_many_controls) text += " " + std::to_string(p.count);
        return text + (p.nodes.empty() ? "" : " (" + names(p.nodes) + ")");
    }

    Names ids_, lanes_, controls_;
};
