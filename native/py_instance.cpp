// SPDX-License-Identifier: MIT
// Instance: one node working on one entry. `emit` and `state` are the hot path; the rest of its methods are Python.
#include "py_runtime.hpp"

namespace rocketride {

PyTypeObject* instance_type = nullptr;

namespace {

// Which rule an emit or a state breaks; Python words the error.
enum class Refusal { ended = 0, control = 1, undeclared = 2, thread = 3, state = 4 };

PyObject* refuse(InstanceObject* self, Refusal reason, PyObject* what) {
    PyObject* error = PyObject_CallMethod(reinterpret_cast<PyObject*>(self), "_refused", "iO", static_cast<int>(reason), what);
    if (error) {
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error)), error);
        Py_DECREF(error);
    }
    return nullptr;
}

PyObject* unwind() {
    PyErr_SetNone(entry_stopped);
    return nullptr;
}

PyObject* instance_emit(PyObject* object, PyObject* const* args, Py_ssize_t n) {
    InstanceObject* self = reinterpret_cast<InstanceObject*>(object);
    FlightObject* flight = self->flight;
    if (n != 2) {
        PyErr_SetString(PyExc_TypeError, "emit takes a lane and a payload: instance.emit(TEXT, \"abc\")");
        return nullptr;
    }
    if (flight->ended || (self->phase == Phase::close && !flight->stopped)) return refuse(self, Refusal::ended, args[0]);
    if (self->plan->control) return flight->stopped ? unwind() : refuse(self, Refusal::control, args[0]);
    if (flight->thread != PyThread_get_thread_ident()) return refuse(self, Refusal::thread, args[0]);
    if (flight->stopped) return unwind();
    const Layout& layout = *flight->layout;
    const int at = find_out(layout, *self->plan, args[0]);
    if (at == -2) return nullptr;
    if (at < 0 || !(self->allowed >> at & 1)) return refuse(self, Refusal::undeclared, args[0]);
    const Out& out = layout.outs[self->plan->first_out + static_cast<std::uint32_t>(at)];
    const Target* first = layout.targets.data() + out.first;
    Host host{flight};
    if (!flight->delivery->deliver(host, first, first + out.count, args[1], flight->program->data->deliveries)) return unwind();
    Py_RETURN_NONE;
}

PyObject* instance_state(PyObject* object, PyObject* cls) {
    InstanceObject* self = reinterpret_cast<InstanceObject*>(object);
    if (self->flight->ended) return refuse(self, Refusal::state, cls);
    if (!self->plan->control && self->flight->thread != PyThread_get_thread_ident()) return refuse(self, Refusal::thread, cls);
    if (!self->states && !(self->states = PyDict_New())) return nullptr;
    PyObject* found = PyDict_GetItemWithError(self->states, cls);
    if (found) {
        Py_INCREF(found);
        return found;
    }
    if (PyErr_Occurred()) return nullptr;
    PyObject* made = PyObject_CallNoArgs(cls);
    if (!made) return nullptr;
    // Making it may have run Python: two threads of a control instance keep the first.
    PyObject* states = self->states;
    if (!states) return made;
    Py_INCREF(states);
    found = PyDict_GetItemWithError(states, cls);
    if (found) {
        Py_INCREF(found);
        Py_DECREF(made);
        made = found;
    } else if (PyErr_Occurred() || PyDict_SetItem(states, cls, made) < 0) {
        Py_CLEAR(made);
    }
    Py_DECREF(states);
    return made;
}

PyObject* instance_wants(PyObject* object, PyObject* lane) {
    InstanceObject* self = reinterpret_cast<InstanceObject*>(object);
    const Layout& layout = *self->flight->layout;
    const int at = find_out(layout, *self->plan, lane);
    if (at == -2) return nullptr;
    return PyBool_FromLong(at >= 0 && layout.outs[self->plan->first_out + static_cast<std::uint32_t>(at)].count > 0);
}

int instance_traverse(PyObject* object, visitproc visit, void* arg) {
    InstanceObject* self = reinterpret_cast<InstanceObject*>(object);
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(reinterpret_cast<PyObject*>(self->flight));
    Py_VISIT(self->states);
    Py_VISIT(self->exits);
    return 0;
}

int instance_clear(PyObject* object) {
    InstanceObject* self = reinterpret_cast<InstanceObject*>(object);
    Py_CLEAR(self->states);
    Py_CLEAR(self->exits);
    return 0;  // the flight stays: methods of an instance that outlives its entry still look at it
}

void instance_dealloc(PyObject* object) {
    PyObject_GC_UnTrack(object);
    PyTypeObject* type = Py_TYPE(object);
    instance_clear(object);
    Py_CLEAR(reinterpret_cast<InstanceObject*>(object)->flight);
    reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

PyObject* get_flight(PyObject* object, void*) {
    PyObject* flight = reinterpret_cast<PyObject*>(reinterpret_cast<InstanceObject*>(object)->flight);
    Py_INCREF(flight);
    return flight;
}
PyObject* get_node(PyObject* object, void*) { return PyLong_FromLong(reinterpret_cast<InstanceObject*>(object)->plan->node); }
PyObject* get_control(PyObject* object, void*) { return PyBool_FromLong(reinterpret_cast<InstanceObject*>(object)->plan->control); }
PyObject* get_phase(PyObject* object, void*) { return PyLong_FromLong(static_cast<long>(reinterpret_cast<InstanceObject*>(object)->phase)); }
PyObject* get_lane(PyObject* object, void*) { return PyLong_FromLong(reinterpret_cast<InstanceObject*>(object)->lane); }
PyObject* get_exits(PyObject* object, void*) {
    PyObject* exits = reinterpret_cast<InstanceObject*>(object)->exits;
    if (!exits) Py_RETURN_NONE;
    Py_INCREF(exits);
    return exits;
}
int set_exits(PyObject* object, PyObject* value, void*) {
    InstanceObject* self = reinterpret_cast<InstanceObject*>(object);
    PyObject* before = self->exits;
    self->exits = value == Py_None ? nullptr : value;
    Py_XINCREF(self->exits);
    Py_XDECREF(before);
    return 0;
}

PyMethodDef methods[] = {
    {"emit", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)(void)>(instance_emit)), METH_FASTCALL,
     "emit($self, lane, payload, /)\n--\n\nDeliver a payload to all consumers of a lane, depth first, before this returns."},
    {"state", instance_state, METH_O, "state($self, cls, /)\n--\n\nWhat belongs to this entry: cls() on first use, one per class."},
    {"wants", instance_wants, METH_O, "wants($self, lane, /)\n--\n\nIs anyone wired to this output lane?"},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef members[] = {{"flight", get_flight, nullptr, nullptr, nullptr},
                         {"index", get_node, nullptr, nullptr, nullptr},
                         {"_control", get_control, nullptr, nullptr, nullptr},
                         {"_phase", get_phase, nullptr, nullptr, nullptr},
                         {"_lane", get_lane, nullptr, nullptr, nullptr},
                         {"_exits", get_exits, set_exits, nullptr, nullptr},
                         {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(instance_dealloc)},
                       {Py_tp_traverse, reinterpret_cast<void*>(instance_traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(instance_clear)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, members},
                       {Py_tp_doc, const_cast<char*>("One node working on one entry.")},
                       {0, nullptr}};
PyType_Spec spec = {"rocketride_core._native.Instance", sizeof(InstanceObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE, slots};

}  // namespace

PyTypeObject* make_instance_type() { return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec)); }
PyMethodDef* instance_methods() { return methods; }

bool adopt_methods(PyTypeObject* subclass) {
    PyMethodDef* own = PyType_IsSubtype(subclass, instance_type) ? instance_methods() : flight_methods();
    for (; own->ml_name; ++own) {
        PyObject* method = PyDescr_NewMethod(subclass, own);
        const bool good = method && PyObject_SetAttrString(reinterpret_cast<PyObject*>(subclass), own->ml_name, method) == 0;
        Py_XDECREF(method);
        if (!good) return false;
    }
    return true;
}

InstanceObject* make_instance(FlightObject* flight, const SlotPlan* plan) {
    PyTypeObject* type = reinterpret_cast<PyTypeObject*>(flight->program->data->instance_type);
    InstanceObject* self = reinterpret_cast<InstanceObject*>(PyType_GenericAlloc(type, 0));
    if (!self) return nullptr;
    Py_INCREF(reinterpret_cast<PyObject*>(flight));
    self->flight = flight;
    self->plan = plan;
    self->lane = -1;
    return self;
}

int find_out(const Layout& layout, const SlotPlan& plan, PyObject* lane) {
    const Out* outs = layout.outs.data() + plan.first_out;
    for (std::uint32_t n = 0; n < plan.outs; ++n) {
        if (outs[n].key == lane) return static_cast<int>(n);
    }
    for (std::uint32_t n = 0; n < plan.outs; ++n) {  // another object of the same name is the same lane
        const int same = PyObject_RichCompareBool(static_cast<PyObject*>(outs[n].key), lane, Py_EQ);
        if (same < 0) return -2;
        if (same) return static_cast<int>(n);
    }
    return -1;
}

}  // namespace rocketride
