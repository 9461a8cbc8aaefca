// SPDX-License-Identifier: MIT
// Where to cut a text: the cuts of LangChain's RecursiveCharacterTextSplitter. Knows no Python.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rocketride::splitter {

enum class Keep { none, start, end };

struct Settings {
  std::vector<std::u32string> separators;  // best first; "" stands for a cut after any character
  std::size_t size = 1;
  std::size_t overlap = 0;
  Keep keep = Keep::start;
  bool strip = true;
  bool whole = false;          // a cut after any character tears no visible one apart
  double bytes_per_token = 0;  // 0: lengths are in characters
};

struct Slice {
  std::size_t start, end;
};

/// A chunk: text[start:end], or, where repeated separators are left out of it, the `count` parts from `first` on, joined.
struct Cut {
  std::size_t start, end, first, count;
};

struct Cuts {
  std::vector<Cut> cuts;
  std::vector<Slice> parts;
};

/// Unit is uint8_t, uint16_t or uint32_t.
template <class Unit>
Cuts cut(const Settings& settings, const Unit* text, std::size_t length);

}  // namespace rocketride::splitter
