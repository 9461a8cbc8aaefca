// SPDX-License-Identifier: MIT
// What belongs to one visible character: the part of Unicode's grapheme cluster rules that ordinary text meets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "marks.hpp"
#include "text.hpp"

namespace rocketride::splitter {

inline bool is_mark(std::uint32_t unit) {
  if (unit < MARKS[0][0]) return false;
  const auto* after = std::upper_bound(std::begin(MARKS), std::end(MARKS), unit,
                                       [](std::uint32_t wanted, const std::uint32_t (&range)[2]) { return wanted < range[0]; });
  return unit <= (*(after - 1))[1];
}

inline bool is_flag(std::uint32_t unit) { return unit >= 0x1f1e6 && unit <= 0x1f1ff; }

/// Whether a cut before text[at] would tear one visible character apart: a letter and its combining marks, conjoining Hangul, emoji
/// sequences with modifiers, selectors and joiners, flags, CR LF.
template <class Unit>
bool divides(const Unit* text, std::size_t length, std::size_t at) {
  if (at == 0 || at >= length) return false;
  constexpr std::uint32_t joiner = 0x200d;
  const std::uint32_t left = text[at - 1], right = text[at];
  if (right < 0x300) return left == '\r' && right == '\n';
  if (right == joiner || (left == joiner && !is_space(right)) || is_mark(right)) return true;
  if ((right >= 0x1f3fb && right <= 0x1f3ff) || (right >= 0xe0020 && right <= 0xe007f) || (right >= 0x1160 && right <= 0x11ff)) return true;
  if (!is_flag(right)) return false;
  std::size_t first = at;
  while (first && is_flag(text[first - 1])) --first;
  return (at - first) % 2 == 1;
}

/// `end`, moved back to where it divides no character; forward where that would leave nothing of text[start:stop].
template <class Unit>
std::size_t whole_end(const Unit* text, std::size_t length, std::size_t start, std::size_t end, std::size_t stop) {
  std::size_t at = end;
  while (at > start && divides(text, length, at)) --at;
  if (at > start) return at;
  while (end < stop && divides(text, length, end)) ++end;
  return end;
}

}  // namespace rocketride::splitter
