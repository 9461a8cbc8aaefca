// SPDX-License-Identifier: MIT
// The module: graph compile by nanobind (called once a pipeline), the run-time types by the plain C-API (py_*.cpp).
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "graph.hpp"
#include "py_pool.hpp"
#include "py_runtime.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace rocketride;

namespace {

PyObject* own(ProgramData& data, nb::handle object) {
    data.refs.push_back(object.inc_ref().ptr());
    return object.ptr();
}

PyObject* own_hook(ProgramData& data, nb::handle hook) { return hook.is_none() ? nullptr : own(data, hook); }

BoundNode bind_node(ProgramData& data, nb::handle item) {
    BoundNode node;
    const nb::object method_type = nb::module_::import_("types").attr("MethodType");
    for (nb::handle pair : nb::object(item[0])) {
        node.outs.push_back(own(data, pair[0]));
        node.out_lanes.push_back(nb::cast<int>(pair[1]));
    }
    for (nb::handle triple : nb::object(item[1])) {
        nb::object callable = triple[1];
        const bool method = PyObject_TypeCheck(callable.ptr(), reinterpret_cast<PyTypeObject*>(method_type.ptr()));
        PyObject* owner = method ? own(data, callable.attr("__self__")) : nullptr;
        PyObject* function = own(data, method ? nb::object(callable.attr("__func__")) : callable);
        node.handlers.push_back({nb::cast<int>(triple[0]), function, owner, nb::cast<std::uint64_t>(triple[2])});
    }
    node.open = own_hook(data, nb::object(item[2]));
    node.flush = own_hook(data, nb::object(item[3]));
    node.close = own_hook(data, nb::object(item[4]));
    return node;
}

nb::object bind_program(const Compiled& compiled, nb::list nodes, nb::type_object instance, int deliveries, bool trace, bool payloads) {
    auto data = std::make_unique<ProgramData>();
    for (nb::handle node : nodes) data->nodes.push_back(bind_node(*data, node));
    data->instance_type = instance.inc_ref().ptr();
    data->deliveries = deliveries;
    data->trace = trace;
    data->payloads = payloads;
    PyObject* program = make_program(compiled, std::move(data));
    if (!program) throw nb::python_error();
    return nb::steal(program);
}

}  // namespace

NB_MODULE(_native, m) {
    m.doc() = "The native kernel: graph compile, regions and orders, delivery, and the bounded pool. Private: use rocketride_core.";

    // A thread that was given up (a tool over its time limit) may hold objects when the interpreter goes: nothing to report.
    nb::set_leak_warnings(false);

    nb::enum_<Code>(m, "Code")
        .value("port_cycle", Code::port_cycle)
        .value("control_cycle", Code::control_cycle)
        .value("shared_with_main", Code::shared_with_main)
        .value("two_owners", Code::two_owners)
        .value("missing_control", Code::missing_control)
        .value("too_many_controls", Code::too_many_controls)
        .value("reversed_control", Code::reversed_control)
        .value("undeclared_slot", Code::undeclared_slot)
        .value("no_response", Code::no_response)
        .value("ambiguous_source", Code::ambiguous_source)
        .value("silent_undeclared_input", Code::silent_undeclared_input)
        .value("silent_never_emitted", Code::silent_never_emitted)
        .value("unknown_lane", Code::unknown_lane);

    nb::class_<Handler>(m, "Handler").def(nb::init<int, std::vector<int>>(), "lane"_a, "emits"_a);
    nb::class_<Need>(m, "Need").def(nb::init<int, int, int>(), "control"_a, "least"_a, "most"_a);
    nb::class_<NodeDecl>(m, "NodeDecl")
        .def(nb::init<std::vector<Handler>, std::vector<int>, std::vector<Need>, std::vector<int>, bool, bool, bool>(), "on"_a, "emits"_a,
             "needs"_a, "serves"_a, "source"_a, "responds"_a, "stores"_a);
    nb::class_<LaneLink>(m, "LaneLink")
        .def(nb::init<int, int, int>(), "producer"_a, "lane"_a, "consumer"_a)
        .def_ro("producer", &LaneLink::producer)
        .def_ro("lane", &LaneLink::lane)
        .def_ro("consumer", &LaneLink::consumer);
    nb::class_<ControlLink>(m, "ControlLink")
        .def(nb::init<int, int, int>(), "caller"_a, "control"_a, "callee"_a)
        .def_ro("caller", &ControlLink::caller)
        .def_ro("control", &ControlLink::control)
        .def_ro("callee", &ControlLink::callee);
    nb::class_<Diagnostic>(m, "Diagnostic")
        .def_ro("code", &Diagnostic::code)
        .def_ro("error", &Diagnostic::error)
        .def_ro("node", &Diagnostic::node)
        .def_ro("link", &Diagnostic::link)
        .def_ro("lane_or_control", &Diagnostic::lane_or_control)
        .def_ro("nodes", &Diagnostic::nodes)
        .def_ro("lanes", &Diagnostic::lanes)
        .def_ro("count", &Diagnostic::count);
    nb::class_<Region>(m, "Region")
        .def_ro("root", &Region::root)
        .def_ro("flush_order", &Region::flush_order)
        .def_ro("call_order", &Region::call_order);
    nb::class_<Compiled>(m, "Compiled", "The compiled graph: problems, roots, regions and orders; nodes are numbers in file order.")
        .def_ro("problems", &Compiled::problems)
        .def_ro("source", &Compiled::source)
        .def_ro("dependency", &Compiled::dependency)
        .def_ro("starts", &Compiled::starts)
        .def_ro("roots", &Compiled::roots)
        .def_ro("regions", &Compiled::regions)
        .def_ro("region_of", &Compiled::region_of)
        .def_ro("begin_order", &Compiled::begin_order)
        .def_ro("reachable", &Compiled::reachable)
        .def_ro("wired", &Compiled::wired)
        .def("consumers", &Compiled::consumers, "node"_a, "lane"_a)
        .def("callees", &Compiled::callees, "node"_a, "control"_a);

    m.def(
        "compile",
        [](std::vector<NodeDecl> nodes, std::vector<LaneLink> links, std::vector<ControlLink> controls, std::vector<std::string> lane_names,
           int source) { return compile({std::move(nodes), std::move(links), std::move(controls), std::move(lane_names), source}); },
        "nodes"_a, "links"_a, "controls"_a, "lane_names"_a, "source"_a,
        "Compile a graph; never raises for what a user may have written: see `problems`.");
    m.def("bind", &bind_program, "compiled"_a, "nodes"_a, "instance"_a, "deliveries"_a, "trace"_a, "payloads"_a,
          nb::sig("def bind(compiled: Compiled, nodes: list[Any], instance: type[Instance], deliveries: int, trace: bool, payloads: bool) -> Program"),
          "Bind callables to a compiled graph. A node: ([(lane object, lane)], [(lane, callable, allowed output bits)], open, flush, close).");
    m.def(
        "configure", [](nb::type_object stopped) { entry_stopped = stopped.inc_ref().ptr(); }, "entry_stopped"_a,
        "Tell the class that unwinds the handlers of a stopped entry.");

    m.def(
        "adopt",
        [](nb::type_object subclass) {
            if (!adopt_methods(reinterpret_cast<PyTypeObject*>(subclass.ptr()))) throw nb::python_error();
        },
        "subclass"_a, "Make calls of the native methods of a subclass of Flight or Instance as fast as those of the class itself.");

    program_type = make_program_type();
    flight_type = make_flight_type();
    instance_type = make_instance_type();
    PyTypeObject* pool_type = make_pool_type();
    if (!program_type || !flight_type || !instance_type || !pool_type) throw nb::python_error();
    m.attr("Program") = nb::handle(reinterpret_cast<PyObject*>(program_type));
    m.attr("Flight") = nb::handle(reinterpret_cast<PyObject*>(flight_type));
    m.attr("Instance") = nb::handle(reinterpret_cast<PyObject*>(instance_type));
    m.attr("Pool") = nb::steal(reinterpret_cast<PyObject*>(pool_type));
}
