#ifndef CAFFE_LAYERS_TEST_EVERY_FORM_HPP_
#define CAFFE_LAYERS_TEST_EVERY_FORM_HPP_

// Checks of losses some of whose bottoms need particular values (labels).

#include "caffe/layers/test/variant_check.hpp"

namespace caffe {

/// Runs CheckVariants on the LayerCase that `make` returns, not set up, with `variants` backward
/// variants. Also checks the gradient of the first value of the first top with respect to the
/// `wanted` bottoms.
template <typename Make>
void CheckEveryVariant(const Make& make, const vector<bool>& wanted, size_t variants,
                       double threshold = 1e-6) {
  CheckVariantsAndGradients(make, wanted, variants, GradientChecker<double>(1e-5, threshold),
                            [&](GradientChecker<double>* checker) {
                              for (size_t b = 0; b < wanted.size(); ++b) {
                                if (!wanted[b]) continue;
                                LayerCase one = make();
                                one.SetUp();
                                checker->CheckGradientSingle(one.layer.get(), one.bottom, one.top,
                                                             static_cast<int>(b), 0, 0);
                              }
                            });
}

inline void Assign(const vector<double>& values, Blob<double>* blob) {
  CHECK_EQ(values.size(), static_cast<size_t>(blob->count()));
  std::copy(values.begin(), values.end(), blob->mutable_cpu_data());
}

inline vector<double> Values(const double* values, int n) {
  return vector<double>(values, values + n);
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_TEST_EVERY_FORM_HPP_
