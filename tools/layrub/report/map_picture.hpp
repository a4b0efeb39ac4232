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

/// How a box looks. The first are drawn first.
struct MapLook {
  bool used = true;    ///< not only held
  bool again = false;  ///< what it holds was computed again
  layrub::Role role = layrub::Role::kActivation;

  auto operator<=>(const MapLook&) const = default;
};

/// A box of the map: one tensor in its bytes, or several that are too small to tell apart.
struct MapBox {
  int begin = 0;  ///< runs before
  int end = 0;
  int64_t offset = 0;
  int64_t bytes = 0;
  std::set<layrub::TensorId> tensors = {};  ///< that it holds
  MapLook look = {};
  double filled = 0;  ///< of a joined box: bytes x runs of what is in it

  bool operator==(const MapBox&) const = default;
};

/// Joins those shorter than `runs` runs that overlap or touch in bytes within a column of so many
/// runs, and those lower than `bytes` bytes that overlap in time within a row of so many bytes.
/// Nothing else changes.
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
  std::set<layrub::TensorId> tensors;  ///< that have a box or an arrow of their own
};

/// So many plans have room side by side in a map.
size_t MostPlansOfAMap();

/// A picture of which bytes hold which tensor while an iteration of `graph` runs: runs from left to
/// right, addresses upwards, the device's tier above the host's, and arrows between them where
/// tensors are copied. The plans, from one to MostPlansOfAMap, stand side by side, on one scale of
/// bytes. Faint is what is held but not in use; dashed outlines are around what was computed again.
/// Paths have the number of their tensor as data-t.
MapPicture DrawMap(const std::string& title, const layrub::Graph& graph,
                   const std::vector<MapPlan>& plans);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_REPORT_MAP_PICTURE_HPP_
