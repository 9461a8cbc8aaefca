// SPDX-License-Identifier: MIT
// Tests in one header: TEST(name) { CHECK(...); CHECK_EQ(got, wanted); } and one RUN_TESTS in each program.
#pragma once

#include <atomic>
#include <cstdio>
#include <exception>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

namespace check {

struct Case {
    const char* name;
    void (*body)();
};

inline std::vector<Case>& cases() {
    static std::vector<Case> all;
    return all;
}

inline std::atomic<int> failures{0};

inline void fail(const char* file, int line, const std::string& what) {
    static std::mutex one_at_a_time;
    std::lock_guard<std::mutex> lock(one_at_a_time);
    ++failures;
    std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
}

template <typename T>
std::string show(const T& value) {
    std::ostringstream out;
    out << value;
    return out.str();
}

template <typename T>
std::string show(const std::vector<T>& values) {
    std::string text = "[";
    for (const T& value : values) text += (text.size() > 1 ? " " : "") + show(value);
    return text + "]";
}

struct Register {
    Register(const char* name, void (*body)()) { cases().push_back({name, body}); }
};

/// Runs the tests named in the arguments, or all; 1 if one failed or none was run.
inline int run(int argc, char** argv) {
    int ran = 0;
    for (const Case& c : cases()) {
        bool wanted = argc < 2;
        for (int n = 1; n < argc; ++n) wanted = wanted || std::string(argv[n]) == c.name;
        if (!wanted) continue;
        ++ran;
        const int before = failures;
        try {
            c.body();
        } catch (const std::exception& error) {
            fail(c.name, 0, std::string("unexpected exception: ") + error.what());
        }
        std::printf("%s %s\n", failures == before ? "ok    " : "FAILED", c.name);
    }
    return failures > 0 || ran == 0;
}

}  // namespace check

#define TEST(name)                                            \
    static void name();                                       \
    static const check::Register register_##name(#name, name); \
    static void name()

#define CHECK(condition)                                                  \
    do {                                                                  \
        if (!(condition)) check::fail(__FILE__, __LINE__, "not so: " #condition); \
    } while (false)

#define CHECK_EQ(got, wanted)                                                                                     \
    do {                                                                                                          \
        const auto got_ = (got);                                                                                  \
        const decltype(got_) wanted_ = (wanted);                                                                  \
        if (!(got_ == wanted_))                                                                                   \
            check::fail(__FILE__, __LINE__, #got "\n    got    " + check::show(got_) + "\n    wanted " + check::show(wanted_)); \
    } while (false)

#define RUN_TESTS \
    int main(int argc, char** argv) { return check::run(argc, argv); }
