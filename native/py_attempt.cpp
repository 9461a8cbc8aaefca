// SPDX-License-Identifier: MIT
// One call of a hook or handler: what it lets out is kept on the flight, and a trace has a span of it.
#include <chrono>

#include "py_runtime.hpp"

namespace rocketride {

PyObject* entry_stopped = nullptr;

namespace {

std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

PyObject* take_exception() {
#if PY_VERSION_HEX >= 0x030C0000
    return PyErr_GetRaisedException();
#else
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace) PyException_SetTraceback(value, trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return value;
#endif
}

// Straight to the function: a return address less on the C stack of every hop. Deep chains outrun the processor's return stack.
PyObject* call(PyObject* callable, PyObject** arguments, std::size_t count) {
#ifndef Py_LIMITED_API
    if (const vectorcallfunc direct = PyVectorcall_Function(callable)) return direct(callable, arguments, count, nullptr);
#endif
    return PyObject_Vectorcall(callable, arguments, count, nullptr);
}

// A span is named by its index: the vector may move while the handler runs.
std::int32_t begin_span(FlightObject* flight, const SlotPlan& plan, Phase phase, std::int32_t lane, PyObject* payload) {
    PyObject* kept = payload && flight->program->data->payloads ? payload : nullptr;
    Py_XINCREF(kept);
    flight->spans->push_back({flight->span, plan.node, lane, phase, 0, plan.control, now(), 0, kept});
    return flight->span = static_cast<std::int32_t>(flight->spans->size()) - 1;
}

void end_span(FlightObject* flight, std::int32_t index, std::uint8_t status) {
    if (!flight->spans || static_cast<std::size_t>(index) >= flight->spans->size()) return;
    Span& span = (*flight->spans)[static_cast<std::size_t>(index)];
    span.end = now();
    span.status = status;
    flight->span = span.parent;
}

}  // namespace

// Hands the exception that is set to Python, which keeps it as the flight's error or as a note; the entry stops.
bool fail_flight(FlightObject* flight, int node, Phase phase, std::int32_t lane) {
    PyObject* error = take_exception();
    const bool unwinding = flight->stopped && PyErr_GivenExceptionMatches(error, entry_stopped);
    flight->stopped = true;
    if (!unwinding) {  // an EntryStopped of an entry that had not stopped says that somebody raised it himself: that is an error
        PyObject* done = PyObject_CallMethod(reinterpret_cast<PyObject*>(flight), "_fail", "iiiO", node, static_cast<int>(phase),
                                             static_cast<int>(lane), error);
        if (!done) PyErr_Clear();  // no stack or memory left to tell it: Flight.settle sees that it stopped without an error
        Py_XDECREF(done);
    }
    Py_DECREF(error);
    return !unwinding;
}

bool Host::stopped() const { return flight->stopped; }

void Host::call(const Target& target, void* payload) {
    attempt(flight, flight->instances[target.slot], Phase::handler, target.lane, target.allowed, static_cast<PyObject*>(target.handler),
            static_cast<PyObject*>(target.owner), static_cast<PyObject*>(payload));
}

bool attempt(FlightObject* flight, InstanceObject* instance, Phase phase, std::int32_t lane, std::uint64_t allowed, PyObject* callable,
             PyObject* owner, PyObject* payload) {
    // A node in a loop may be entered again while it runs: what was current comes back afterwards.
    InstanceObject* const outer = flight->current;
    const Phase phase_before = instance->phase;
    const std::int32_t lane_before = instance->lane;
    const std::uint64_t allowed_before = instance->allowed;
    instance->phase = phase;
    instance->lane = lane;
    instance->allowed = allowed;
    flight->current = instance;
    const std::int32_t span = flight->spans ? begin_span(flight, *instance->plan, phase, lane, payload) : -1;
    PyObject* argv[4] = {nullptr, owner, reinterpret_cast<PyObject*>(instance), payload};
    const std::size_t count = (owner ? 1u : 0u) + (payload ? 2u : 1u);
    PyObject* result = call(callable, argv + (owner ? 1 : 2), count | PY_VECTORCALL_ARGUMENTS_OFFSET);
    const bool failed = !result && fail_flight(flight, instance->plan->node, phase, lane);
    if (span >= 0) end_span(flight, span, result ? 1 : failed ? 2 : 3);
    instance->phase = phase_before;
    instance->lane = lane_before;
    instance->allowed = allowed_before;
    flight->current = outer;
    if (!result) return false;
    Py_DECREF(result);
    return true;
}

}  // namespace rocketride
