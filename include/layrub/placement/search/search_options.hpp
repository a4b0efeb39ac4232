#ifndef LAYRUB_PLACEMENT_SEARCH_SEARCH_OPTIONS_HPP_
#define LAYRUB_PLACEMENT_SEARCH_SEARCH_OPTIONS_HPP_

#include <cstdint>

namespace layrub {

/// Options of the `auto` search. Parts of it can be left out to measure what they contribute
/// (bench/ablate_auto.py); by default all are in.
struct SearchOptions {
  uint32_t seed = 5489;           ///< of the local search
  bool policies = true;           ///< the choices of the other strategies are candidates
  bool presets = true;            ///< eviction tries several presets instead of one
  bool rematerialization = true;  ///< evicted tensors may be recomputed
  bool link_clock = true;        ///< a copy costs the stalls it causes, not the time it takes alone
  bool local_search = true;      ///< the best candidates are changed, one detail at a time
  bool partial_eviction = true;  ///< the local search may evict tensors in part
  bool slack = true;  ///< its results are also packed with some of the capacity left free
};

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_SEARCH_SEARCH_OPTIONS_HPP_
