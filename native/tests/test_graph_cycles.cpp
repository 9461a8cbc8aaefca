// SPDX-License-Identifier: MIT
// Cycles of ports, and the flush order of node-level loops that are none.
#include "check.hpp"
#include "pipe.hpp"

TEST(a_port_cycle_is_refused_with_its_path_from_the_first_node_in_the_file) {
    Compilation c({start("s"), pass("a").from("s").from("b"), pass("b").from("a"), response("r").from("b")});
    CHECK_EQ(c.errors(), "port-cycle a: a-[text]-> b-[text]->");
    CHECK_EQ(c.blamed(c.compiled.problems.at(0)), "b text a");
}

TEST(the_path_starts_at_the_first_node_wherever_the_loop_is_entered) {
    Compilation c({pass("b").from("a"), pass("a").from("c").from("s"), start("s"), pass("c").from("b")});
    CHECK_EQ(c.errors(), "port-cycle b: b-[text]-> c-[text]-> a-[text]->");
}

TEST(a_port_wired_to_itself_is_a_cycle) {
    Compilation c({start("s"), pass("a").from("s").from("a"), response("r").from("a")});
    CHECK_EQ(c.errors(), "port-cycle a: a-[text]->");
}

TEST(a_cycle_over_two_lanes_names_both) {
    Compilation c({start("s"), Part("a").on("text", {"questions"}).from("s").from("b"), Part("b").on("questions", {"text"}).from("a", "questions"), response("r").from("b")});
    CHECK_EQ(c.errors(), "port-cycle a: a-[questions]-> b-[text]->");
}

TEST(each_loop_is_one_problem) {
    Compilation c({start("s"), pass("a").from("s").from("b"), pass("b").from("a"), pass("c").from("b").from("d"), pass("d").from("c"), response("r").from("d")});
    CHECK_EQ(c.errors(), "port-cycle a: a-[text]-> b-[text]->; port-cycle c: c-[text]-> d-[text]->");
}

TEST(of_several_ways_round_a_loop_the_one_by_the_first_nodes_is_told) {
    Compilation c({start("s"), pass("a").from("s").from("b").from("c"), pass("b").from("a"), pass("c").from("a").from("b")});
    CHECK_EQ(c.errors(), "port-cycle a: a-[text]-> b-[text]->");
}

TEST(a_wire_that_nothing_flows_on_closes_no_cycle) {
    Compilation c({start("s"), pass("a").from("s").from("b"), Part("b").on("text", {"answers"}).from("a"), response("r").from("b", "answers")});
    CHECK_EQ(c.errors(), "");
    CHECK_EQ(c.warnings(), "silent-output a text (b)");
}

TEST(what_no_handler_causes_closes_no_cycle) {
    Compilation c({start("s"), pass("a").from("s").from("b"), Part("b").on("text").emits({"text"}).from("a"), response("r").from("a")});
    CHECK_EQ(c.errors(), "");
}

TEST(a_memory_before_and_after_an_agent_flushes_after_it_in_every_file_order) {
    const std::vector<Part> parts = {start("s"), pass("keeper").from("s", "questions").from("agent", "answers"), agent("agent").from("keeper", "questions"), response("r").from("keeper", "answers")};
    std::vector<int> order = {0, 1, 2, 3};
    do {
        std::vector<Part> shuffled;
        for (int n : order) shuffled.push_back(parts[n]);
        Compilation c(shuffled);
        CHECK_EQ(c.errors(), "");
        CHECK_EQ(c.flush("s"), "agent keeper r");
    } while (std::next_permutation(order.begin(), order.end()));
}

TEST(a_loop_of_three_is_a_chain_by_last_output_port) {
    Compilation c({start("s"), pass("outer").from("s", "questions").from("inner", "answers"), pass("inner").from("outer", "questions").from("agent", "answers"),
                   agent("agent").from("inner", "questions"), response("r").from("outer", "answers")});
    CHECK_EQ(c.errors(), "");
    CHECK_EQ(c.flush("s"), "agent inner outer r");
}

TEST(a_node_behind_a_loop_waits_for_the_whole_chain_only_where_it_is_fed_by_its_end) {
    Compilation c({start("s"), pass("keeper").from("s", "questions").from("agent", "answers"), response("early").from("agent", "answers"),
                   agent("agent").from("keeper", "questions"), response("late").from("keeper", "answers")});
    CHECK_EQ(c.flush("s"), "agent keeper early late");
}

TEST(ports_of_one_node_are_ordered_by_lane_name_not_by_lane_number) {
    // x emits to y and to r; whichever of these two lanes has the lesser name has its port first, and y's output follows the first.
    auto flush = [](const std::string& to_y, const std::string& to_r) {
        return Compilation({Part("y").on(to_y, {"m"}).from("x", to_y), Part("x").on("text", {to_y, to_r}).on("m").from("s").from("y", "m"), start("s"), Part("r").on(to_r).from("x", to_r)}).flush("s");
    };
    CHECK_EQ(flush("a", "z"), "y x r");
    CHECK_EQ(flush("z", "a"), "x y r");
}

TEST(a_start_inside_a_loop_is_not_in_its_own_region) {
    Compilation c({start("s").on("text").from("b"), pass("a").from("s"), pass("b").from("a"), response("r").from("b")});
    CHECK_EQ(c.errors(), "");
    CHECK_EQ(c.flush("s"), "a b r");
}

TEST(two_loops_side_by_side_are_merged_by_the_file) {
    Compilation c({start("s"), pass("k1").from("s", "questions").from("a1", "answers"), pass("k2").from("s", "questions").from("a2", "answers"),
                   agent("a2").from("k2", "questions"), agent("a1").from("k1", "questions"), response("r").from("k1", "answers").from("k2", "answers")});
    CHECK_EQ(c.flush("s"), "a2 k2 a1 k1 r");
}

TEST(a_control_cycle_is_refused) {
    Compilation c({start("s"), agent("a").from("s", "questions").called_by("b", "tool"), agent("b").called_by("a", "tool"), response("r").from("a", "answers")});
    CHECK_EQ(c.errors(), "control-cycle a (a b)");
    CHECK_EQ(c.blamed(c.compiled.problems.at(0)), "b tool a");
}

TEST(an_agent_that_is_its_own_tool_is_a_control_cycle) {
    Compilation c({start("s"), agent("a").from("s", "questions").called_by("a", "tool"), response("r").from("a", "answers")});
    CHECK_EQ(c.errors(), "control-cycle a (a)");
}

TEST(undeclared_slots_close_no_control_cycle) {
    Compilation c({start("s"), agent("a").from("s", "questions").called_by("b", "acme"), agent("b").called_by("a", "tool"), response("r").from("a", "answers")});
    CHECK_EQ(c.errors(), "");
    CHECK_EQ(c.warnings(), "undeclared-slot a acme (b)");
}

TEST(control_and_data_edges_together_close_no_cycle) {
    Compilation c({start("s"), agent("a").from("s", "questions"), response("r").from("a", "answers"), tool_pipe("t").called_by("a", "tool"),
                   agent("b").from("t", "questions"), response("q").from("b", "answers"), tool_pipe("u").called_by("b", "tool"), response("v").from("u")});
    CHECK_EQ(c.errors(), "");
}

RUN_TESTS
