#ifndef CAFFE_UTIL_SHAPE_ONLY_HPP_
#define CAFFE_UTIL_SHAPE_ONLY_HPP_

#include <vector>

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

// Nets for planning: they have every shape and touch neither data sets nor parameter pages.

/// While one exists, GetFiller gives fillers that leave blobs untouched, on this thread. Scopes
/// nest.
class ShapeOnlyScope {
 public:
  ShapeOnlyScope();
  ~ShapeOnlyScope();
  static bool Active();

  DISABLE_COPY_AND_ASSIGN(ShapeOnlyScope);
};

/// Whether layers of this type read data from outside the net: from files, or from the user.
bool ReadsOutside(const string& type);

/// Shapes that the tops of such a layer will have: those of the first record where the source
/// exists, else `data_shape` (channels, height, width) if given, else 3 channels of crop_size. A
/// top after the first is a label: one value for each item. Aborts, naming layer and source, where
/// a shape cannot be found out.
vector<vector<int>> SourceTopShapes(const LayerParameter& layer, const vector<int>& data_shape);

/// `param` (one phase of a net: see Net::FilterNet) with every layer that reads data from outside
/// replaced by a ShapeOnlySource layer with the same tops, and shapes as SourceTopShapes says.
NetParameter WithoutSources(const NetParameter& param, const vector<int>& data_shape);

}  // namespace caffe

#endif  // CAFFE_UTIL_SHAPE_ONLY_HPP_
