#ifndef CAFFE_TEST_GRADIENT_CHECK_UTIL_H_
#define CAFFE_TEST_GRADIENT_CHECK_UTIL_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "caffe/common.hpp"
#include "caffe/layer.hpp"
#include "caffe/net.hpp"

namespace caffe {

/// Saved buffers and algorithms for calling a layer with a chosen backward variant, as a plan
/// would. All bytes start as NaN; buffers that the variant does not read are null.
class VariantBuffers {
 public:
  VariantBuffers(const MemoryTraits& traits, int variant) {
    forward_.variant = backward_.variant = variant;
    const OperandVariant none;
    const bool has_backward = variant < static_cast<int>(traits.backward.size());
    const OperandVariant& chosen = has_backward ? traits.backward[variant] : none;
    for (size_t k = 0; k < traits.saved.size(); ++k) {
      const Operand operand = Saved(static_cast<int>(k));
      const bool read = std::count(chosen.reads.begin(), chosen.reads.end(), operand) > 0;
      forward_.saved.push_back(read ? Allocate(traits.saved[k].bytes) : nullptr);
    }
    backward_.saved = forward_.saved;
    TakeWorkspace(traits.forward, &forward_);
    TakeWorkspace(chosen, &backward_);
  }

  const LayerRun& forward() const { return forward_; }
  const LayerRun& backward() const { return backward_; }

 private:
  void TakeWorkspace(const OperandVariant& variant, LayerRun* run) {
    const Algorithm algorithm = DirectAlgorithm(variant);
    run->algorithm = algorithm.name;
    run->workspace = Allocate(algorithm.bytes);
  }

  void* Allocate(int64_t bytes) {
    SyncedMemory& memory = *storage_.emplace_back(new SyncedMemory(size_t(bytes) + 1));
    // An all-ones pattern is NaN in float and in double.
    std::fill_n(static_cast<unsigned char*>(memory.mutable_cpu_data()), memory.size(), 0xFF);
    return Caffe::mode() == Caffe::GPU ? memory.mutable_gpu_data() : memory.mutable_cpu_data();
  }

  std::vector<shared_ptr<SyncedMemory>> storage_;
  LayerRun forward_;
  LayerRun backward_;
};

/// Overwrites the bottom, top and parameter data that a backward variant does not read with NaN,
/// and restores them when destroyed. A body that uses data its traits do not declare then gives
/// NaN.
template <typename Dtype>
class HideUndeclaredData {
 public:
  HideUndeclaredData(const OperandVariant& variant, const vector<Blob<Dtype>*>& bottom,
                     const vector<Blob<Dtype>*>& top,
                     const vector<shared_ptr<Blob<Dtype>>>& params) {
    vector<pair<Operand, Blob<Dtype>*>> all;
    for (size_t i = 0; i < bottom.size(); ++i) all.emplace_back(BottomData(i), bottom[i]);
    for (size_t i = 0; i < top.size(); ++i) all.emplace_back(TopData(i), top[i]);
    for (size_t i = 0; i < params.size(); ++i) all.emplace_back(ParamData(i), params[i].get());
    std::set<const Dtype*> visible;
    for (const auto& entry : all) {
      const bool read = std::count(variant.reads.begin(), variant.reads.end(), entry.first) > 0;
      if (read) visible.insert(entry.second->cpu_data());
    }
    for (const auto& entry : all) {
      Blob<Dtype>* blob = entry.second;
      if (blob->count() == 0 || visible.count(blob->cpu_data())) continue;
      hidden_.push_back({blob, {blob->cpu_data(), blob->cpu_data() + blob->count()}});
      std::fill_n(blob->mutable_cpu_data(), blob->count(), std::numeric_limits<Dtype>::quiet_NaN());
    }
  }
  // Last hidden first: blobs may share memory.
  ~HideUndeclaredData() {
    for (auto it = hidden_.rbegin(); it != hidden_.rend(); ++it) {
      std::copy(it->values.begin(), it->values.end(), it->blob->mutable_cpu_data());
    }
  }

 private:
  struct Hidden {
    Blob<Dtype>* blob;
    vector<Dtype> values;
  };
  vector<Hidden> hidden_;

  DISABLE_COPY_AND_ASSIGN(HideUndeclaredData);
};

/// Compares a layer's backward with central differences of its forward.
///
/// `stepsize` is the perturbation, `threshold` the allowed error relative to max(1, |derivative|).
/// Inputs whose absolute value is within `kink_range` of `kink` are not checked. Every forward
/// starts from random seed `seed`. If the environment variable LAYRUB_SAMPLE is set and the mode is
/// GPU, only a few values of each blob are checked, because the CPU checks the same formulas
/// completely.
template <typename Dtype>
class GradientChecker {
 public:
  GradientChecker(const Dtype stepsize, const Dtype threshold, const unsigned int seed = 1701,
                  const Dtype kink = 0., const Dtype kink_range = -1)
      : stepsize_(stepsize),
        threshold_(threshold),
        seed_(seed),
        kink_(kink),
        kink_range_(kink_range) {}

  /// Makes later checks run the layer with this backward variant of its traits, with undeclared
  /// data hidden. -1: call the layer directly.
  void set_variant(int variant) { variant_ = variant; }

  /// Sets the layer up and checks the gradient of half the sum of squares of all tops with regard
  /// to the parameters and bottom `check_bottom` (-1: all bottoms, -2: none).
  void CheckGradient(Layer<Dtype>* layer, const vector<Blob<Dtype>*>& bottom,
                     const vector<Blob<Dtype>*>& top, int check_bottom = -1) {
    layer->SetUp(bottom, top);
    CheckGradientSingle(layer, bottom, top, check_bottom, -1, -1);
  }

  /// Like CheckGradient, for each value of each top in turn.
  void CheckGradientExhaustive(Layer<Dtype>* layer, const vector<Blob<Dtype>*>& bottom,
                               const vector<Blob<Dtype>*>& top, int check_bottom = -1) {
    layer->SetUp(bottom, top);
    CHECK_GT(top.size(), 0) << "An exhaustive check needs at least one top blob.";
    for (size_t i = 0; i < top.size(); ++i) {
      for (int j = 0; j < top[i]->count(); j += Stride(top[i]->count())) {
        CheckGradientSingle(layer, bottom, top, check_bottom, static_cast<int>(i), j);
      }
    }
  }

  /// For layers whose top value j depends on value j of each bottom only.
  void CheckGradientEltwise(Layer<Dtype>* layer, const vector<Blob<Dtype>*>& bottom,
                            const vector<Blob<Dtype>*>& top) {
    layer->SetUp(bottom, top);
    CHECK_EQ(layer->blobs().size(), 0) << "An elementwise check is for layers without parameters.";
    for (size_t i = 0; i < top.size(); ++i) {
      for (int j = 0; j < top[i]->count(); j += Stride(top[i]->count())) {
        CheckGradientSingle(layer, bottom, top, -1, static_cast<int>(i), j, true);
      }
    }
  }

  /// Copies `input` into the net's inputs and checks each layer that has a backward separately,
  /// with the values that reach it: the gradients with respect to its parameters and to the bottoms
  /// that the net propagates to. Overwrites diffs of the net.
  void CheckGradientNet(const Net<Dtype>& net, const vector<Blob<Dtype>*>& input) {
    CHECK_EQ(input.size(), net.input_blobs().size()) << "one blob for each input of the net";
    for (size_t i = 0; i < input.size(); ++i) net.input_blobs()[i]->CopyFrom(*input[i]);
    for (size_t l = 0; l < net.layers().size(); ++l) {
      Layer<Dtype>* const layer = net.layers()[l].get();
      const vector<Blob<Dtype>*>& bottom = net.bottom_vecs()[l];
      const vector<Blob<Dtype>*>& top = net.top_vecs()[l];
      vector<int> checked;
      for (size_t i = 0; i < bottom.size(); ++i) {
        if (net.bottom_need_backward()[l][i]) checked.push_back(static_cast<int>(i));
      }
      if (checked.empty() && net.layer_need_backward()[l]) checked.push_back(-2);
      for (const int bottom_id : checked) {
        SCOPED_TRACE("layer " + net.layer_names()[l]);
        CheckGradientSingle(layer, bottom, top, bottom_id, -1, -1);
      }
      layer->Forward(bottom, top);
    }
  }

  /// Checks a layer that is set up, for value `top_data_id` of top `top_id`, or for half the sum of
  /// squares if `top_id` is negative.
  void CheckGradientSingle(Layer<Dtype>* layer, const vector<Blob<Dtype>*>& bottom,
                           const vector<Blob<Dtype>*>& top, int check_bottom, int top_id,
                           int top_data_id, bool element_wise = false) {
    vector<bool> propagate_down(bottom.size(), check_bottom == -1);
    if (check_bottom >= 0) {
      CHECK_LT(check_bottom, static_cast<int>(bottom.size())) << "no such bottom";
      propagate_down[check_bottom] = true;
    }
    vector<Blob<Dtype>*> checked;
    for (const auto& blob : layer->blobs()) checked.push_back(blob.get());
    for (size_t i = 0; i < bottom.size(); ++i) {
      if (propagate_down[i]) checked.push_back(bottom[i]);
    }
    const vector<vector<Dtype>> computed =
        Derivatives(layer, bottom, top, propagate_down, checked, top_id, top_data_id);
    for (size_t b = 0; b < checked.size(); ++b) {
      const int count = checked[b]->count(), stride = Stride(count);
      for (int i = std::max(0, top_data_id) % stride; i < count; i += stride) {
        const Dtype feature = checked[b]->cpu_data()[i];
        const bool affects = !element_wise || i == top_data_id;
        Dtype estimated = 0;
        if (affects) {
          checked[b]->mutable_cpu_data()[i] = feature + stepsize_;
          const Dtype above = Objective(layer, bottom, top, propagate_down, top_id, top_data_id);
          checked[b]->mutable_cpu_data()[i] = feature - stepsize_;
          const Dtype below = Objective(layer, bottom, top, propagate_down, top_id, top_data_id);
          checked[b]->mutable_cpu_data()[i] = feature;
          estimated = (above - below) / stepsize_ / Dtype(2);
        }
        const Dtype distance = std::fabs(feature);
        if (distance >= kink_ - kink_range_ && distance <= kink_ + kink_range_) continue;
        const Dtype scale =
            std::max(std::max(std::fabs(computed[b][i]), std::fabs(estimated)), Dtype(1));
        EXPECT_NEAR(computed[b][i], estimated, threshold_ * scale)
            << "checked blob " << b << " of " << checked.size() << ", value " << i << " = "
            << feature << "; top " << top_id << ", value " << top_data_id << "; variant "
            << variant_;
      }
    }
  }

 private:
  /// The distance between checked values of a blob with `count` values.
  static int Stride(int count) {
    static const bool sampled = std::getenv("LAYRUB_SAMPLE") != nullptr;
    constexpr int kSample = 6;
    return sampled && Caffe::mode() == Caffe::GPU ? std::max(1, count / kSample) : 1;
  }

  /// Returns the diffs that backward computes for `checked`.
  vector<vector<Dtype>> Derivatives(Layer<Dtype>* layer, const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top,
                                    const vector<bool>& propagate_down,
                                    const vector<Blob<Dtype>*>& checked, int top_id,
                                    int top_data_id) {
    // A gradient that backward leaves unwritten is 0, as in Caffe, but not where traits are
    // checked.
    const Dtype unwritten = variant_ < 0 ? 0 : std::numeric_limits<Dtype>::quiet_NaN();
    for (const auto& blob : layer->blobs()) {
      std::fill_n(blob->mutable_cpu_diff(), blob->count(), Dtype(0));
    }
    for (size_t i = 0; i < bottom.size(); ++i) {
      if (propagate_down[i]) {
        std::fill_n(bottom[i]->mutable_cpu_diff(), bottom[i]->count(), unwritten);
      }
    }
    Caffe::set_random_seed(seed_);
    if (variant_ < 0) {
      layer->Forward(bottom, top);
      SetTopDiffs(top, top_id, top_data_id);
      layer->Backward(top, propagate_down, bottom);
    } else {
      const MemoryTraits traits = layer->Traits(bottom, top, propagate_down);
      CHECK_LT(variant_, static_cast<int>(traits.backward.size()))
          << "no such variant of " << layer->type();
      const VariantBuffers buffers(traits, variant_);
      layer->EnterPlan(buffers.forward());
      layer->Forward(bottom, top);
      SetTopDiffs(top, top_id, top_data_id);
      const HideUndeclaredData<Dtype> hide(traits.backward[variant_], bottom, top, layer->blobs());
      layer->EnterPlan(buffers.backward());
      layer->Backward(top, propagate_down, bottom);
      layer->LeavePlan();
    }
    vector<vector<Dtype>> result;
    for (const Blob<Dtype>* blob : checked) {
      result.emplace_back(blob->cpu_diff(), blob->cpu_diff() + blob->count());
    }
    return result;
  }

  /// Returns the objective's value after a forward.
  Dtype Objective(Layer<Dtype>* layer, const vector<Blob<Dtype>*>& bottom,
                  const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down, int top_id,
                  int top_data_id) {
    Caffe::set_random_seed(seed_);
    if (variant_ < 0) {
      layer->Forward(bottom, top);
    } else {
      const VariantBuffers buffers(layer->Traits(bottom, top, propagate_down), variant_);
      layer->EnterPlan(buffers.forward());
      layer->Forward(bottom, top);
      layer->LeavePlan();
    }
    if (top_id >= 0) return kWeight * top[top_id]->cpu_data()[top_data_id];
    Dtype sum = 0;
    for (const Blob<Dtype>* blob : top) {
      for (int i = 0; i < blob->count(); ++i) sum += blob->cpu_data()[i] * blob->cpu_data()[i];
    }
    return sum / 2;
  }

  /// Sets the top diffs to the derivative of the objective with respect to the tops.
  static void SetTopDiffs(const vector<Blob<Dtype>*>& top, int top_id, int top_data_id) {
    for (Blob<Dtype>* blob : top) {
      if (top_id < 0) {
        std::copy_n(blob->cpu_data(), blob->count(), blob->mutable_cpu_diff());
      } else {
        std::fill_n(blob->mutable_cpu_diff(), blob->count(), Dtype(0));
      }
    }
    if (top_id >= 0) top[top_id]->mutable_cpu_diff()[top_data_id] = kWeight;
  }

  /// Weight of a single top value. It is not 1, to detect a backward that ignores the top's diff.
  static constexpr Dtype kWeight = 2;

  Dtype stepsize_;
  Dtype threshold_;
  unsigned int seed_;
  Dtype kink_;
  Dtype kink_range_;
  int variant_ = -1;
};

}  // namespace caffe

#endif  // CAFFE_TEST_GRADIENT_CHECK_UTIL_H_
