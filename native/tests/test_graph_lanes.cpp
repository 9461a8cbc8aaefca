// SPDX-License-Identifier: MIT
// Lane links: duplicates, consumers, silent and unknown lanes, the choice of a source.
#include <stdexcept>

#include "check.hpp"
#include "pipe.hpp"

using rocketride::Code;

TEST(equal_links_are_one_edge_and_the_first_is_blamed) {
    Compilation c({start("s"), Part("sink").on("text").responds().from("s").from("s", "tags").from("s").from("s", "tags")});
    CHECK_EQ(c.compiled.links.size(), 2u);
    CHECK_EQ(c.consumers("s", "text"), "sink");
    CHECK_EQ(c.warnings(), "silent-input sink tags (s)");
    CHECK_EQ(c.compiled.problems.at(0).link, 1);
}

TEST(consumers_stand_in_file_order_whatever_order_they_are_wired_in) {
    Compilation c({response("late"), start("s"), response("b").from("s"), response("a").from("s"), response("c").from("s", "questions")});
    CHECK_EQ(c.consumers("s", "text"), "b a");
    CHECK_EQ(c.consumers("s", "questions"), "c");
    CHECK_EQ(c.consumers("b", "text"), "");
}

TEST(a_sink_that_does_not_take_a_lane_is_silent_and_no_consumer) {
    Compilation c({start("s"), Part("sink").on("questions").responds().from("s", "text").from("s", "questions")});
    CHECK_EQ(c.errors(), "");
    CHECK_EQ(c.warnings(), "silent-input sink text (s)");
    CHECK_EQ(c.consumers("s", "text"), "");
    CHECK_EQ(c.flush("s"), "sink");
}

TEST(a_lane_that_the_producer_never_emits_is_warned_of) {
    Compilation c({start("s"), Part("p").on("text", {"text"}).from("s"), response("r").from("p", "text").from("p", "answers")});
    CHECK_EQ(c.errors(), "");
    CHECK_EQ(c.warnings(), "silent-output r answers (p)");
    CHECK_EQ(c.consumers("p", "answers"), "r");
}

TEST(a_lane_emitted_by_no_handler_is_declared_too) {
    Compilation c({start("s"), Part("p").on("text").emits({"answers"}).from("s"), response("r").from("p", "answers")});
    CHECK_EQ(c.errors() + c.warnings(), "");
}

TEST(an_undeclared_input_of_a_node_with_wired_outputs_is_an_error) {
    Compilation c({start("s"), Part("p").on("text", {"text"}).from("s").from("s", "tags"), response("r").from("p")});
    CHECK_EQ(c.errors(), "unknown-lane p tags (s)");
    CHECK_EQ(c.blamed(c.compiled.problems.at(0)), "s tags p");
}

TEST(an_undeclared_input_of_a_start_is_an_error_also_when_nothing_is_wired_to_it) {
    Compilation c({start("s"), start("t").from("s"), response("r").from("s")}, "s");
    CHECK_EQ(c.errors(), "unknown-lane t text (s)");
}

TEST(an_undeclared_input_of_a_would_be_root_is_an_error) {
    Compilation c({start("s"), agent("a").from("s", "questions"), response("r").from("a", "answers"),
                   tool_pipe("t").called_by("a", "tool").from("s", "questions"), response("u").from("t", "questions")});
    CHECK_EQ(c.errors(), "unknown-lane t questions (s)");
    CHECK_EQ(c.compiled.roots.size(), 0u);
}

TEST(the_only_start_is_the_source) {
    Compilation c({pass("p").from("s"), start("s")});
    CHECK_EQ(c.compiled.source, c.at("s"));
}

TEST(two_starts_and_none_chosen_is_ambiguous) {
    Compilation c({start("s"), start("t"), response("r").from("s").from("t")});
    CHECK_EQ(c.errors(), "ambiguous-source (s t)");
    CHECK_EQ(c.compiled.source, -1);
    CHECK_EQ(c.names(c.compiled.begin_order), "r t s");
}

TEST(a_chosen_source_settles_it) {
    Compilation c({start("s"), start("t"), response("r").from("s").from("t")}, "t");
    CHECK_EQ(c.errors(), "");
    CHECK_EQ(c.compiled.source, c.at("t"));
}

TEST(only_a_region_without_response_and_store_is_warned_of) {
    Compilation c({start("s"), pass("p").from("s"), start("t"), Part("db").on("text").stores().from("t"), start("u"), response("r").from("u"), start("v")}, "s");
    CHECK_EQ(c.errors(), "");
    CHECK_EQ(c.warnings(), "no-response s; no-response v");
}

TEST(a_node_feeds_only_when_it_is_wired_to_another) {
    Compilation c({start("s"), pass("p").from("s").from("p"), response("r").from("s")});
    CHECK(c.compiled.wired.at(c.at("s")));
    CHECK(!c.compiled.wired.at(c.at("p")));
    CHECK(!c.compiled.wired.at(c.at("r")));
}

TEST(all_problems_come_at_once_in_a_fixed_order) {
    Compilation c({start("s"), start("t"), Part("p").on("text", {"text"}).from("s", "tags").from("p"), agent("a").needs("embedding", 1, 1).from("t", "questions"),
                   agent("b").called_by("a", "tool").called_by("b", "tool").called_by("s", "llm")});
    CHECK_EQ(c.errors(), "ambiguous-source (s t); unknown-lane p tags (s); port-cycle p: p-[text]->; control-cycle b (b); missing-control a embedding 0");
    CHECK_EQ(c.warnings(), "undeclared-slot b llm (s); no-response s; no-response t");
}

TEST(numbers_out_of_range_are_a_callers_bug) {
    auto refused = [](auto change) {
        rocketride::GraphInput g;
        g.nodes.resize(2);
        g.lane_names = {"text"};
        change(g);
        try {
            rocketride::compile(g);
        } catch (const std::out_of_range&) {
            return true;
        }
        return false;
    };
    CHECK(!refused([](auto& g) { g.links = {{0, 0, 1}}; g.source = 1; }));
    CHECK(refused([](auto& g) { g.links = {{0, 0, 2}}; }));
    CHECK(refused([](auto& g) { g.links = {{-1, 0, 1}}; }));
    CHECK(refused([](auto& g) { g.links = {{0, 1, 1}}; }));
    CHECK(refused([](auto& g) { g.controls = {{0, 0, 2}}; }));
    CHECK(refused([](auto& g) { g.source = 2; }));
    CHECK(refused([](auto& g) { g.nodes[0].emits = {1}; }));
    CHECK(refused([](auto& g) { g.nodes[0].on = {{0, {-1}}}; }));
}

TEST(an_empty_file_compiles) {
    const rocketride::Compiled c = rocketride::compile({});
    CHECK(c.problems.empty() && c.regions.empty() && c.begin_order.empty());
    CHECK_EQ(c.source, -1);
}

RUN_TESTS
