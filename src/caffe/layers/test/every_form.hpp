#ifndef CAFFE_LAYERS_TEST_EVERY_FORM_HPP_
#define CAFFE_LAYERS_TEST_EVERY_FORM_HPP_

// Checks of a loss whose bottoms need values of their own (labels).

#include "caffe/layers/test/form_check.hpp"

namespace caffe {

/// CheckForms for the layer that `make` gives a LayerCase of, not set up, with `forms` backward
/// forms; and the gradient of the first top's first value with regard to the `wanted` bottoms.
template <typename Make>
void CheckEveryForm(const Make& make, const vector<bool>& wanted, size_t forms,
                    double threshold = 1e-6) {
  CheckFormsAndGradients(make, wanted, forms, GradientChecker<double>(1e-5, threshold),
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
