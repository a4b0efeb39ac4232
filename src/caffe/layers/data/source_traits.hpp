#ifndef CAFFE_LAYERS_DATA_SOURCE_TRAITS_HPP_
#define CAFFE_LAYERS_DATA_SOURCE_TRAITS_HPP_

#include "caffe/memory_traits.hpp"

namespace caffe {

/// Traits of a layer without bottoms that copies new values from the host to each of its `tops`
/// tops.
inline MemoryTraits SourceTraits(size_t tops) {
  MemoryTraits traits;
  traits.declared = true;
  traits.repeatable = false;
  traits.fed = true;
  for (size_t i = 0; i < tops; ++i) traits.forward.writes.push_back(TopData(static_cast<int>(i)));
  return traits;
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_DATA_SOURCE_TRAITS_HPP_
