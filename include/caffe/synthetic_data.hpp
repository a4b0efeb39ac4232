#ifndef CAFFE_SYNTHETIC_DATA_HPP_
#define CAFFE_SYNTHETIC_DATA_HPP_

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/source_shapes.hpp"

namespace caffe {

/// `param` (phases mixed or not) with every layer that reads data from outside replaced by a
/// DummyData layer with the same tops, shapes as SourceTopShapes finds them, and values that are
/// drawn once from the stream of random numbers. The first top is normal with deviation 1; a later
/// top is a label, a whole number from 0 to the classes of the net less 1. The classes are the
/// outputs of the layer with weights that leads to the loss or score which the label goes to;
/// without one, all labels are 0. What a layer reads as labels, as numbers for Embed, as items or
/// regions (which are then 0), or as the second bottom of LSTM and RNN (0 or 1) is of that kind
/// whichever top it is, also behind layers that only cut or rearrange. AnnotatedData has labels of
/// no box: all values are -1. Layers that no rule includes in one of `phases` stay as they are.
/// Aborts, naming the layer, where a shape cannot be found out.
NetParameter WithSyntheticData(const NetParameter& param, const DataShapes& given,
                               const set<Phase>& phases = {TRAIN, TEST});

/// Sets the batch size of every layer that reads data from outside. Returns how many obey: all of
/// them where only shapes matter, else those that have a batch_size.
int SetBatchSize(int batch, bool only_shapes_matter, NetParameter* param);

}  // namespace caffe

#endif  // CAFFE_SYNTHETIC_DATA_HPP_
