#ifndef CAFFE_LAYERS_TEST_LAYER_TEST_UTIL_HPP_
#define CAFFE_LAYERS_TEST_LAYER_TEST_UTIL_HPP_

#include <google/protobuf/text_format.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// The layer that `text`, the inside of a `layer { }`, describes.
inline shared_ptr<Layer<double>> MakeLayer(const string& text, Phase phase = TRAIN) {
  LayerParameter param;
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &param)) << text;
  param.set_phase(phase);
  return LayerRegistry<double>::CreateLayer(param);
}

/// A blob of independent normal values, different for each seed.
inline std::unique_ptr<Blob<double>> RandomBlob(const vector<int>& shape, unsigned seed) {
  auto blob = std::make_unique<Blob<double>>(shape);
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  for (int i = 0; i < blob->count(); ++i) blob->mutable_cpu_data()[i] = normal(generator);
  return blob;
}

/// A blob of the given values.
inline std::unique_ptr<Blob<double>> BlobOf(const vector<int>& shape,
                                            const vector<double>& values) {
  auto blob = std::make_unique<Blob<double>>(shape);
  CHECK_EQ(static_cast<size_t>(blob->count()), values.size());
  std::copy(values.begin(), values.end(), blob->mutable_cpu_data());
  return blob;
}

inline vector<double> DataOf(const Blob<double>& blob) {
  return vector<double>(blob.cpu_data(), blob.cpu_data() + blob.count());
}

inline vector<double> DiffOf(const Blob<double>& blob) {
  return vector<double>(blob.cpu_diff(), blob.cpu_diff() + blob.count());
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_TEST_LAYER_TEST_UTIL_HPP_
