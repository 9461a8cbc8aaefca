// SPDX-License-Identifier: MIT
// The module: texts in, chunks out. Where the text is cut, no Python runs.
#include <nanobind/nanobind.h>

#include <memory>
#include <new>

#include "cuts.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace rocketride::splitter;

namespace {

// Below this many characters the work is over sooner than the lock would be had back.
constexpr Py_ssize_t ALONE = 1 << 14;

struct Released {
  void operator()(Py_UCS4* data) const { PyMem_Free(data); }
};
using Copy = std::unique_ptr<Py_UCS4, Released>;

nb::object checked(PyObject* made) {
  if (!made) throw nb::python_error();
  return nb::steal(made);
}

template <class Unit>
Cuts cut_unlocked(const Settings& settings, const void* data, Py_ssize_t length) {
  const auto* units = static_cast<const Unit*>(data);
  if (length < ALONE) return cut(settings, units, static_cast<std::size_t>(length));
  nb::gil_scoped_release released;
  return cut(settings, units, static_cast<std::size_t>(length));
}

Copy copied(PyObject* text) {
  Copy copy(PyUnicode_AsUCS4Copy(text));
  if (!copy) throw nb::python_error();
  return copy;
}

/// The cuts of a text, on the string's own data where Python lets us see it: the stable interface shows that of ASCII texts only.
Cuts cuts_of(const Settings& settings, PyObject* text) {
  const Py_ssize_t length = PyUnicode_GetLength(text);
  if (length < 0) throw nb::python_error();
#ifndef Py_LIMITED_API
#if PY_VERSION_HEX < 0x030c0000
  if (PyUnicode_READY(text) < 0) throw nb::python_error();
#endif
  switch (PyUnicode_KIND(text)) {
    case PyUnicode_1BYTE_KIND:
      return cut_unlocked<std::uint8_t>(settings, PyUnicode_DATA(text), length);
    case PyUnicode_2BYTE_KIND:
      return cut_unlocked<std::uint16_t>(settings, PyUnicode_DATA(text), length);
    default:
      return cut_unlocked<std::uint32_t>(settings, PyUnicode_DATA(text), length);
  }
#else
  const nb::object ascii = checked(PyObject_CallMethod(reinterpret_cast<PyObject*>(&PyUnicode_Type), "isascii", "O", text));
  if (ascii.is(nb::handle(Py_True))) {
    const char* data = PyUnicode_AsUTF8AndSize(text, nullptr);
    if (!data) throw nb::python_error();
    return cut_unlocked<std::uint8_t>(settings, data, length);
  }
  const Copy copy = copied(text);
  return cut_unlocked<std::uint32_t>(settings, copy.get(), length);
#endif
}

nb::object substring(PyObject* text, std::size_t start, std::size_t end) {
  return checked(PyUnicode_Substring(text, static_cast<Py_ssize_t>(start), static_cast<Py_ssize_t>(end)));
}

nb::object text_of(PyObject* text, const Cuts& found, const Cut& cut) {
  if (!cut.count) return substring(text, cut.start, cut.end);
  nb::list parts;
  for (std::size_t i = cut.first; i < cut.first + cut.count; ++i) parts.append(substring(text, found.parts[i].start, found.parts[i].end));
  return nb::str("").attr("join")(parts);
}

template <class Make>
nb::object listed(const Cuts& found, Make make) {
  nb::object made = checked(PyList_New(static_cast<Py_ssize_t>(found.cuts.size())));
  for (std::size_t i = 0; i < found.cuts.size(); ++i)
    if (PyList_SetItem(made.ptr(), static_cast<Py_ssize_t>(i), make(found.cuts[i]).release().ptr()) < 0) throw nb::python_error();
  return made;
}

void make_settings(Settings* place, nb::list separators, std::size_t size, std::size_t overlap, int keep, bool strip, bool whole,
                   double bytes_per_token) {
  if (!size || !separators.size() || keep < 0 || keep > 2) throw nb::value_error("a size of at least 1, a separator, and 0, 1 or 2");
  Settings settings;
  for (nb::handle separator : separators) {
    if (!PyUnicode_Check(separator.ptr())) throw nb::type_error("separators are texts");
    const Copy units = copied(separator.ptr());
    settings.separators.emplace_back(units.get(), units.get() + PyUnicode_GetLength(separator.ptr()));
  }
  settings.size = size;
  settings.overlap = overlap;
  settings.keep = static_cast<Keep>(keep);
  settings.strip = strip;
  settings.whole = whole;
  settings.bytes_per_token = bytes_per_token;
  new (place) Settings(std::move(settings));
}

}  // namespace

NB_MODULE(_native, m) {
  m.doc() = "Cutting texts. Private: use rocketride_splitter.";
  nb::set_leak_warnings(false);

  nb::class_<Settings>(m, "Splitter", "Cuts any number of texts the same way, in any number of threads at once.")
      .def("__init__", &make_settings, "separators"_a, "size"_a, "overlap"_a, "keep"_a, "strip"_a, "whole"_a, "bytes_per_token"_a,
           nb::sig("def __init__(self, separators: list[str], size: int, overlap: int, keep: int, strip: bool, whole: bool, "
                   "bytes_per_token: float) -> None"),
           "keep: 0 separators are left out, 1 they begin a piece, 2 they end one. bytes_per_token: 0 is lengths in characters.")
      .def(
          "texts",
          [](const Settings& settings, nb::str text) {
            const Cuts found = cuts_of(settings, text.ptr());
            return listed(found, [&](const Cut& cut) { return text_of(text.ptr(), found, cut); });
          },
          "text"_a, nb::sig("def texts(self, text: str) -> list[str]"), "The chunks.")
      .def(
          "spans",
          [](const Settings& settings, nb::str text) {
            return listed(cuts_of(settings, text.ptr()), [](const Cut& cut) -> nb::object { return nb::make_tuple(cut.start, cut.end); });
          },
          "text"_a, nb::sig("def spans(self, text: str) -> list[tuple[int, int]]"), "Where each chunk starts and ends.")
      .def(
          "chunks",
          [](const Settings& settings, nb::str text) {
            const Cuts found = cuts_of(settings, text.ptr());
            return listed(
                found, [&](const Cut& cut) -> nb::object { return nb::make_tuple(text_of(text.ptr(), found, cut), cut.start, cut.end); });
          },
          "text"_a, nb::sig("def chunks(self, text: str) -> list[tuple[str, int, int]]"), "The chunks with where they start and end.");
}
