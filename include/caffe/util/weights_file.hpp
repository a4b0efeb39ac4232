#ifndef CAFFE_UTIL_WEIGHTS_FILE_HPP_
#define CAFFE_UTIL_WEIGHTS_FILE_HPP_

#include <string>

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// Reads the weights of a .caffemodel: of each layer the name, the type, the bottoms and tops, and
/// the blobs. All else is skipped without a look at it: forks of Caffe give one field number
/// different meanings, but these fields are the same in all of them. Layers of old formats are
/// upgraded. Files may be larger than 2 GiB as long as no layer is. Aborts, naming the file, where
/// it cannot be read or holds no layers.
void ReadWeightsFromBinaryFileOrDie(const string& file, NetParameter* param);

}  // namespace caffe

#endif  // CAFFE_UTIL_WEIGHTS_FILE_HPP_
