#ifndef CAFFE_SOURCE_SHAPES_HPP_
#define CAFFE_SOURCE_SHAPES_HPP_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

// Nets for planning, which have all shapes but open no data sets.

/// Shapes of one item, without the batch axis, given by the user. They override the shapes found in
/// the sources.
struct DataShapes {
  DataShapes() = default;
  /// Gives the first top of every source this shape: channels, height, width.
  DataShapes(vector<int> shape) : first(std::move(shape)) {}  // NOLINT: a shape is one for all

  vector<int> first;
  map<string, vector<int>> tops;  ///< by name of the top; overrides `first`
};

/// The number of boxes per item for which the label of AnnotatedData initially has space.
inline constexpr int kAnnotatedBoxes = 8;

/// Whether the layer reads data from outside the net: from files, from the user, or in an unknown
/// way (a Python layer or an unregistered type, without bottoms).
bool ReadsOutside(const LayerParameter& layer);

/// Whether such a layer has a batch size field.
bool HasBatchSize(const LayerParameter& layer);

/// Returns the shapes of the tops of such a layer. The first top has the shape in `given`,
/// otherwise that of the first record if the source exists, otherwise 3 channels; then it is
/// resized and cropped as the layer says. Each later top is a label, one value per item unless
/// `given` names it. The label of AnnotatedData is (1, 1, boxes, 8), with kAnnotatedBoxes boxes per
/// item or as many as `given` has for it. Aborts, naming the layer, if a shape cannot be
/// determined, or if the layer would reject the record, for example because it is smaller than the
/// crop.
vector<vector<int>> SourceTopShapes(const LayerParameter& layer, const DataShapes& given);

/// Sets the batch size of a layer that reads data from outside.
void SetSourceBatch(int batch, LayerParameter* layer);

/// Whether the layer may be missing in this program: its type is not registered, or has a check
/// (caffe/layer_check.hpp), as Python layers do because their class may be missing.
bool MayBeMissing(const LayerParameter& layer);

/// Returns a copy of `param` in which stand-ins replace layers that may be missing, if `shapes` has
/// the shapes of all their tops, and missing layers without tops. A stand-in has the same tops and
/// cannot run. A plan knows nothing about it: all its operands are kept for its backward, it is
/// never recomputed, and its parameters are not counted. A layer whose type ends in "Loss" gets
/// loss weight 1, unless it has another.
NetParameter WithOpaqueLayers(const NetParameter& param, const map<string, vector<int>>& shapes);

/// Returns `param`, which must be filtered for one phase (Net::FilterNet), with every layer that
/// reads data from outside replaced by a ShapeOnlySource layer with the same tops, and shapes from
/// SourceTopShapes.
NetParameter WithoutSources(const NetParameter& param, const DataShapes& given);

}  // namespace caffe

#endif  // CAFFE_SOURCE_SHAPES_HPP_
