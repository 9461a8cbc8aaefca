// SPDX-License-Identifier: MIT
// Program: the compiled graph with its callables, in flat tables; shared by all entries of a pipeline.
#include "py_runtime.hpp"

namespace rocketride {

PyTypeObject* program_type = nullptr;

namespace {

void add_outs(Layout& layout, SlotPlan& plan, const BoundNode& bound, const Compiled& compiled, const std::vector<BoundNode>& nodes,
              const std::vector<int>& lane_slot) {
    plan.first_out = static_cast<std::uint32_t>(layout.outs.size());
    plan.outs = static_cast<std::uint32_t>(bound.outs.size());
    plan.declared = bound.outs.size() >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bound.outs.size()) - 1;
    for (std::size_t n = 0; n < bound.outs.size(); ++n) {
        Out out;
        out.key = bound.outs[n];
        out.lane = bound.out_lanes[n];
        out.first = static_cast<std::uint32_t>(layout.targets.size());
        for (int consumer : compiled.consumers(plan.node, out.lane)) {
            if (lane_slot[static_cast<std::size_t>(consumer)] < 0) continue;
            for (const BoundHandler& handler : nodes[static_cast<std::size_t>(consumer)].handlers) {
                if (handler.lane != out.lane) continue;
                layout.targets.push_back({lane_slot[static_cast<std::size_t>(consumer)], out.lane, handler.callable, handler.owner, handler.allowed});
            }
        }
        out.count = static_cast<std::uint32_t>(layout.targets.size()) - out.first;
        layout.outs.push_back(out);
    }
}

Layout make_layout(const Region& region, const Compiled& compiled, const std::vector<BoundNode>& nodes) {
    Layout layout;
    layout.root = region.root;
    std::vector<int> lane_slot(nodes.size(), -1);
    if (!region.call_order.empty()) layout.control_slot.assign(nodes.size(), -1);
    const auto add = [&](int node, bool control) {
        const BoundNode& bound = nodes[static_cast<std::size_t>(node)];
        SlotPlan plan;
        plan.node = node;
        plan.control = control;
        plan.open = bound.open;
        plan.flush = bound.flush;
        plan.close = bound.close;
        (control ? layout.control_slot : lane_slot)[static_cast<std::size_t>(node)] = static_cast<int>(layout.slots.size());
        layout.slots.push_back(plan);
    };
    for (int node : region.flush_order) add(node, false);
    layout.lane_slots = layout.slots.size();
    for (int node : region.call_order) add(node, true);
    for (SlotPlan& plan : layout.slots) {
        if (!plan.control) add_outs(layout, plan, nodes[static_cast<std::size_t>(plan.node)], compiled, nodes, lane_slot);
    }
    layout.feed.node = region.root;
    add_outs(layout, layout.feed, nodes[static_cast<std::size_t>(region.root)], compiled, nodes, lane_slot);
    return layout;
}

int program_traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (ProgramData* data = reinterpret_cast<ProgramObject*>(self)->data) {
        for (PyObject* ref : data->refs) Py_VISIT(ref);
        Py_VISIT(data->instance_type);
    }
    return 0;
}

int program_clear(PyObject* self) {
    ProgramData* data = reinterpret_cast<ProgramObject*>(self)->data;
    if (!data || data->active) return 0;  // an entry in flight still calls through these tables
    std::vector<PyObject*> refs;
    refs.swap(data->refs);
    for (Layout& layout : data->layouts) {
        layout.targets.clear();
        layout.outs.clear();
        layout.feed.outs = 0;
        for (SlotPlan& plan : layout.slots) {
            plan.open = plan.flush = plan.close = nullptr;
            plan.outs = 0;
        }
    }
    for (PyObject* ref : refs) Py_DECREF(ref);
    return 0;
}

void program_dealloc(PyObject* self) {
    PyObject_GC_UnTrack(self);
    PyTypeObject* type = Py_TYPE(self);
    ProgramObject* program = reinterpret_cast<ProgramObject*>(self);
    if (program->data) {
        program->data->active = 0;
        program_clear(self);
        Py_XDECREF(program->data->instance_type);
        delete program->data;
    }
    reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

PyObject* program_active(PyObject* self, void*) { return PyLong_FromLongLong(reinterpret_cast<ProgramObject*>(self)->data->active); }

/// Nodes that own a region, with their lane and control slots: ([(node, ...)], [(node, ...)]) or None.
PyObject* program_region(PyObject* self, PyObject* node) {
    const ProgramData& data = *reinterpret_cast<ProgramObject*>(self)->data;
    const long n = PyLong_AsLong(node);
    if (n == -1 && PyErr_Occurred()) return nullptr;
    if (n < 0 || static_cast<std::size_t>(n) >= data.layout_of.size() || data.layout_of[static_cast<std::size_t>(n)] < 0) Py_RETURN_NONE;
    const Layout& layout = data.layouts[static_cast<std::size_t>(data.layout_of[static_cast<std::size_t>(n)])];
    PyObject* lanes = PyList_New(0);
    PyObject* controls = lanes ? PyList_New(0) : nullptr;
    bool good = controls != nullptr;
    for (const SlotPlan& plan : layout.slots) {
        PyObject* id = good ? PyLong_FromLong(plan.node) : nullptr;
        good = id && PyList_Append(plan.control ? controls : lanes, id) == 0;
        Py_XDECREF(id);
        if (!good) break;
    }
    PyObject* result = good ? PyTuple_Pack(2, lanes, controls) : nullptr;
    Py_XDECREF(lanes);
    Py_XDECREF(controls);
    return result;
}

PyMethodDef methods[] = {{"region", program_region, METH_O,
                          "region($self, node, /)\n--\n\nThe nodes of the region that a node owns: lane instances in flush order, control "
                          "instances in opening order; None if it owns none."},
                         {nullptr, nullptr, 0, nullptr}};
PyGetSetDef members[] = {{"active", program_active, nullptr, "Entries in flight.", nullptr}, {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(program_dealloc)},
                       {Py_tp_traverse, reinterpret_cast<void*>(program_traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(program_clear)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, members},
                       {Py_tp_doc, const_cast<char*>("A compiled and bound graph, shared by all entries of a pipeline.")},
                       {0, nullptr}};
PyType_Spec spec = {"rocketride_core._native.Program", sizeof(ProgramObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

PyTypeObject* make_program_type() { return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec)); }

PyObject* make_program(const Compiled& compiled, std::unique_ptr<ProgramData> data) {
    data->layout_of.assign(data->nodes.size(), -1);
    for (const Region& region : compiled.regions) {
        data->layout_of[static_cast<std::size_t>(region.root)] = static_cast<int>(data->layouts.size());
        data->layouts.push_back(make_layout(region, compiled, data->nodes));
    }
    for (std::size_t n = 0; n < data->nodes.size(); ++n) {  // a nested entry may start where nothing is wired, and reaches nothing
        if (compiled.wired[n] || data->layout_of[n] >= 0) continue;
        data->layout_of[n] = static_cast<int>(data->layouts.size());
        data->layouts.push_back(make_layout({static_cast<int>(n), {}, {}}, compiled, data->nodes));
    }
    PyObject* self = PyType_GenericAlloc(program_type, 0);
    if (self) {
        reinterpret_cast<ProgramObject*>(self)->data = data.release();
    }
    return self;
}

}  // namespace rocketride
