#ifndef CAFFE_LAYERS_SHAPE_ROW_NUMBERS_HPP_
#define CAFFE_LAYERS_SHAPE_ROW_NUMBERS_HPP_

#include <string>

#include "caffe/blob.hpp"

namespace caffe {

/// Aborts, naming the layer, if a value of `numbers` is not the index of one of `rows` rows
/// (kernels/shape/rows.hpp). `numbers` must be on the host.
template <typename Dtype>
void CheckRowNumbers(const string& layer, const Blob<Dtype>& numbers, int rows) {
  const Dtype* values = numbers.cpu_data();
  for (int i = 0; i < numbers.count(); ++i) {
    CHECK(values[i] > -1 && values[i] < rows)
        << "Layer " << layer << ": value " << i << " of its list of numbers is " << values[i]
        << ", but must be 0 to " << rows - 1 << ".";
  }
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_SHAPE_ROW_NUMBERS_HPP_
