#ifndef CAFFE_LAYERS_TEST_EVERY_FORM_HPP_
#define CAFFE_LAYERS_TEST_EVERY_FORM_HPP_

// Checks of a loss whose bottoms need values of their own (labels).

#include "caffe/layers/test/form_check.hpp"
#include "caffe/layers/test/layer_forms.hpp"

namespace caffe {

/// For the layer that `make` gives a LayerCase of, not set up: there are `forms` backward forms,
/// each gives the gradient of the first top's first value with regard to the `wanted` bottoms, all
/// of them the same bits, with all aliases that they allow.
template <typename Make>
void CheckEveryForm(const Make& make, const vector<bool>& wanted, int forms,
                    double threshold = 1e-6) {
  LayerCase all = make();
  CheckForms(all.layer.get(), all.bottom, all.top, wanted, false);
  const MemoryTraits traits = all.layer->Traits(all.bottom, all.top, wanted);
  ASSERT_EQ(traits.backward.size(), static_cast<size_t>(forms));
  for (int form = -1; form < forms; ++form) {
    SCOPED_TRACE(form < 0 ? string("called directly") : "form " + traits.backward[form].name);
    for (size_t b = 0; b < wanted.size(); ++b) {
      if (!wanted[b]) continue;
      LayerCase one = make();
      one.SetUp();
      GradientChecker<double> checker(1e-5, threshold);
      checker.set_form(form);
      checker.CheckGradientSingle(one.layer.get(), one.bottom, one.top, static_cast<int>(b), 0, 0);
    }
  }
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
