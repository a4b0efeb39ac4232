#ifndef LAYRUB_PLACEMENT_SEARCH_SEARCH_OPTIONS_HPP_
#define LAYRUB_PLACEMENT_SEARCH_SEARCH_OPTIONS_HPP_

#include <cstdint>

namespace layrub {

/// What `auto` searches with. Parts are left out to measure what they bring
/// (bench/ablate_auto.py); by default all are in.
struct SearchOptions {
  uint32_t seed = 5489;           ///< of the local search
  bool policies = true;           ///< the other strategies' decisions are candidates
  bool presets = true;            ///< eviction goes by several presets, not by one
  bool rematerialization = true;  ///< what eviction gives up may be computed again
  bool link_clock = true;    ///< a copy costs what it makes others wait, not what it takes alone
  bool local_search = true;  ///< the best candidates are changed, one thing at a time
  bool partial_eviction = true;  ///< in that, tensors may leave in part
  bool slack = true;             ///< its results are packed with some of the room left free, too
};

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_SEARCH_SEARCH_OPTIONS_HPP_
