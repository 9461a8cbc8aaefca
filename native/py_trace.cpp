// SPDX-License-Identifier: MIT
// What was traced, for Python: as tuples, or as finished JSON lines, which cost a twentieth of what Python would take for them.
#include <charconv>
#include <cstring>
#include <string>
#include <vector>

#include "py_runtime.hpp"

namespace rocketride {

namespace {

const std::string kinds[] = {"idle", "open", "handler", "flush", "close", "tool"};
const std::string statuses[] = {"running", "ok", "failed", "stopped"};

// Text is written behind a pointer into a buffer that is large enough: the checks of std::string::append cost more than the copy.
template <std::size_t N>
char* put(char* at, const char (&text)[N]) {
    std::memcpy(at, text, N - 1);
    return at + N - 1;
}

char* put(char* at, const std::string& text) {
    std::memcpy(at, text.data(), text.size());
    return at + text.size();
}

char* put_number(char* at, std::int64_t value) { return std::to_chars(at, at + 20, value).ptr; }

// Seconds with nine decimals, without passing through a double.
char* put_seconds(char* at, std::int64_t nanoseconds) {
    at = put_number(at, nanoseconds / 1000000000);
    std::int64_t rest = nanoseconds % 1000000000;
    at[0] = '.';
    for (int n = 9; n > 0; --n, rest /= 10) at[n] = static_cast<char>('0' + rest % 10);
    return at + 10;
}

char* put_line(char* at, const Span& span, std::size_t n, const std::string& id, std::int64_t clock, const std::vector<std::string>& components,
               const std::vector<std::string>& lanes) {
    at = put(put(at, "{\"span\": \""), id);
    *at++ = '.';
    at = put(put(put_number(at, static_cast<std::int64_t>(n)), "\", \"parent\": \""), id);
    if (span.parent >= 0) {
        *at++ = '.';
        at = put_number(at, span.parent);
    }
    at = put(put(put(at, "\", \"kind\": \""), kinds[static_cast<int>(span.phase)]), "\", \"component\": ");
    at = put(put(at, components[static_cast<std::size_t>(span.node)]), ", \"start\": ");
    at = put(put_seconds(at, span.start + clock), ", \"seconds\": ");
    at = put(put_seconds(at, span.end ? span.end - span.start : 0), ", \"status\": \"");
    at = put(at, statuses[span.status]);
    *at++ = '"';
    if (span.lane >= 0) at = put(put(at, ", \"lane\": "), lanes[static_cast<std::size_t>(span.lane)]);
    if (span.control) at = put(at, ", \"called\": true");
    return put(at, "}\n");
}

bool read_table(PyObject* table, std::vector<std::string>& out, std::size_t& longest) {
    for (Py_ssize_t n = 0; n < PyTuple_Size(table); ++n) {
        char* text = nullptr;
        Py_ssize_t length = 0;
        if (PyBytes_AsStringAndSize(PyTuple_GetItem(table, n), &text, &length) < 0) return false;
        out.emplace_back(text, static_cast<std::size_t>(length));
        if (out.back().size() > longest) longest = out.back().size();
    }
    return true;
}

}  // namespace

PyObject* flight_spans(PyObject* self, PyObject*) {
    FlightObject* flight = reinterpret_cast<FlightObject*>(self);
    PyObject* list = PyList_New(0);
    if (!list || !flight->spans) return list;
    for (const Span& s : *flight->spans) {
        PyObject* payload = s.payload ? s.payload : Py_None;
        PyObject* item = Py_BuildValue("(iiiiOiLLO)", s.parent, s.node, s.lane, static_cast<int>(s.phase), s.control ? Py_True : Py_False,
                                       static_cast<int>(s.status), static_cast<long long>(s.start), static_cast<long long>(s.end), payload);
        if (!item || PyList_Append(list, item) < 0) {
            Py_XDECREF(item);
            Py_DECREF(list);
            return nullptr;
        }
        Py_DECREF(item);
    }
    drop_spans(flight);
    return list;
}

PyObject* flight_trace_lines(PyObject* self, PyObject* args) {
    FlightObject* flight = reinterpret_cast<FlightObject*>(self);
    const char* id = nullptr;
    long long clock = 0;
    PyObject *components = nullptr, *lanes = nullptr;
    if (!PyArg_ParseTuple(args, "sLO!O!", &id, &clock, &PyTuple_Type, &components, &PyTuple_Type, &lanes)) return nullptr;
    std::vector<std::string> names, lane_names;
    std::size_t longest_name = 0, longest_lane = 0;
    if (!read_table(components, names, longest_name) || !read_table(lanes, lane_names, longest_lane)) return nullptr;
    const std::string entry(id);
    const std::size_t count = flight->spans ? flight->spans->size() : 0;
    std::vector<char> out(count * (220 + 2 * entry.size() + longest_name + longest_lane));
    char* at = out.data();
    for (std::size_t n = 0; n < count; ++n) at = put_line(at, (*flight->spans)[n], n, entry, clock, names, lane_names);
    drop_spans(flight);
    return PyBytes_FromStringAndSize(out.data(), at - out.data());
}

void drop_spans(FlightObject* flight) {
    if (!flight->spans) return;
    std::vector<Span> spans;
    spans.swap(*flight->spans);
    for (const Span& span : spans) Py_XDECREF(span.payload);
}

}  // namespace rocketride
