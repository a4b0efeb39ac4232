#ifndef CAFFE_LAYERS_POOLING_REGIONS_HPP_
#define CAFFE_LAYERS_POOLING_REGIONS_HPP_

#include <string>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/memory_traits.hpp"

namespace caffe {

/// Describes the bottoms, maps and regions, of a layer that pools regions
/// (kernels/pooling/region_pooling.hpp). Aborts, naming the layer, if their shapes are wrong.
template <typename Dtype>
void CheckRegionShapes(const string& layer, const vector<Blob<Dtype>*>& bottom) {
  CHECK_EQ(bottom[0]->num_axes(), 4)
      << "Layer " << layer << ": the maps must have four axes, not shape "
      << bottom[0]->shape_string() << ".";
  CHECK(bottom[1]->num_axes() >= 2 && bottom[1]->count(1) == 5)
      << "Layer " << layer << ": a region is five values, item, x1, y1, x2 and y2; the regions "
      << "have shape " << bottom[1]->shape_string() << ".";
}

/// Aborts, naming the layer, if a region is in none of `items` items. The regions must be on the
/// host.
template <typename Dtype>
void CheckRegionItems(const string& layer, const Blob<Dtype>& regions, int items) {
  const Dtype* values = regions.cpu_data();
  for (int i = 0; i < regions.shape(0); ++i) {
    const Dtype item = values[i * 5];
    CHECK(item > -1 && item < items) << "Layer " << layer << ": region " << i << " is of item "
                                     << item << ", but must be of 0 to " << items - 1 << ".";
  }
}

/// What the layer reads and writes, except saved values. The regions get no gradient.
inline MemoryTraits RegionTraits(bool wanted) {
  MemoryTraits traits;
  traits.declared = true;
  traits.forward.reads = {BottomData(0), BottomData(1)};
  traits.forward.writes = {TopData(0)};
  if (!wanted) return traits;
  OperandVariant backward;
  backward.reads = {BottomData(1), TopDiff(0)};
  backward.writes = {BottomDiff(0)};
  traits.backward.push_back(backward);
  return traits;
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_POOLING_REGIONS_HPP_
