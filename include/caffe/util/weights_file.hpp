#ifndef CAFFE_UTIL_WEIGHTS_FILE_HPP_
#define CAFFE_UTIL_WEIGHTS_FILE_HPP_

#include <string>

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// Reads the weights of a .caffemodel: the name, type, bottoms, tops and blobs of each layer. All
/// other fields are skipped without parsing, because forks of Caffe give the same field numbers
/// different meanings; these fields are the same in all forks. Layers of old formats are upgraded.
/// The file may be larger than 2 GiB if no layer is. Aborts, naming the file, if it cannot be read
/// or holds no layers.
void ReadWeightsFromBinaryFileOrDie(const string& file, NetParameter* param);

}  // namespace caffe

#endif  // CAFFE_UTIL_WEIGHTS_FILE_HPP_
