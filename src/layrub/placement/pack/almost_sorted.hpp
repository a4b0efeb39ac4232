#ifndef LAYRUB_PLACEMENT_PACK_ALMOST_SORTED_HPP_
#define LAYRUB_PLACEMENT_PACK_ALMOST_SORTED_HPP_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace layrub::placement::pack {

/// Sorts by key(value), equal ones in no particular order: by insertion, in linear time where
/// everything is near its place, and in general no slower than std::sort by much.
template <typename Value, typename Key>
void SortAlmostSorted(std::vector<Value>* values, Key key) {
  constexpr size_t kMovesEach = 8;
  size_t moves = kMovesEach * values->size();
  for (auto next = values->begin(); next != values->end(); ++next) {
    const Value value = *next;
    const int64_t own = key(value);
    auto place = next;
    for (; place != values->begin() && own < key(*(place - 1)) && moves > 0; --place, --moves) {
      *place = *(place - 1);
    }
    *place = value;
    if (moves > 0) continue;
    std::sort(values->begin(), values->end(),
              [&key](const Value& a, const Value& b) { return key(a) < key(b); });
    return;
  }
}

}  // namespace layrub::placement::pack

#endif  // LAYRUB_PLACEMENT_PACK_ALMOST_SORTED_HPP_
