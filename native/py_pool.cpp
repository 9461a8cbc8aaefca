// SPDX-License-Identifier: MIT
#include "py_pool.hpp"

#include <chrono>
#include <new>

#include "pool.hpp"

namespace rocketride {
namespace {

constexpr double slice = 0.05;  // seconds; the longest a signal has to wait

struct PoolObject {
    PyObject_HEAD
    Pool* pool;
};

Pool& pool_of(PyObject* self) { return *reinterpret_cast<PoolObject*>(self)->pool; }

double seconds_now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// None: no limit. Negative result with an exception set: not a number.
bool read_timeout(PyObject* value, double& timeout) {
    timeout = -1;
    if (value == Py_None) return true;
    timeout = PyFloat_AsDouble(value);
    if (timeout == -1.0 && PyErr_Occurred()) return false;
    if (timeout < 0) timeout = 0;
    return true;
}

enum class Wait { put, take, idle };

PoolStatus wait_once(Pool& pool, Wait what, Ticket& ticket, double timeout) {
    switch (what) {
        case Wait::put:
            return pool.put(ticket, timeout);
        case Wait::take:
            return pool.take(timeout, ticket);
        case Wait::idle:
            break;
    }
    return pool.wait_idle(timeout);
}

// Waits in slices without the GIL. False: a signal handler raised. The locals are trivial: the thread may end in RestoreThread.
bool wait_sliced(Pool& pool, Wait what, Ticket& ticket, double timeout, PoolStatus& status) {
    const double end = timeout < 0 ? 0 : seconds_now() + timeout;
    for (;;) {
        double left = timeout < 0 ? slice : end - seconds_now();
        if (left > slice) left = slice;
        if (left < 0) left = 0;
        PyThreadState* state = PyEval_SaveThread();
        status = wait_once(pool, what, ticket, left);
        PyEval_RestoreThread(state);
        if (PyErr_CheckSignals() < 0) {
            // What this thread took is lost unless it goes back: only workers take, and they get no signals.
            return false;
        }
        if (status != PoolStatus::timed_out || (timeout >= 0 && seconds_now() >= end)) return true;
    }
}

PyObject* pool_new(PyTypeObject* type, PyObject* args, PyObject*) {
    Py_ssize_t capacity = 0;
    if (!PyArg_ParseTuple(args, "n", &capacity)) return nullptr;
    if (capacity < 1) {
        PyErr_SetString(PyExc_ValueError, "a pool queues at least one ticket");
        return nullptr;
    }
    PyObject* self = PyType_GenericAlloc(type, 0);
    if (!self) return nullptr;
    try {
        reinterpret_cast<PoolObject*>(self)->pool = new Pool(static_cast<std::size_t>(capacity));
    } catch (const std::bad_alloc&) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return self;
}

void pool_dealloc(PyObject* self) {
    PyTypeObject* type = Py_TYPE(self);
    delete reinterpret_cast<PoolObject*>(self)->pool;
    reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

/// True: queued. False: no room in time. None: closed.
PyObject* pool_put(PyObject* self, PyObject* const* args, Py_ssize_t n) {
    if (n != 2) {
        PyErr_SetString(PyExc_TypeError, "put takes a ticket and a timeout");
        return nullptr;
    }
    Ticket ticket = PyLong_AsLongLong(args[0]);
    double timeout = 0;
    if ((ticket == -1 && PyErr_Occurred()) || !read_timeout(args[1], timeout)) return nullptr;
    PoolStatus status = PoolStatus::closed;
    if (!wait_sliced(pool_of(self), Wait::put, ticket, timeout, status)) {
        if (status == PoolStatus::ok && !pool_of(self).discard(ticket)) {
            PyErr_Clear();  // a worker has it already: the caller must learn that it is on its way
            Py_RETURN_TRUE;
        }
        return nullptr;
    }
    if (status == PoolStatus::closed) Py_RETURN_NONE;
    return PyBool_FromLong(status == PoolStatus::ok);
}

/// The native worker loop: calls `work(ticket)` for each ticket until the pool is closed and empty, or `work` answers False.
PyObject* pool_work(PyObject* self, PyObject* work) {
    Pool& pool = pool_of(self);
    pool.attach();
    for (;;) {
        Ticket ticket = 0;
        PoolStatus status = PoolStatus::timed_out;
        PyThreadState* state = PyEval_SaveThread();
        while (status == PoolStatus::timed_out) status = pool.take(1.0, ticket);
        PyEval_RestoreThread(state);
        if (status == PoolStatus::closed) break;
        PyObject* number = PyLong_FromLongLong(ticket);
        PyObject* result = number ? PyObject_CallFunctionObjArgs(work, number, nullptr) : nullptr;
        Py_XDECREF(number);
        pool.done();
        if (!result) {
            pool.detach();
            return nullptr;
        }
        const bool leave = result == Py_False;
        Py_DECREF(result);
        if (leave) break;
    }
    pool.detach();
    Py_RETURN_NONE;
}

PyObject* pool_discard(PyObject* self, PyObject* ticket) {
    const Ticket number = PyLong_AsLongLong(ticket);
    if (number == -1 && PyErr_Occurred()) return nullptr;
    return PyBool_FromLong(pool_of(self).discard(number));
}

PyObject* pool_drop(PyObject* self, PyObject*) {
    std::vector<Ticket> tickets;
    try {
        tickets = pool_of(self).drop_queued();
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
    PyObject* list = PyList_New(0);
    for (Ticket ticket : tickets) {
        PyObject* number = list ? PyLong_FromLongLong(ticket) : nullptr;
        if (!number || PyList_Append(list, number) < 0) Py_CLEAR(list);
        Py_XDECREF(number);
        if (!list) break;
    }
    return list;
}

PyObject* pool_close(PyObject* self, PyObject*) {
    pool_of(self).close();
    Py_RETURN_NONE;
}

/// True: nothing is queued or running. False: not in time.
PyObject* pool_drain(PyObject* self, PyObject* limit) {
    double timeout = 0;
    if (!read_timeout(limit, timeout)) return nullptr;
    Ticket none = 0;
    PoolStatus status = PoolStatus::timed_out;
    if (!wait_sliced(pool_of(self), Wait::idle, none, timeout, status)) return nullptr;
    return PyBool_FromLong(status == PoolStatus::ok);
}

PyObject* get_queued(PyObject* self, void*) { return PyLong_FromSize_t(pool_of(self).queued()); }
PyObject* get_running(PyObject* self, void*) { return PyLong_FromSize_t(pool_of(self).running()); }
PyObject* get_idle(PyObject* self, void*) { return PyLong_FromSize_t(pool_of(self).idle()); }
PyObject* get_workers(PyObject* self, void*) { return PyLong_FromSize_t(pool_of(self).workers()); }

PyMethodDef methods[] = {
    {"put", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)(void)>(pool_put)), METH_FASTCALL,
     "put($self, ticket, timeout, /)\n--\n\nQueue a ticket: True; False if there was no room in time; None if the pool is closed."},
    {"work", pool_work, METH_O, "work($self, work, /)\n--\n\nThe worker loop: work(ticket) for each ticket until closed, or until it answers False."},
    {"discard", pool_discard, METH_O, "discard($self, ticket, /)\n--\n\nTake a ticket out of the queue; False if it is not there."},
    {"drop", pool_drop, METH_NOARGS, "drop($self, /)\n--\n\nTake all queued tickets out."},
    {"close", pool_close, METH_NOARGS, "close($self, /)\n--\n\nNo more tickets; workers end when the queue is empty."},
    {"drain", pool_drain, METH_O, "drain($self, timeout, /)\n--\n\nWait until nothing is queued or running; False if not in time."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef members[] = {{"queued", get_queued, nullptr, "Tickets in the queue.", nullptr},
                         {"running", get_running, nullptr, "Tickets being worked on.", nullptr},
                         {"idle", get_idle, nullptr, "Workers that wait for a ticket.", nullptr},
                         {"workers", get_workers, nullptr, "Worker threads in the loop.", nullptr},
                         {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(pool_new)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(pool_dealloc)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, members},
                       {Py_tp_doc, const_cast<char*>("Pool(capacity)\n--\n\nA bounded queue of integer tickets for worker threads.")},
                       {0, nullptr}};
PyType_Spec spec = {"rocketride_core._native.Pool", sizeof(PoolObject), 0, Py_TPFLAGS_DEFAULT, slots};

}  // namespace

PyTypeObject* make_pool_type() { return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec)); }

}  // namespace rocketride
