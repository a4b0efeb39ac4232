#ifndef CAFFE_LAYERS_OUTPUT_TRAITS_HPP_
#define CAFFE_LAYERS_OUTPUT_TRAITS_HPP_

#include <cstdint>

#include "unary_traits.hpp"

namespace caffe {

/// Traits of a layer with one bottom and one top of `bytes` each whose derivative is computed from
/// its output alone. Backward reads the top or, if a later in-place layer has overwritten it, saved
/// buffer 0, a copy of the top.
inline MemoryTraits TraitsFromOutput(int64_t bytes, bool propagate_down) {
  return UnaryTraits(bytes, {"y", bytes}, {{"y", TopData(0)}, {"saved", Saved(0)}}, propagate_down);
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_OUTPUT_TRAITS_HPP_
