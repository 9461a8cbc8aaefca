// SPDX-License-Identifier: MIT
// Roots, regions, owners, and the orders of flush and begin.
#include "check.hpp"
#include "pipe.hpp"

TEST(a_diamond_joins_after_both_branches) {
    Compilation c({response("join").from("left").from("right"), pass("right").from("s"), pass("left").from("s"), start("s")});
    CHECK_EQ(c.flush("s"), "right left join");
    CHECK_EQ(c.names(c.compiled.dependency), "s right left join");
}

TEST(of_all_ready_nodes_the_first_in_the_file_is_next) {
    Compilation c({response("r").from("c"), pass("b").from("a"), pass("c").from("s"), start("s"), pass("a").from("s")});
    CHECK_EQ(c.flush("s"), "c r a b");
}

TEST(a_long_branch_holds_the_join_back) {
    Compilation c({start("s"), response("join").from("s").from("c"), pass("a").from("s"), pass("b").from("a"), pass("c").from("b")});
    CHECK_EQ(c.flush("s"), "a b c join");
}

TEST(a_controlled_node_with_outputs_and_no_input_is_a_root) {
    Compilation c({start("s"), agent("a").from("s", "questions"), response("r").from("a", "answers"), tool_pipe("t").called_by("a", "tool"), response("q").from("t")});
    CHECK_EQ(c.errors(), "");
    CHECK_EQ(c.names(c.compiled.roots), "t");
    CHECK_EQ(c.flush("t"), "q");
}

TEST(no_root_without_wired_outputs_or_without_a_caller_or_with_an_input) {
    Compilation c({start("s"), agent("a").from("s", "questions"), response("r").from("a", "answers").from("fed", "answers").from("idle", "text"),
                   tool_pipe("bare").called_by("a", "tool"), tool_pipe("idle"), agent("fed").from("s", "questions").called_by("a", "tool")});
    CHECK_EQ(c.errors(), "");
    CHECK_EQ(c.names(c.compiled.roots), "");
    CHECK_EQ(c.compiled.region_of.at(c.at("bare")), -1);
    CHECK(!c.compiled.wired.at(c.at("bare")));
}

TEST(a_wired_input_keeps_a_node_from_being_a_root_even_if_nothing_flows) {
    Compilation c({start("s"), agent("a").from("s", "questions"), response("r").from("a", "answers"), Part("t").on("text", {"text"}).serves({"tool"}).called_by("a", "tool").from("r"), response("q").from("t")});
    CHECK_EQ(c.names(c.compiled.roots), "");
    CHECK_EQ(c.flush("s"), "a r t q");
}

TEST(a_control_edge_puts_no_node_into_a_region) {
    Compilation c({start("s"), agent("a").from("s", "questions"), response("r").from("a", "answers"), llm("x").called_by("a", "llm")});
    CHECK_EQ(c.flush("s"), "a r");
}

TEST(every_source_component_is_a_start_and_starts_may_share) {
    Compilation c({start("s"), start("t"), pass("p").from("s").from("t"), response("r").from("p")}, "s");
    CHECK_EQ(c.errors() + c.warnings(), "");
    CHECK_EQ(c.names(c.compiled.starts), "s t");
    CHECK_EQ(c.flush("s"), "p r");
    CHECK_EQ(c.flush("t"), "p r");
}

TEST(each_region_is_ordered_on_its_own) {
    // Alone, `late` is fed by t only; in the whole file it waits for the line behind s.
    Compilation c({start("s"), start("t"), response("late").from("t").from("b"), pass("a").from("s"), pass("b").from("a"), response("other").from("t")}, "s");
    CHECK_EQ(c.flush("t"), "late other");
    CHECK_EQ(c.flush("s"), "a b late");
    CHECK_EQ(c.names(c.compiled.dependency), "s t a b late other");
}

TEST(a_source_with_no_links_has_an_empty_region) {
    Compilation c({start("s"), response("r")});
    CHECK_EQ(c.errors(), "");
    CHECK_EQ(c.compiled.regions.size(), 1u);
    CHECK_EQ(c.flush("s") + c.calls("s"), "");
    CHECK_EQ(c.names(c.compiled.begin_order), "s");
}

TEST(a_chosen_source_that_is_no_start_has_a_region_too) {
    Compilation c({start("s"), pass("p").from("s"), response("r").from("p")}, "p");
    CHECK_EQ(c.errors() + c.warnings(), "");
    CHECK_EQ(c.compiled.regions.size(), 2u);
    CHECK_EQ(c.flush("p"), "r");
    CHECK_EQ(c.names(c.compiled.begin_order), "r p");
}

TEST(a_roots_region_must_not_touch_the_main_flow) {
    Compilation c({start("s"), agent("a").from("s", "questions"), response("r").from("a", "answers").from("mid"), tool_pipe("t").called_by("a", "tool"), pass("mid").from("t").from("s")});
    CHECK_EQ(c.errors(), "shared-with-main mid (t)");
}

TEST(the_first_shared_node_is_first_in_dependency_order_not_in_the_file) {
    Compilation c({response("z").from("head"), start("s"), agent("a").from("s", "questions"), tool_pipe("t").called_by("a", "tool"), pass("head").from("t").from("s")});
    CHECK_EQ(c.errors(), "shared-with-main head (t)");
}

TEST(another_start_is_main_flow_too_and_so_is_the_start_itself) {
    Compilation other({start("s"), agent("a").from("s", "questions"), response("r").from("a", "answers"), start("u"), tool_pipe("t").called_by("a", "tool"), response("q").from("t").from("u")}, "s");
    CHECK_EQ(other.errors(), "shared-with-main q (t)");
    Compilation itself({start("s").on("text").from("t"), agent("a").from("s", "questions"), response("r").from("a", "answers"), tool_pipe("t").called_by("a", "tool")});
    CHECK_EQ(itself.errors(), "shared-with-main s (t)");
}

TEST(each_pair_of_roots_is_one_problem) {
    std::vector<Part> parts = {start("s"), agent("a").from("s", "questions"), response("r").from("a", "answers")};
    for (const char* t : {"t1", "t2", "t3", "t4"}) parts.push_back(tool_pipe(t).called_by("a", "tool"));
    parts.push_back(pass("x").from("t1").from("t2"));
    parts.push_back(pass("y").from("x").from("t3"));
    parts.push_back(response("z").from("y"));
    parts.push_back(response("w").from("t4"));
    Compilation c(parts);
    CHECK_EQ(c.errors(), "two-owners x (t1 t2); two-owners y (t1 t3); two-owners y (t2 t3)");
}

TEST(wires_that_nothing_flows_on_decide_owners_too) {
    Compilation c({start("s"), agent("a").from("s", "questions"), response("r").from("a", "answers").from("t", "tags"), tool_pipe("t").called_by("a", "tool")});
    CHECK_EQ(c.errors(), "shared-with-main r (t)");
}

TEST(two_agents_may_share_a_tool_pipe) {
    Compilation c({start("s"), agent("a").from("s", "questions"), agent("b").from("a", "answers").on("answers", {"answers"}), response("r").from("b", "answers"),
                   tool_pipe("t").called_by("a", "tool").called_by("b", "tool"), response("q").from("t")});
    CHECK_EQ(c.errors() + c.warnings(), "");
    CHECK_EQ(c.calls("s"), "t");
}

TEST(tool_pipes_inside_tool_pipes_are_legal_and_have_their_own_regions) {
    Compilation c({start("s"), agent("a").from("s", "questions"), response("r").from("a", "answers"), tool_pipe("t").called_by("a", "tool"), agent("b").from("t", "questions"),
                   response("q").from("b", "answers"), tool_pipe("u").called_by("b", "tool"), response("v").from("u")});
    CHECK_EQ(c.errors() + c.warnings(), "");
    CHECK_EQ(c.names(c.compiled.roots), "t u");
    CHECK_EQ(c.flush("t") + "|" + c.calls("t") + "|" + c.flush("u"), "b q|u|v");
}

TEST(a_tool_pipe_called_from_inside_itself_is_legal) {
    Compilation c({start("s"), agent("a").from("s", "questions"), response("r").from("a", "answers"), tool_pipe("t").called_by("a", "tool").called_by("b", "tool"),
                   agent("b").from("t", "questions"), response("q").from("b", "answers")});
    CHECK_EQ(c.errors(), "");
    CHECK_EQ(c.calls("t"), "t");
}

TEST(a_roots_region_without_response_is_warned_of) {
    Compilation c({start("s"), agent("a").from("s", "questions"), response("r").from("a", "answers"), tool_pipe("t").called_by("a", "tool"), pass("p").from("t")});
    CHECK_EQ(c.warnings(), "no-response t");
}

TEST(begin_is_controlled_nodes_callees_first_then_the_others_consumers_first) {
    Compilation c({start("s"), agent("a").from("s", "questions"), response("r").from("a", "answers"), agent("sub").called_by("a", "tool"), llm("x").called_by("sub", "llm").called_by("a", "llm"),
                   tool_pipe("t").called_by("a", "tool"), pass("p").from("t"), response("q").from("p")});
    CHECK_EQ(c.errors(), "");
    CHECK_EQ(c.names(c.compiled.begin_order), "x sub t q p r a s");
}

TEST(only_what_the_chosen_source_reaches_begins) {
    Compilation c({start("s"), response("r").from("s"), start("t"), response("q").from("t"), pass("loose"), llm("nobody")}, "s");
    CHECK_EQ(c.names(c.compiled.begin_order), "r s");
    CHECK(!c.compiled.reachable.at(c.at("q")));
}

RUN_TESTS
