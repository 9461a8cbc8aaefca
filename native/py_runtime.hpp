// SPDX-License-Identifier: MIT
// The Python types of a running pipeline: Program (the bound plan), Flight (one entry), Instance (one node working on it).
//
// Plain C-API on purpose: a daemon thread may end inside any of these functions when the interpreter exits, and an unwinding
// through a frame that catches, is noexcept or gives a GIL guard back would end the process. Locals here are trivial for that reason.
#pragma once

#include <Python.h>

#include <memory>
#include <vector>

#include "dispatch.hpp"
#include "graph.hpp"

namespace rocketride {

/// What Python tells of one node: its output lanes, its bound handlers and hooks. References are owned by Program.
struct BoundHandler {
    int lane = -1;
    PyObject* callable = nullptr;  // a function with its owner apart saves a call through the bound method
    PyObject* owner = nullptr;
    std::uint64_t allowed = 0;
};
struct BoundNode {
    std::vector<PyObject*> outs;  // Lane objects
    std::vector<int> out_lanes;
    std::vector<BoundHandler> handlers;
    PyObject* open = nullptr;
    PyObject* flush = nullptr;
    PyObject* close = nullptr;
};

struct ProgramData {
    std::vector<Layout> layouts;
    std::vector<int> layout_of;  // per node, -1: owns no region
    std::vector<BoundNode> nodes;
    std::vector<PyObject*> refs;
    PyObject* instance_type = nullptr;
    int deliveries = 64;
    bool trace = false, payloads = false;
    std::int64_t active = 0;  // flights that are not over
};

struct ProgramObject {
    PyObject_HEAD
    ProgramData* data;
};

struct Span {
    std::int32_t parent;
    std::int32_t node;
    std::int32_t lane;
    Phase phase;
    std::uint8_t status;  // 0 running, 1 ok, 2 failed, 3 stopped
    bool control;
    std::int64_t start, end;  // ns, monotonic
    PyObject* payload;
};

struct FlightObject;

struct InstanceObject {
    PyObject_HEAD
    FlightObject* flight;  // owned
    const SlotPlan* plan;
    PyObject* states;  // dict, made at first use
    PyObject* exits;   // whatever Python keeps to close after the close hook
    std::uint64_t allowed;
    std::int32_t lane;
    Phase phase;
    bool opened;
};

struct Host {
    FlightObject* flight;
    void call(const Target& target, void* payload);
    bool stopped() const;
    void retain(void* payload) { Py_INCREF(static_cast<PyObject*>(payload)); }
    void release(void* payload) { Py_DECREF(static_cast<PyObject*>(payload)); }
};

struct FlightObject {
    PyObject_HEAD
    ProgramObject* program;  // owned
    const Layout* layout;
    InstanceObject** instances;  // owned, one a slot; null once the flight is over
    InstanceObject* current;     // borrowed: whose hook or handler runs
    Delivery<Host>* delivery;
    std::vector<Span>* spans;
    unsigned long thread;
    std::int32_t span;
    bool stopped, ended, counted;
};

extern PyTypeObject* program_type;
extern PyTypeObject* flight_type;
extern PyTypeObject* instance_type;
extern PyObject* entry_stopped;  // the class errors.EntryStopped

PyTypeObject* make_program_type();
PyTypeObject* make_flight_type();
PyTypeObject* make_instance_type();
PyMethodDef* flight_methods();
PyMethodDef* instance_methods();

/// Builds the flat tables of every region. Steals `data`.
PyObject* make_program(const Compiled& compiled, std::unique_ptr<ProgramData> data);

/// Runs one hook or handler of an instance; what it lets out is recorded on the flight, which then stops. True: it returned.
bool attempt(FlightObject* flight, InstanceObject* instance, Phase phase, std::int32_t lane, std::uint64_t allowed, PyObject* callable,
             PyObject* owner, PyObject* payload);
/// Hands the exception that is set to Python, which keeps it as the flight's error or as a note; the entry stops.
/// False: it only unwound an entry that had stopped before.
bool fail_flight(FlightObject* flight, int node, Phase phase, std::int32_t lane);
InstanceObject* make_instance(FlightObject* flight, const SlotPlan* plan);
/// Finds the output lane: by identity, then by name. -1: not declared, -2: an exception is set.
int find_out(const Layout& layout, const SlotPlan& plan, PyObject* lane);
/// Gives a Python subclass descriptors of its own for the native methods: CPython calls a method directly only where its descriptor
/// belongs to the object's exact class.
bool adopt_methods(PyTypeObject* subclass);
void forget_instances(FlightObject* flight);
void drop_spans(FlightObject* flight);
PyObject* flight_spans(PyObject* self, PyObject*);
PyObject* flight_trace_lines(PyObject* self, PyObject* args);

}  // namespace rocketride
