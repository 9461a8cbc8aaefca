// SPDX-License-Identifier: MIT
// Flight: one entry on its way through one region; opens, feeds, flushes and closes its instances in the compiled order.
#include "py_runtime.hpp"

namespace rocketride {

PyTypeObject* flight_type = nullptr;

namespace {

// The exit stack of one instance, after its close hook; Python keeps and closes it.
void close_exits(FlightObject* flight, InstanceObject* instance) {
    if (!instance->exits) return;
    PyObject* exits = instance->exits;
    instance->exits = nullptr;
    const Phase before = instance->phase;
    instance->phase = Phase::close;
    PyObject* done = PyObject_CallMethod(exits, "close", nullptr);
    instance->phase = before;
    if (!done) fail_flight(flight, instance->plan->node, Phase::close, -1);
    Py_XDECREF(done);
    Py_DECREF(exits);
}

bool open_slot(FlightObject* flight, std::size_t n) {
    InstanceObject* instance = flight->instances[n];
    const SlotPlan& plan = *instance->plan;
    const bool good = !plan.open || attempt(flight, instance, Phase::open, -1, plan.declared, static_cast<PyObject*>(plan.open), nullptr, nullptr);
    if (good) {
        instance->opened = true;
    } else {
        close_exits(flight, instance);
    }
    return !flight->stopped;
}

void uncount(FlightObject* flight) {
    if (flight->counted) --flight->program->data->active;
    flight->counted = false;
}

PyObject* flight_open(PyObject* self, PyObject*) {
    FlightObject* flight = reinterpret_cast<FlightObject*>(self);
    const Layout& layout = *flight->layout;
    if (flight->instances || flight->ended) {
        PyErr_SetString(PyExc_RuntimeError, "Flight.open is called once");
        return nullptr;
    }
    flight->thread = PyThread_get_thread_ident();
    const std::size_t count = layout.slots.size();
    flight->instances = static_cast<InstanceObject**>(PyMem_Calloc(count ? count : 1, sizeof(InstanceObject*)));
    if (!flight->instances) return PyErr_NoMemory();
    for (std::size_t n = 0; n < count; ++n) {
        flight->instances[n] = make_instance(flight, &layout.slots[n]);
        if (!flight->instances[n]) return nullptr;
    }
    if (flight->stopped) Py_RETURN_NONE;  // cancelled before it began
    for (std::size_t n = layout.lane_slots; n < count; ++n) {
        if (!open_slot(flight, n)) Py_RETURN_NONE;
    }
    for (std::size_t n = layout.lane_slots; n-- > 0;) {
        if (!open_slot(flight, n)) Py_RETURN_NONE;
    }
    Py_RETURN_NONE;
}

PyObject* flight_send(PyObject* self, PyObject* const* args, Py_ssize_t n) {
    FlightObject* flight = reinterpret_cast<FlightObject*>(self);
    if (n != 2) {
        PyErr_SetString(PyExc_TypeError, "send takes a lane and a payload");
        return nullptr;
    }
    if (flight->stopped || flight->ended) Py_RETURN_NONE;
    const Layout& layout = *flight->layout;
    const int at = find_out(layout, layout.feed, args[0]);
    if (at == -2) return nullptr;
    if (at == -1) {
        PyObject* done = PyObject_CallMethod(self, "_refuse_send", "O", args[0]);
        flight->stopped = true;
        return done;
    }
    const Out& out = layout.outs[layout.feed.first_out + static_cast<std::uint32_t>(at)];
    const Target* first = layout.targets.data() + out.first;
    Host host{flight};
    flight->delivery->deliver(host, first, first + out.count, args[1], flight->program->data->deliveries);
    if (PyErr_Occurred()) return nullptr;
    Py_RETURN_NONE;
}

/// open, then send each (lane, payload) of a tuple: one call for the whole input of most entries.
PyObject* flight_feed(PyObject* self, PyObject* packets) {
    PyObject* opened = flight_open(self, nullptr);
    if (!opened) return nullptr;
    Py_DECREF(opened);
    const Py_ssize_t count = PyTuple_Check(packets) ? PyTuple_Size(packets) : -1;
    if (count < 0) {
        PyErr_SetString(PyExc_TypeError, "packets are a tuple");
        return nullptr;
    }
    for (Py_ssize_t n = 0; n < count; ++n) {
        PyObject* packet = PyTuple_GetItem(packets, n);
        if (!PyTuple_Check(packet) || PyTuple_Size(packet) != 2) {
            PyErr_Format(PyExc_TypeError, "an input is a packet, as in TEXT(\"abc\"), not %R", packet);
            return nullptr;
        }
        PyObject* const pair[2] = {PyTuple_GetItem(packet, 0), PyTuple_GetItem(packet, 1)};
        PyObject* sent = flight_send(self, pair, 2);
        if (!sent) return nullptr;
        Py_DECREF(sent);
    }
    Py_RETURN_NONE;
}

PyObject* flight_finish(PyObject* self, PyObject*) {
    FlightObject* flight = reinterpret_cast<FlightObject*>(self);
    if (flight->ended || !flight->instances) Py_RETURN_NONE;
    const Layout& layout = *flight->layout;
    const std::size_t count = layout.slots.size();
    const auto flush = [&](std::size_t n) {
        InstanceObject* instance = flight->instances[n];
        const SlotPlan& plan = *instance->plan;
        if (plan.flush) attempt(flight, instance, Phase::flush, -1, plan.declared, static_cast<PyObject*>(plan.flush), nullptr, nullptr);
    };
    for (std::size_t n = 0; n < layout.lane_slots && !flight->stopped; ++n) flush(n);
    for (std::size_t n = count; n-- > layout.lane_slots && !flight->stopped;) flush(n);
    const auto close = [&](std::size_t n) {
        InstanceObject* instance = flight->instances[n];
        if (!instance || !instance->opened) return;
        const SlotPlan& plan = *instance->plan;
        if (plan.close) attempt(flight, instance, Phase::close, -1, 0, static_cast<PyObject*>(plan.close), nullptr, nullptr);
        close_exits(flight, instance);
    };
    for (std::size_t n = 0; n < layout.lane_slots; ++n) close(n);
    for (std::size_t n = count; n-- > layout.lane_slots;) close(n);
    flight->ended = true;
    forget_instances(flight);
    uncount(flight);
    Py_RETURN_NONE;
}

PyObject* flight_stop(PyObject* self, PyObject*) {
    reinterpret_cast<FlightObject*>(self)->stopped = true;
    Py_RETURN_NONE;
}

PyObject* flight_wants(PyObject* self, PyObject* lane) {
    FlightObject* flight = reinterpret_cast<FlightObject*>(self);
    const int at = find_out(*flight->layout, flight->layout->feed, lane);
    if (at == -2) return nullptr;
    return PyBool_FromLong(at >= 0 && flight->layout->outs[flight->layout->feed.first_out + static_cast<std::uint32_t>(at)].count > 0);
}

/// The control instance of a node, or None.
PyObject* flight_control(PyObject* self, PyObject* node) {
    FlightObject* flight = reinterpret_cast<FlightObject*>(self);
    const long n = PyLong_AsLong(node);
    if (n == -1 && PyErr_Occurred()) return nullptr;
    const Layout& layout = *flight->layout;
    if (!flight->instances || n < 0 || static_cast<std::size_t>(n) >= layout.control_slot.size()) Py_RETURN_NONE;
    const int slot = layout.control_slot[static_cast<std::size_t>(n)];
    PyObject* found = slot < 0 ? Py_None : reinterpret_cast<PyObject*>(flight->instances[slot]);
    Py_INCREF(found);
    return found;
}

PyObject* flight_new(PyTypeObject* type, PyObject* args, PyObject*) {
    PyObject *program = nullptr, *ours = nullptr;  // the subclass in Python takes more
    int node = -1;
    if (!PyArg_ParseTuple(args, "O!i|OOO", program_type, &program, &node, &ours, &ours, &ours)) return nullptr;
    ProgramData* data = reinterpret_cast<ProgramObject*>(program)->data;
    if (node < 0 || static_cast<std::size_t>(node) >= data->layout_of.size() || data->layout_of[static_cast<std::size_t>(node)] < 0) {
        PyErr_SetString(PyExc_LookupError, "the node owns no region");
        return nullptr;
    }
    PyObject* self = PyType_GenericAlloc(type, 0);
    if (!self) return nullptr;
    FlightObject* flight = reinterpret_cast<FlightObject*>(self);
    flight->delivery = new Delivery<Host>();
    flight->spans = data->trace ? new std::vector<Span>() : nullptr;
    flight->span = -1;
    flight->layout = &data->layouts[static_cast<std::size_t>(data->layout_of[static_cast<std::size_t>(node)])];
    Py_INCREF(program);
    flight->program = reinterpret_cast<ProgramObject*>(program);
    ++data->active;
    flight->counted = true;
    return self;
}

int flight_traverse(PyObject* self, visitproc visit, void* arg) {
    FlightObject* flight = reinterpret_cast<FlightObject*>(self);
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(reinterpret_cast<PyObject*>(flight->program));
    int failed = 0;
    if (flight->delivery) {
        flight->delivery->each_pending([&](void* payload) {
            if (!failed) failed = visit(static_cast<PyObject*>(payload), arg);
        });
    }
    if (flight->spans) {
        for (const Span& span : *flight->spans) Py_VISIT(span.payload);
    }
    if (flight->instances) {
        for (std::size_t n = 0; n < flight->layout->slots.size(); ++n) Py_VISIT(reinterpret_cast<PyObject*>(flight->instances[n]));
    }
    return failed;
}

int flight_clear(PyObject* self) {
    FlightObject* flight = reinterpret_cast<FlightObject*>(self);
    flight->ended = true;
    Host host{flight};
    if (flight->delivery) flight->delivery->drop(host);
    drop_spans(flight);
    forget_instances(flight);
    return 0;
}

void flight_dealloc(PyObject* self) {
    PyObject_GC_UnTrack(self);
    PyTypeObject* type = Py_TYPE(self);
    FlightObject* flight = reinterpret_cast<FlightObject*>(self);
    flight_clear(self);
    if (flight->program) {
        uncount(flight);
        Py_CLEAR(flight->program);
    }
    delete flight->delivery;
    delete flight->spans;
    reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

PyObject* get_stopped(PyObject* self, void*) { return PyBool_FromLong(reinterpret_cast<FlightObject*>(self)->stopped); }
PyObject* get_ended(PyObject* self, void*) { return PyBool_FromLong(reinterpret_cast<FlightObject*>(self)->ended); }
PyObject* get_thread(PyObject* self, void*) { return PyLong_FromUnsignedLong(reinterpret_cast<FlightObject*>(self)->thread); }
PyObject* get_span(PyObject* self, void*) { return PyLong_FromLong(reinterpret_cast<FlightObject*>(self)->span); }
PyObject* get_deliveries(PyObject* self, void*) {
    const FlightObject* flight = reinterpret_cast<FlightObject*>(self);
    return PyLong_FromUnsignedLongLong(flight->delivery->count);
}
PyObject* get_current(PyObject* self, void*) {
    PyObject* current = reinterpret_cast<PyObject*>(reinterpret_cast<FlightObject*>(self)->current);
    if (!current) Py_RETURN_NONE;
    Py_INCREF(current);
    return current;
}

PyMethodDef methods[] = {
    {"open", flight_open, METH_NOARGS, "open($self, /)\n--\n\nMake and open all instances, on the calling thread; failures are recorded."},
    {"send", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)(void)>(flight_send)), METH_FASTCALL,
     "send($self, lane, payload, /)\n--\n\nFeed the root's output lane; failures inside are recorded."},
    {"feed", flight_feed, METH_O, "feed($self, packets, /)\n--\n\nOpen, then send each packet of a tuple."},
    {"finish", flight_finish, METH_NOARGS, "finish($self, /)\n--\n\nFlush, then close what was opened."},
    {"stop", flight_stop, METH_NOARGS, "stop($self, /)\n--\n\nFrom now on every emit raises EntryStopped."},
    {"wants", flight_wants, METH_O, "wants($self, lane, /)\n--\n\nIs anyone wired to this output of the root?"},
    {"control", flight_control, METH_O, "control($self, node, /)\n--\n\nThe control instance of a node, or None."},
    {"spans", flight_spans, METH_NOARGS,
     "spans($self, /)\n--\n\nTake what was traced: (parent, node, lane, phase, control, status, start ns, end ns, payload)."},
    {"trace_lines", flight_trace_lines, METH_VARARGS,
     "trace_lines($self, id, clock, components, lanes, /)\n--\n\nTake what was traced as JSON lines, without payloads. clock: ns from the "
     "monotonic clock to the epoch; components, lanes: their names as JSON, in bytes."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef members[] = {{"stopped", get_stopped, nullptr, "It failed or was cancelled.", nullptr},
                         {"ended", get_ended, nullptr, "All instances are closed.", nullptr},
                         {"thread", get_thread, nullptr, "Identity of the thread it was opened on.", nullptr},
                         {"span", get_span, nullptr, "Index of the span that is running, -1 if none.", nullptr},
                         {"deliveries", get_deliveries, nullptr, "Handler calls so far.", nullptr},
                         {"current", get_current, nullptr, "The instance whose hook or handler runs, or None.", nullptr},
                         {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(flight_new)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(flight_dealloc)},
                       {Py_tp_traverse, reinterpret_cast<void*>(flight_traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(flight_clear)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, members},
                       {Py_tp_doc, const_cast<char*>("One entry on its way through one region. Python subclasses keep the result.")},
                       {0, nullptr}};
PyType_Spec spec = {"rocketride_core._native.Flight", sizeof(FlightObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE, slots};

}  // namespace

PyTypeObject* make_flight_type() { return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec)); }
PyMethodDef* flight_methods() { return methods; }

void forget_instances(FlightObject* flight) {
    InstanceObject** instances = flight->instances;
    if (!instances) return;
    flight->instances = nullptr;
    for (std::size_t n = 0; n < flight->layout->slots.size(); ++n) {
        InstanceObject* instance = instances[n];
        if (!instance) continue;
        Py_CLEAR(instance->states);
        Py_DECREF(reinterpret_cast<PyObject*>(instance));
    }
    PyMem_Free(instances);
}

}  // namespace rocketride
