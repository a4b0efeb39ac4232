#ifndef TOOLS_LAYRUB_REPORT_MAP_PICTURE_HPP_
#define TOOLS_LAYRUB_REPORT_MAP_PICTURE_HPP_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/report/stays.hpp"

namespace layrub_tool {

/// How a box looks. Boxes are drawn in the order of their looks.
struct MapLook {
  bool used = true;    ///< in use, not only held
  bool again = false;  ///< its value was recomputed
  layrub::Role role = layrub::Role::kActivation;

  auto operator<=>(const MapLook&) const = default;
};

/// A box of the map: one tensor in its bytes, or several that are too small to tell apart.
struct MapBox {
  int begin = 0;  ///< the number of runs before it
  int end = 0;
  int64_t offset = 0;
  int64_t bytes = 0;
  std::set<layrub::TensorId> tensors = {};  ///< whose bytes it shows
  MapLook look = {};
  double filled = 0;  ///< of a joined box: the sum of bytes x runs of its parts

  bool operator==(const MapBox&) const = default;
};

/// Joins boxes that are too small to draw one by one: boxes shorter than `runs` runs that start in
/// the same column of `runs` runs and overlap or touch in bytes, and boxes lower than `bytes` bytes
/// that start in the same row of `bytes` bytes and overlap in time. Other boxes do not change.
std::vector<MapBox> MergeSlivers(const std::vector<MapBox>& boxes, int runs, int64_t bytes);

/// A plan to draw.
struct MapPlan {
  std::string strategy;
  Stays stays;
  int64_t device_bytes = 0;
  int64_t host_bytes = 0;
  int64_t spill_bytes = 0;
};

struct MapPicture {
  std::string svg;
  std::set<layrub::TensorId> tensors;  ///< the tensors with a box or an arrow of their own
};

/// The most plans that fit side by side in a map.
size_t MaxPlansPerMap();

/// Draws which bytes hold which tensor during an iteration of `graph`: runs from left to right,
/// addresses upwards, the device above the host, and an arrow between them for each copy. The
/// plans, from one to MaxPlansPerMap, stand side by side on one scale of bytes. Tensors that are
/// held but not in use are faint; recomputed ones have dashed outlines. Paths have the number of
/// their tensor as data-t.
MapPicture DrawMap(const std::string& title, const layrub::Graph& graph,
                   const std::vector<MapPlan>& plans);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_REPORT_MAP_PICTURE_HPP_
