#ifndef CAFFE_SOURCE_SHAPES_HPP_
#define CAFFE_SOURCE_SHAPES_HPP_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

// Nets for planning: they have every shape and touch no data set.

/// Shapes of one item, without the batch, that a user gives; they win over what sources tell.
struct DataShapes {
  DataShapes() = default;
  /// The first top of every source has this shape: channels, height, width.
  DataShapes(vector<int> shape) : first(std::move(shape)) {}  // NOLINT: a shape is one for all

  vector<int> first;
  map<string, vector<int>> tops;  ///< by name; wins over `first`
};

/// Of an item: for so many boxes the label of AnnotatedData has room at first.
inline constexpr int kAnnotatedBoxes = 8;

/// Whether the layer reads data from outside the net: from files, from the user, or in a way that
/// is not known here (a Python layer, or a type that is not registered, without bottoms).
bool ReadsOutside(const LayerParameter& layer);

/// Whether such a layer has a batch size that it reads by.
bool HasBatchSize(const LayerParameter& layer);

/// Shapes that the tops of such a layer will have: what `given` has for the top, else those of the
/// first record where the source exists, else 3 channels; all of this resized and cropped as
/// the layer says. A top after the first is a label, one value for each item unless `given` names
/// it. The label of AnnotatedData is (1, 1, boxes, 8), with kAnnotatedBoxes for each item or as
/// many as `given` has for it. Aborts, naming the layer, where a shape cannot be found out, or the
/// layer would not take the record, as one that is smaller than its crop.
vector<vector<int>> SourceTopShapes(const LayerParameter& layer, const DataShapes& given);

/// Sets the batch size of a layer that reads data from outside.
void SetSourceBatch(int batch, LayerParameter* layer);

/// Whether this program may lack the layer: its type is not registered, or has a check of its own
/// (caffe/layer_check.hpp), as Python layers, whose class may not be there.
bool MayBeMissing(const LayerParameter& layer);

/// A copy of `param` in which stand-ins take the place of layers that may be missing, where
/// `shapes` has the shapes of all their tops, and of layers without tops that are missing. A
/// stand-in has these tops and cannot run. A plan knows nothing of it: all its operands stay for
/// its backward, it never runs twice, and its parameters do not count. A layer whose type ends in
/// "Loss" gets the loss weight 1, unless it has another.
NetParameter WithOpaqueLayers(const NetParameter& param, const map<string, vector<int>>& shapes);

/// `param` (one phase of a net: see Net::FilterNet) with every layer that reads data from outside
/// replaced by a ShapeOnlySource layer with the same tops, and shapes as SourceTopShapes says.
NetParameter WithoutSources(const NetParameter& param, const DataShapes& given);

}  // namespace caffe

#endif  // CAFFE_SOURCE_SHAPES_HPP_
