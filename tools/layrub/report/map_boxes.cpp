// What of a map is too small to be drawn by itself.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "layrub/report/map_picture.hpp"

namespace layrub_tool {
namespace {

void Join(const MapBox& more, MapBox* box) {
  const int64_t end = std::max(box->offset + box->bytes, more.offset + more.bytes);
  box->offset = std::min(box->offset, more.offset);
  box->bytes = end - box->offset;
  box->count += more.count;
  box->tensor = layrub::kNone;
}

bool ByPlace(const MapBox& a, const MapBox& b) {
  return std::tie(a.begin, a.end, a.offset, a.bytes) < std::tie(b.begin, b.end, b.offset, b.bytes);
}

/// Those that are shorter than `runs`, in columns of so many runs.
std::vector<MapBox> MergeShort(const std::vector<MapBox>& boxes, int runs) {
  std::vector<MapBox> merged, short_ones;
  for (MapBox box : boxes) {
    if (box.end - box.begin >= runs) {
      merged.push_back(box);
      continue;
    }
    box.begin = box.begin / runs * runs;
    box.end = box.begin + runs;
    short_ones.push_back(box);
  }
  std::sort(short_ones.begin(), short_ones.end(), ByPlace);
  const size_t first = merged.size();
  for (const MapBox& box : short_ones) {
    if (merged.size() > first) {
      MapBox& last = merged.back();
      if (last.begin == box.begin && last.offset + last.bytes >= box.offset) {
        Join(box, &last);
        continue;
      }
    }
    merged.push_back(box);
  }
  return merged;
}

}  // namespace

std::vector<MapBox> MergeSlivers(std::vector<MapBox> boxes, int runs, double bytes) {
  if (runs > 1) boxes = MergeShort(boxes, runs);
  std::sort(boxes.begin(), boxes.end(), ByPlace);
  std::vector<MapBox> merged;
  for (const MapBox& box : boxes) {
    if (!merged.empty() && static_cast<double>(box.bytes) < bytes) {
      MapBox& last = merged.back();
      const bool low = last.count > 1 || static_cast<double>(last.bytes) < bytes;
      const bool same_time = last.begin == box.begin && last.end == box.end;
      if (low && same_time && last.offset + last.bytes == box.offset) {
        Join(box, &last);
        continue;
      }
    }
    merged.push_back(box);
  }
  return merged;
}

}  // namespace layrub_tool
