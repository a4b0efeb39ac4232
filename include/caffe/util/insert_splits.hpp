#ifndef CAFFE_UTIL_INSERT_SPLITS_HPP_
#define CAFFE_UTIL_INSERT_SPLITS_HPP_

#include <string>

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// Copies the net and inserts a Split layer after each top that several bottoms read (a loss weight
/// counts as a reader), so that every blob has one reader and gradients are summed in one place.
/// The top's loss weight moves to the first top of its Split. Aborts if no earlier layer writes a
/// bottom.
void InsertSplits(const NetParameter& param, NetParameter* param_split);

/// Sets `split_layer_param` to the Split of top `blob_idx`, named `blob_name`, of layer
/// `layer_name`.
void ConfigureSplitLayer(const string& layer_name, const string& blob_name, const int blob_idx,
                         const int split_count, const float loss_weight,
                         LayerParameter* split_layer_param);

string SplitLayerName(const string& layer_name, const string& blob_name, const int blob_idx);

string SplitBlobName(const string& layer_name, const string& blob_name, const int blob_idx,
                     const int split_idx);

}  // namespace caffe

#endif  // CAFFE_UTIL_INSERT_SPLITS_HPP_
