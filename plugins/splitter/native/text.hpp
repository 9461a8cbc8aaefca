// SPDX-License-Identifier: MIT
// A text as CPython holds it: an array of units of one, two or four bytes, each a whole code point.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace rocketride::splitter {

/// What `str.isspace` and `str.strip` take as white space.
inline bool is_space(std::uint32_t unit) {
  if (unit <= 0x20) return (unit >= 0x09 && unit <= 0x0d) || unit >= 0x1c;
  if (unit < 0x85) return false;
  return unit == 0x85 || unit == 0xa0 || unit == 0x1680 || (unit >= 0x2000 && unit <= 0x200a) || unit == 0x2028 || unit == 0x2029 ||
         unit == 0x202f || unit == 0x205f || unit == 0x3000;
}

/// Bytes of a code point in UTF-8; a lone surrogate counts as the three that it would take.
inline std::size_t utf8_size(std::uint32_t unit) { return unit < 0x80 ? 1 : unit < 0x800 ? 2 : unit < 0x10000 ? 3 : 4; }

/// The first place of `unit` in [from, to), or `to`.
template <class Unit>
const Unit* find_unit(const Unit* from, const Unit* to, Unit unit) {
  if constexpr (sizeof(Unit) == 1) {
    const void* found = from == to ? nullptr : std::memchr(from, unit, static_cast<std::size_t>(to - from));
    return found ? static_cast<const Unit*>(found) : to;
  } else {
    // Blocks without an early exit, which the compiler turns into vector instructions.
    constexpr std::ptrdiff_t block = 32;
    while (to - from >= block) {
      unsigned hits = 0;
      for (std::ptrdiff_t i = 0; i < block; ++i) hits += from[i] == unit;
      if (hits) break;
      from += block;
    }
    while (from != to && *from != unit) ++from;
    return from;
  }
}

/// The first place of `wanted` in [from, to), or `to`. `wanted` is not empty.
template <class Unit>
const Unit* find(const Unit* from, const Unit* to, const std::vector<Unit>& wanted) {
  const std::size_t more = wanted.size() - 1;
  if (static_cast<std::size_t>(to - from) <= more) return to;
  const Unit* const last = to - more;
  while (true) {
    from = find_unit(from, last, wanted[0]);
    if (from == last) return to;
    if (!more || std::memcmp(from + 1, wanted.data() + 1, more * sizeof(Unit)) == 0) return from;
    ++from;
  }
}

}  // namespace rocketride::splitter
