// SPDX-License-Identifier: MIT
#include "cuts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "clusters.hpp"
#include "text.hpp"

namespace rocketride::splitter {

namespace {

struct Piece {
  std::size_t start, end;
  std::size_t before;  // the lengths of the pieces before it
};

template <class Unit>
struct Separator {
  std::vector<Unit> units;
  bool empty = false;
  bool possible = true;  // false: it has a code point that no text of this width holds
};

template <class Unit>
class Cutter {
 public:
  Cutter(const Settings& settings, const Unit* text, std::size_t length) : settings_(settings), text_(text), length_(length) {
    for (const std::u32string& written : settings.separators) {
      Separator<Unit> separator;
      separator.empty = written.empty();
      for (char32_t unit : written) {
        separator.possible = separator.possible && unit <= std::numeric_limits<Unit>::max();
        separator.units.push_back(static_cast<Unit>(unit));
      }
      separators_.push_back(std::move(separator));
    }
    good_.resize(separators_.size());
    if (settings.bytes_per_token > 0) count_bytes();
  }

  Cuts run() {
    if (!length_) return {};
    // All pieces would fit into one chunk. Without separators kept, joining them may change the text.
    if (settings_.keep != Keep::none && width(0, length_) < settings_.size)
      emit(0, length_);
    else
      recurse(0, length_, 0);
    return std::move(found_);
  }

 private:
  void count_bytes() {
    if (std::all_of(text_, text_ + length_, [](Unit unit) { return unit < 0x80; })) return;
    bytes_.reserve(length_ + 1);
    bytes_.push_back(0);
    for (std::size_t at = 0; at < length_; ++at) bytes_.push_back(bytes_.back() + utf8_size(text_[at]));
  }

  std::size_t width(std::size_t start, std::size_t end) const {
    if (settings_.bytes_per_token <= 0) return end - start;
    const std::size_t bytes = bytes_.empty() ? end - start : bytes_[end] - bytes_[start];
    return static_cast<std::size_t>(std::ceil(static_cast<double>(bytes) / settings_.bytes_per_token));
  }

  /// The first place of a separator in [start, end), or `end`.
  std::size_t search(const Separator<Unit>& separator, std::size_t start, std::size_t end) const {
    if (!separator.possible) return end;
    return static_cast<std::size_t>(find(text_ + start, text_ + end, separator.units) - text_);
  }

  void recurse(std::size_t start, std::size_t end, std::size_t level) {
    for (; level < separators_.size(); ++level) {
      if (separators_[level].empty) return hard(start, end);
      const std::size_t hit = search(separators_[level], start, end);
      if (hit < end) return divide(start, end, level, hit);
    }
    if (width(start, end) < settings_.size)
      emit(start, end);
    else
      found_.cuts.push_back({start, end, 0, 0});
  }

  /// A piece as long as a chunk or longer. LangChain strips it only where it is cut further.
  void too_long(std::size_t start, std::size_t end, std::size_t level) {
    if (level + 1 < separators_.size())
      recurse(start, end, level + 1);
    else
      found_.cuts.push_back({start, end, 0, 0});
  }

  void divide(std::size_t start, std::size_t end, std::size_t level, std::size_t hit) {
    const Separator<Unit>& separator = separators_[level];
    const std::size_t size = separator.units.size();
    if (size == 1 && settings_.keep != Keep::none && !settings_.overlap && settings_.bytes_per_token <= 0)
      return stride(start, end, level, separator.units[0]);
    std::vector<Piece>& good = good_[level];
    good.clear();
    std::size_t lengths = 0;
    const auto take = [&](std::size_t from, std::size_t to) {
      if (from == to) return;
      const std::size_t wide = width(from, to);
      if (wide < settings_.size) {
        good.push_back({from, to, lengths});
        lengths += wide;
        return;
      }
      merge(good, size);
      good.clear();
      too_long(from, to, level);
    };
    while (hit < end) {
      take(start, settings_.keep == Keep::end ? hit + size : hit);
      start = settings_.keep == Keep::start ? hit : hit + size;
      hit = search(separator, hit + size, end);
    }
    take(start, end);
    merge(good, size);
  }

  /// Join neighbours as long as they fit; the next chunk starts with as many of the last pieces as the overlap holds.
  void merge(const std::vector<Piece>& pieces, std::size_t gap) {
    const bool kept = settings_.keep != Keep::none;
    const auto joined = [&](std::size_t first, std::size_t last) {  // the length of pieces first..last
      if (kept) return width(pieces[first].start, pieces[last].end);
      const Piece& end = pieces[last];
      return end.before + width(end.start, end.end) - pieces[first].before + gap * (last - first);
    };
    const auto chunk = [&](std::size_t first, std::size_t last) {
      if (kept)
        emit(pieces[first].start, pieces[last].end);
      else
        emit_parts(pieces, first, last, gap);
    };
    std::size_t first = 0;
    for (std::size_t i = 1; i < pieces.size(); ++i) {
      if (first == i || joined(first, i) <= settings_.size) continue;
      chunk(first, i - 1);
      while (first < i && (joined(first, i - 1) > settings_.overlap || joined(first, i) > settings_.size)) ++first;
    }
    if (!pieces.empty()) chunk(first, pieces.size() - 1);
  }

  /// What `divide` comes to with a separator of one unit and no overlap, by looking back from where each chunk must end.
  void stride(std::size_t start, std::size_t end, std::size_t level, Unit unit) {
    const std::size_t after = settings_.keep == Keep::end ? 1 : 0, size = settings_.size;
    const auto last_before = [&](std::size_t from, std::size_t to) {  // the last place for a cut in (from, to]; `from`: none
      while (to > from && text_[to - after] != unit) --to;
      return to;
    };
    while (end - start > size) {
      std::size_t at = last_before(start, start + size);
      if (at == start) {
        const std::size_t from = start + size + 1 - after;
        const std::size_t next = static_cast<std::size_t>(find_unit(text_ + from, text_ + end, unit) - text_);
        at = std::min(next + after, end);
        too_long(start, at, level);
      } else if (at == start + size && last_before(start, at - 1) == start) {
        too_long(start, at, level);
      } else {
        emit(start, at);
      }
      start = at;
    }
    if (end - start == size && last_before(start, end - 1) == start)
      too_long(start, end, level);
    else if (start < end)
      emit(start, end);
  }

  /// Cuts after any character.
  void hard(std::size_t start, std::size_t stop) {
    const bool in_characters = settings_.bytes_per_token <= 0;
    if (settings_.size == 1 && in_characters && !settings_.whole) {
      for (; start < stop; ++start) found_.cuts.push_back({start, start + 1, 0, 0});
      return;
    }
    while (start < stop) {
      std::size_t end = reach(start, stop);
      if (settings_.whole) end = whole_end(text_, length_, start, end, stop);
      emit(start, end);
      if (end == stop) return;
      start = back(start, end);
    }
  }

  /// The last end in (start, stop] within the limit; the first where none is.
  std::size_t reach(std::size_t start, std::size_t stop) const {
    if (settings_.bytes_per_token <= 0) return stop - start > settings_.size ? start + settings_.size : stop;
    std::size_t good = start + 1, bad = stop + 1;
    while (bad - good > 1) {
      const std::size_t middle = good + (bad - good) / 2;
      (width(start, middle) <= settings_.size ? good : bad) = middle;
    }
    return good;
  }

  /// Where the chunk after text[start:end] starts: after `start`, so that the two share at most the overlap.
  std::size_t back(std::size_t start, std::size_t end) const {
    std::size_t at = end;
    if (settings_.bytes_per_token <= 0)
      at = end - std::min(settings_.overlap, end - start - 1);
    else
      while (at - 1 > start && width(at - 1, end) <= settings_.overlap) --at;
    while (settings_.whole && at < end && divides(text_, length_, at)) ++at;
    return at;
  }

  void emit(std::size_t start, std::size_t end) {
    if (settings_.strip) {
      while (start < end && is_space(text_[start])) ++start;
      while (start < end && is_space(text_[end - 1])) --end;
    }
    if (start < end) found_.cuts.push_back({start, end, 0, 0});
  }

  /// Pieces with one separator between each two. Each piece but the last is followed by one in the text, so all are slices.
  void emit_parts(const std::vector<Piece>& pieces, std::size_t first, std::size_t last, std::size_t gap) {
    std::vector<Slice>& parts = found_.parts;
    const std::size_t begin = parts.size();
    for (std::size_t i = first; i <= last; ++i) {
      const Slice slice{pieces[i].start, pieces[i].end + (i < last ? gap : 0)};
      if (parts.size() > begin && parts.back().end == slice.start)
        parts.back().end = slice.end;
      else
        parts.push_back(slice);
    }
    std::size_t from = begin;
    if (settings_.strip) {
      while (from < parts.size() && !trimmed_left(parts[from])) ++from;
      while (parts.size() > from && !trimmed_right(parts.back())) parts.pop_back();
    }
    const std::size_t count = parts.size() - from;
    if (count) found_.cuts.push_back({parts[from].start, parts.back().end, from, count});
    if (count < 2) {
      if (count) found_.cuts.back().count = 0;
      parts.resize(begin);
    }
  }

  bool trimmed_left(Slice& slice) const {
    while (slice.start < slice.end && is_space(text_[slice.start])) ++slice.start;
    return slice.start < slice.end;
  }

  bool trimmed_right(Slice& slice) const {
    while (slice.start < slice.end && is_space(text_[slice.end - 1])) --slice.end;
    return slice.start < slice.end;
  }

  const Settings& settings_;
  const Unit* text_;
  std::size_t length_;
  std::vector<Separator<Unit>> separators_;
  std::vector<std::vector<Piece>> good_;  // by level, so that a long text does not allocate for each piece
  std::vector<std::size_t> bytes_;        // before each unit; empty where they are as many as units
  Cuts found_;
};

}  // namespace

template <class Unit>
Cuts cut(const Settings& settings, const Unit* text, std::size_t length) {
  return Cutter<Unit>(settings, text, length).run();
}

template Cuts cut(const Settings&, const std::uint8_t*, std::size_t);
template Cuts cut(const Settings&, const std::uint16_t*, std::size_t);
template Cuts cut(const Settings&, const std::uint32_t*, std::size_t);

}  // namespace rocketride::splitter
