#ifndef CAFFE_SYNTHETIC_DATA_HPP_
#define CAFFE_SYNTHETIC_DATA_HPP_

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/source_shapes.hpp"

namespace caffe {

/// Returns `param` (of one or several phases) with every layer that reads data from outside
/// replaced by a DummyData layer. It has the same tops, shapes from SourceTopShapes, and values
/// drawn once from the random stream:
/// - The first top is normal with standard deviation 1.
/// - A later top is a label, an integer in [0, classes). The number of classes is the number of
///   outputs of the layer with weights that leads to the loss or score to which the label goes.
///   Without such a layer all labels are 0.
/// - Any top is a label if a layer reads it as labels, as numbers for Embed, as items or regions
///   (then 0), or as the second bottom of LSTM and RNN (0 or 1), also through layers that only
///   slice or rearrange.
/// - The labels of AnnotatedData hold no box: all values are -1.
///
/// Layers that no rule includes in one of `phases` are unchanged. Aborts, naming the layer, if a
/// shape cannot be determined.
NetParameter WithSyntheticData(const NetParameter& param, const DataShapes& given,
                               const set<Phase>& phases = {TRAIN, TEST});

/// Sets the batch size of every layer that reads data from outside. Returns the number of layers
/// changed: all of them if only shapes matter, otherwise those that have a batch_size.
int SetBatchSize(int batch, bool only_shapes_matter, NetParameter* param);

}  // namespace caffe

#endif  // CAFFE_SYNTHETIC_DATA_HPP_
