#ifndef CAFFE_LAYERS_DETECTION_TEST_DETECTION_INPUTS_HPP_
#define CAFFE_LAYERS_DETECTION_TEST_DETECTION_INPUTS_HPP_

#include <memory>
#include <vector>

#include "caffe/layers/test/layer_test_util.hpp"

namespace caffe {

using Blobs = vector<Blob<double>*>;

/// Boxes in the format of PriorBox, with variances 0.1, 0.1, 0.2, 0.2.
inline std::unique_ptr<Blob<double>> Priors(vector<double> corners) {
  const size_t count = corners.size();
  for (size_t i = 0; i < count; ++i) corners.push_back(i % 4 < 2 ? 0.1 : 0.2);
  return BlobOf({1, 2, static_cast<int>(count)}, corners);
}

/// The quarters of the image.
inline const vector<double> kQuarters = {0, 0,   0.5, 0.5, 0.5, 0,   1, 0.5,
                                         0, 0.5, 0.5, 1,   0.5, 0.5, 1, 1};

}  // namespace caffe

#endif  // CAFFE_LAYERS_DETECTION_TEST_DETECTION_INPUTS_HPP_
