// SPDX-License-Identifier: MIT
// Control links: slots, reversed lists, arity, and the control instances of a region.
#include "check.hpp"
#include "pipe.hpp"

using rocketride::Code;

static Part strict(const std::string& id) { return Part(id).on("questions", {"answers"}).needs("llm", 1, 1).needs("tool", 0, 2); }

TEST(callees_stand_in_file_order_and_each_once) {
    Compilation c({start("s"), llm("x"), agent("b").called_by("a", "tool"), agent("c").called_by("a", "tool").called_by("a", "tool"), agent("a").from("s", "questions"),
                   llm("y").called_by("a", "llm"), response("r").from("a", "answers")});
    CHECK_EQ(c.errors() + c.warnings(), "");
    CHECK_EQ(c.callees("a", "tool"), "b c");
    CHECK_EQ(c.callees("a", "llm"), "y");
    CHECK_EQ(c.callees("b", "llm"), "");
    CHECK_EQ(c.compiled.calls.size(), 3u);
}

TEST(a_slot_that_the_caller_does_not_declare_is_dropped_with_a_warning) {
    Compilation c({start("s"), pass("p").from("s"), llm("x").called_by("p", "llm"), response("r").from("p")});
    CHECK_EQ(c.errors(), "");
    CHECK_EQ(c.warnings(), "undeclared-slot x llm (p)");
    CHECK_EQ(c.blamed(c.compiled.problems.at(0)), "p llm x");
    CHECK(c.compiled.calls.empty());
    CHECK(!c.compiled.reachable.at(c.at("x")));
}

TEST(a_control_that_the_callee_does_not_serve_is_an_undeclared_slot) {
    Compilation c({start("s"), agent("a").from("s", "questions"), agent("b").called_by("a", "llm"), response("r").from("a", "answers")});
    CHECK_EQ(c.warnings(), "undeclared-slot b llm (a)");
    CHECK_EQ(c.callees("a", "llm"), "");
}

TEST(a_dropped_slot_makes_no_root_and_no_owner) {
    Compilation c({start("s"), pass("p").from("s"), tool_pipe("t").called_by("p", "tool"), response("r").from("p").from("t", "questions")});
    CHECK_EQ(c.errors(), "");
    CHECK_EQ(c.names(c.compiled.roots), "");
}

TEST(a_reversed_list_is_one_problem_and_hides_the_missing_control) {
    Compilation c({start("s"), strict("a").from("s", "questions").called_by("x", "llm").called_by("t", "tool").called_by("u", "tool"), llm("x"), tool_pipe("t"), tool_pipe("u"),
                   response("r").from("a", "answers")});
    CHECK_EQ(c.errors(), "reversed-control a llm (x t u)");
    CHECK_EQ(c.blamed(c.compiled.problems.at(0)), "x llm a");
}

TEST(a_reversed_list_hides_only_its_own_control) {
    Compilation c({start("s"), strict("a").from("s", "questions").called_by("t", "tool"), tool_pipe("t"), response("r").from("a", "answers")});
    CHECK_EQ(c.errors(), "reversed-control a tool (t); missing-control a llm 0");
}

TEST(reversed_lists_stand_in_file_order_after_the_undeclared_slots) {
    Compilation c({start("s"), llm("x"), strict("b").from("s", "questions").called_by("x", "llm"), strict("a").from("s", "questions").called_by("x", "llm").called_by("s", "memory"),
                   response("r").from("a", "answers").from("b", "answers")});
    CHECK_EQ(c.compiled.problems.size(), 3u);
    CHECK(c.compiled.problems.at(0).code == Code::undeclared_slot);
    CHECK_EQ(c.errors(), "reversed-control b llm (x); reversed-control a llm (x)");
}

TEST(a_missing_and_a_double_control_are_errors_on_a_reachable_component) {
    Compilation missing({start("s"), strict("a").from("s", "questions"), response("r").from("a", "answers")});
    CHECK_EQ(missing.errors(), "missing-control a llm 0");
    Compilation twice({start("s"), strict("a").from("s", "questions"), llm("x").called_by("a", "llm"), llm("y").called_by("a", "llm"), response("r").from("a", "answers")});
    CHECK_EQ(twice.errors(), "too-many-controls a llm 2 (x y)");
}

TEST(wrong_arity_is_a_warning_where_the_chosen_source_does_not_reach) {
    const std::vector<Part> parts = {start("s"), response("r").from("s"), start("t"), strict("a").from("t", "questions"), response("q").from("a", "answers")};
    CHECK_EQ(Compilation(parts, "s").warnings(), "missing-control a llm 0");
    CHECK_EQ(Compilation(parts, "t").errors(), "missing-control a llm 0");
}

TEST(an_unbounded_slot_takes_any_number) {
    std::vector<Part> parts = {start("s"), agent("a").from("s", "questions"), response("r").from("a", "answers")};
    for (int n = 0; n < 50; ++n) parts.push_back(agent("t" + std::to_string(n)).called_by("a", "tool"));
    CHECK_EQ(Compilation(parts).errors(), "");
}

TEST(control_instances_are_reached_over_control_edges_callees_first) {
    Compilation c({start("s"), agent("a").from("s", "questions"), response("r").from("a", "answers"), agent("sub").called_by("a", "tool"), agent("deep").called_by("sub", "tool"),
                   llm("x").called_by("deep", "llm").called_by("a", "llm")});
    CHECK_EQ(c.errors(), "");
    CHECK_EQ(c.flush("s"), "a r");
    CHECK_EQ(c.calls("s"), "x deep sub");
}

TEST(control_instances_do_not_reach_across_data_edges) {
    Compilation c({start("s"), agent("a").from("s", "questions"), response("r").from("a", "answers"), tool_pipe("t").called_by("a", "tool"),
                   agent("b").from("t", "questions"), response("q").from("b", "answers"), llm("x").called_by("b", "llm")});
    CHECK_EQ(c.errors(), "");
    CHECK_EQ(c.calls("s"), "t");
    CHECK_EQ(c.flush("t"), "b q");
    CHECK_EQ(c.calls("t"), "x");
}

TEST(a_node_on_a_lane_and_controlled_has_both_instances) {
    Compilation c({start("s"), agent("a").from("s", "questions"), llm("x").from("s", "questions").called_by("a", "llm"), response("r").from("a", "answers").from("x", "answers")});
    CHECK_EQ(c.errors(), "");
    CHECK_EQ(c.flush("s"), "a x r");
    CHECK_EQ(c.calls("s"), "x");
}

TEST(what_a_root_itself_calls_belongs_to_its_callers_entry) {
    Compilation c({start("s"), agent("a").from("s", "questions"), response("r").from("a", "answers"),
                   tool_pipe("t").needs("llm", 0, 1).called_by("a", "tool"), llm("x").called_by("t", "llm"), response("q").from("t")});
    CHECK_EQ(c.errors(), "");
    CHECK_EQ(c.calls("s"), "x t");
    CHECK_EQ(c.calls("t"), "");
}

RUN_TESTS
