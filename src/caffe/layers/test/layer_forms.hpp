#ifndef CAFFE_LAYERS_TEST_LAYER_FORMS_HPP_
#define CAFFE_LAYERS_TEST_LAYER_FORMS_HPP_

// Runs a layer as a plan would, once with each of its backward forms.

#include <google/protobuf/text_format.h>

#include <string>
#include <vector>

#include "caffe/test/test_gradient_check_util.hpp"

namespace caffe {

inline LayerParameter ParseLayer(const string& text) {
  LayerParameter param;
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &param)) << text;
  return param;
}

/// A layer, its blobs (owned) and how to run it.
class LayerCase {
 public:
  LayerCase(const string& text, const vector<vector<int>>& bottom_shapes, int tops) {
    layer = LayerRegistry<double>::CreateLayer(ParseLayer(text));
    for (const vector<int>& shape : bottom_shapes) {
      bottom.push_back(Own(new Blob<double>(shape)));
      FillAt(bottom.back()->mutable_cpu_data(), bottom.back()->count());
    }
    for (int i = 0; i < tops; ++i) top.push_back(Own(new Blob<double>()));
  }

  void SetUp() { layer->SetUp(bottom, top); }
  MemoryTraits Traits() const {
    return layer->Traits(bottom, top, vector<bool>(bottom.size(), true));
  }

  /// The bottoms' diffs, one after the other, for top diffs 1, 2, 3, ... After SetUp. In place if
  /// top 0 is bottom 0: its input is then restored for the next run.
  vector<double> DiffsOfForm(int form, const vector<bool>& propagate_down) {
    const MemoryTraits traits = layer->Traits(bottom, top, propagate_down);
    const FormBuffers buffers(traits, form);
    const vector<double> input(bottom[0]->cpu_data(), bottom[0]->cpu_data() + bottom[0]->count());
    layer->EnterPlan(buffers.forward());
    layer->Forward(bottom, top);
    outputs.clear();
    for (Blob<double>* blob : top) Append(blob->cpu_data(), blob->count(), &outputs);
    if (traits.repeatable) {
      std::copy(input.begin(), input.end(), bottom[0]->mutable_cpu_data());
      ExpectRepeats(buffers.forward());
    }
    for (Blob<double>* blob : top) {
      for (int i = 0; i < blob->count(); ++i) blob->mutable_cpu_diff()[i] = i + 1;
    }
    vector<double> diffs;
    {
      const HideUndeclaredData<double> hide(traits.backward.at(form), bottom, top, layer->blobs());
      layer->EnterPlan(buffers.backward());
      layer->Backward(top, propagate_down, bottom);
      layer->LeavePlan();
      for (size_t i = 0; i < bottom.size(); ++i) {
        if (propagate_down[i]) Append(bottom[i]->cpu_diff(), bottom[i]->count(), &diffs);
      }
    }
    std::copy(input.begin(), input.end(), bottom[0]->mutable_cpu_data());
    return diffs;
  }
  vector<double> DiffsOfForm(int form) {
    return DiffsOfForm(form, vector<bool>(bottom.size(), true));
  }

  shared_ptr<Layer<double>> layer;
  vector<Blob<double>*> bottom, top;
  vector<double> outputs;  ///< the tops' data after the last DiffsOfForm

 private:
  Blob<double>* Own(Blob<double>* blob) {
    owned_.emplace_back(blob);
    return blob;
  }
  /// A forward that repeats itself gives `outputs` again.
  void ExpectRepeats(LayerRun run) {
    run.recompute = true;
    layer->EnterPlan(run);
    layer->Forward(bottom, top);
    vector<double> again;
    for (Blob<double>* blob : top) Append(blob->cpu_data(), blob->count(), &again);
    EXPECT_EQ(again, outputs) << layer->type() << " does not repeat itself";
  }
  static void Append(const double* values, int n, vector<double>* to) {
    to->insert(to->end(), values, values + n);
  }
  /// Values in [-2, 2], none near another's or near 0, other ones for each blob.
  void FillAt(double* values, int n) {
    for (int i = 0; i < n; ++i) values[i] = (filled_++ % 83 * 7919 % 83 - 41) / 20.5 + 0.011;
  }

  vector<shared_ptr<Blob<double>>> owned_;
  int filled_ = 0;
};

/// Gradient of every form by finite differences, and equal bits of all forms. `kink_range`: inputs
/// this near to 0 are left out.
inline void CheckAllForms(const string& text, const vector<vector<int>>& bottom_shapes, int tops,
                          size_t expected_forms, int check_bottom = -1, double kink_range = -1) {
  LayerCase first(text, bottom_shapes, tops);
  vector<bool> propagate_down(bottom_shapes.size(), check_bottom == -1);
  if (check_bottom >= 0) propagate_down[check_bottom] = true;
  first.SetUp();
  const MemoryTraits traits = first.layer->Traits(first.bottom, first.top, propagate_down);
  ASSERT_EQ(traits.backward.size(), expected_forms) << text;
  const vector<double> expected = first.DiffsOfForm(0, propagate_down);
  const vector<double> outputs = first.outputs;
  for (int form = -1; form < static_cast<int>(expected_forms); ++form) {
    SCOPED_TRACE(text + " form " + (form < 0 ? "none" : traits.backward[form].name));
    LayerCase one(text, bottom_shapes, tops);
    GradientChecker<double> checker(1e-4, 1e-6, 1701, 0., kink_range);
    checker.set_form(form);
    checker.CheckGradientExhaustive(one.layer.get(), one.bottom, one.top, check_bottom);
    if (form < 0) continue;
    LayerCase other(text, bottom_shapes, tops);
    other.SetUp();
    EXPECT_EQ(other.DiffsOfForm(form, propagate_down), expected);
    EXPECT_EQ(other.outputs, outputs);
  }
}

/// In place, every form that reads neither the input nor the output gives the results of a run with
/// separate blobs, and so does a direct call.
inline void CheckInPlace(const string& text, const vector<vector<int>>& bottom_shapes) {
  LayerCase apart(text, bottom_shapes, 1);
  apart.SetUp();
  const vector<double> expected = apart.DiffsOfForm(0);
  const int first_count = apart.bottom[0]->count();
  const vector<double> first(expected.begin(), expected.begin() + first_count);
  const MemoryTraits traits = apart.Traits();
  int checked = 0;
  for (int form = 0; form < static_cast<int>(traits.backward.size()); ++form) {
    const auto& reads = traits.backward[form].reads;
    const auto reads_operand = [&reads](const Operand& operand) {
      return std::count(reads.begin(), reads.end(), operand) > 0;
    };
    if (reads_operand(BottomData(0)) || reads_operand(TopData(0))) continue;
    LayerCase in_place(text, bottom_shapes, 0);
    in_place.top = {in_place.bottom[0]};
    in_place.SetUp();
    EXPECT_EQ(in_place.DiffsOfForm(form), expected) << text << " " << traits.backward[form].name;
    EXPECT_EQ(in_place.outputs, apart.outputs) << text;
    ++checked;
  }
  EXPECT_GT(checked, 0) << text << ": no form for running in place";
  LayerCase direct(text, bottom_shapes, 0);
  direct.top = {direct.bottom[0]};
  direct.SetUp();
  direct.layer->Forward(direct.bottom, direct.top);
  for (int i = 0; i < first_count; ++i) {
    EXPECT_EQ(direct.top[0]->cpu_data()[i], apart.outputs[i]);
    direct.top[0]->mutable_cpu_diff()[i] = i + 1;
  }
  direct.layer->Backward(direct.top, vector<bool>(direct.bottom.size(), true), direct.bottom);
  for (int i = 0; i < first_count; ++i) EXPECT_EQ(direct.bottom[0]->cpu_diff()[i], first[i]);
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_TEST_LAYER_FORMS_HPP_
