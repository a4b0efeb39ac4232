// Joins the boxes of a map that are too small to draw one by one.
#include <algorithm>
#include <tuple>
#include <utility>

#include "layrub/report/map_picture.hpp"

namespace layrub_tool {
namespace {

/// Boxes in a row are not joined if the joined box would be less full.
constexpr double kFilled = 0.6;

double Area(const MapBox& box) {
  return static_cast<double>(box.bytes) * static_cast<double>(box.end - box.begin);
}

double Filled(const MapBox& box) { return box.filled == 0 ? Area(box) : box.filled; }

/// The two boxes joined, without tensors.
MapBox Joined(const MapBox& a, const MapBox& b) {
  const int64_t offset = std::min(a.offset, b.offset);
  return {std::min(a.begin, b.begin),
          std::max(a.end, b.end),
          offset,
          std::max(a.offset + a.bytes, b.offset + b.bytes) - offset,
          {},
          Area(a) < Area(b) ? b.look : a.look,
          Filled(a) + Filled(b)};
}

/// Sorts `boxes` by `key`, and joins each with the one before if `joins(before, box)`.
template <typename Key, typename Joins>
std::vector<MapBox> JoinSorted(std::vector<MapBox> boxes, const Key& key, const Joins& joins) {
  std::stable_sort(boxes.begin(), boxes.end(),
                   [&](const MapBox& a, const MapBox& b) { return key(a) < key(b); });
  std::vector<MapBox> joined;
  for (MapBox& box : boxes) {
    if (!joined.empty() && joins(joined.back(), box)) {
      MapBox both = Joined(joined.back(), box);
      both.tensors = std::move(joined.back().tensors);
      both.tensors.merge(box.tensors);
      joined.back() = std::move(both);
    } else {
      joined.push_back(std::move(box));
    }
  }
  return joined;
}

/// Removes the boxes for which `is_sliver` holds from `boxes` and returns them.
template <typename IsSliver>
std::vector<MapBox> TakeSlivers(std::vector<MapBox>* boxes, const IsSliver& is_sliver) {
  const auto first = std::stable_partition(boxes->begin(), boxes->end(),
                                           [&](const MapBox& box) { return !is_sliver(box); });
  std::vector<MapBox> slivers(first, boxes->end());
  boxes->erase(first, boxes->end());
  return slivers;
}

}  // namespace

std::vector<MapBox> MergeSlivers(const std::vector<MapBox>& boxes, int runs, int64_t bytes) {
  std::vector<MapBox> merged = boxes;
  const auto column = [runs](const MapBox& box) { return box.begin / runs; };
  const std::vector<MapBox> columns = JoinSorted(
      TakeSlivers(&merged, [runs](const MapBox& box) { return box.end - box.begin < runs; }),
      [&](const MapBox& box) { return std::tuple(box.look, column(box), box.offset); },
      [&](const MapBox& before, const MapBox& box) {
        return before.look == box.look && column(before) == column(box) &&
               before.offset + before.bytes >= box.offset;
      });
  merged.insert(merged.end(), columns.begin(), columns.end());
  const auto row = [bytes](const MapBox& box) { return box.offset / bytes; };
  const std::vector<MapBox> rows = JoinSorted(
      TakeSlivers(&merged, [bytes](const MapBox& box) { return box.bytes < bytes; }),
      [&](const MapBox& box) { return std::tuple(row(box), box.begin, box.offset); },
      [&](const MapBox& before, const MapBox& box) {
        if (row(before) != row(box) || before.end <= box.begin) return false;
        const MapBox joined = Joined(before, box);
        return joined.filled > kFilled * Area(joined);
      });
  merged.insert(merged.end(), rows.begin(), rows.end());
  std::stable_sort(merged.begin(), merged.end(),
                   [](const MapBox& a, const MapBox& b) { return a.look < b.look; });
  return merged;
}

}  // namespace layrub_tool
