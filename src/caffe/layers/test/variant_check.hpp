#ifndef CAFFE_LAYERS_TEST_VARIANT_CHECK_HPP_
#define CAFFE_LAYERS_TEST_VARIANT_CHECK_HPP_

// Checks a layer's gradient and memory traits. Every backward variant gives the gradient. All
// variants give the same bits, also when operands share memory as may_alias allows or the layer
// runs in place. None touches an operand that it does not declare. A repeatable forward gives the
// same results when recomputed.

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "caffe/layer.hpp"
#include "caffe/test/body_memory.hpp"
#include "caffe/test/test_gradient_check_util.hpp"

namespace caffe {

/// The results of one forward and backward.
template <typename Dtype>
struct PassResult {
  vector<vector<Dtype>> top_data, bottom_diff, param_data, param_diff;
  bool operator==(const PassResult& other) const {
    const auto same = [](const vector<vector<Dtype>>& a, const vector<vector<Dtype>>& b) {
      return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
        return x.size() == y.size() &&
               std::memcmp(x.data(), y.data(), x.size() * sizeof(Dtype)) == 0;
      });
    };
    return same(top_data, other.top_data) && same(bottom_diff, other.bottom_diff) &&
           same(param_data, other.param_data) && same(param_diff, other.param_diff);
  }
};

/// Runs a layer that is set up, as a plan does: forward and backward each see operands in separate
/// memory, filled with NaN (all bits set) unless their traits say that the value is read. Layers
/// with views of parameters are not supported.
template <typename Dtype>
class PlannedPass {
 public:
  using AliasPair = std::pair<Operand, Operand>;
  using Blobs = vector<Blob<Dtype>*>;
  /// The initial value of parameter gradients, to which backward must add.
  static constexpr Dtype kGradient = 0.25;
  static constexpr int kDirect = -1;

  /// `bottom` and `top` give shapes, bottom data and top diffs. They are not modified.
  PlannedPass(Layer<Dtype>* layer, const Blobs& bottom, const Blobs& top,
              const vector<bool>& propagate_down)
      : layer_(layer),
        bottom_(bottom),
        top_(top),
        propagate_down_(propagate_down),
        traits_(layer->Traits(bottom, top, propagate_down)) {
    CHECK(traits_.declared && traits_.param_views.empty()) << layer->type();
    // The contents of a view are always present.
    for (const View& view : traits_.data_views)
      traits_.forward.reads.push_back(BottomData(view.bottom));
    for (OperandVariant& variant : traits_.backward) {
      for (const View& view : traits_.diff_views) variant.reads.push_back(TopDiff(view.top));
    }
  }

  const MemoryTraits& traits() const { return traits_; }
  static bool Lists(const vector<Operand>& list, const Operand& operand) {
    return std::find(list.begin(), list.end(), operand) != list.end();
  }

  /// Runs one forward and backward in variant `variant`. A null pair means no alias. Gradients of
  /// parameters begin with kGradient or, if `cleared`, have just been cleared.
  PassResult<Dtype> Run(int variant, const AliasPair* forward_alias,
                        const AliasPair* backward_alias, bool cleared = false) {
    const OperandVariant& backward = traits_.backward.at(variant);
    const vector<vector<Dtype>> params = ParamValues();
    PassResult<Dtype> result;

    Binding at_forward;
    Bind(traits_.forward, forward_alias, &at_forward);
    PutBottoms(traits_.forward, at_forward);
    LayerRun run = Run(traits_.forward, variant);
    for (size_t k = 0; k < traits_.saved.size(); ++k) {
      run.saved.push_back(Lists(backward.reads, Saved(k)) ? at_forward.address[Index(Saved(k))]
                                                          : nullptr);
    }
    layer_->EnterPlan(run);
    layer_->Forward(at_forward.bottoms(), at_forward.tops());
    for (const auto& blob : at_forward.top) result.top_data.push_back(Values(blob.get(), false));
    result.param_data = ParamValues();
    if (traits_.repeatable) ExpectRepeats(at_forward, variant, result);

    Binding at_backward;
    Bind(backward, backward_alias, &at_backward);
    PutBottoms(backward, at_backward);
    for (size_t i = 0; i < top_.size(); ++i) {
      if (Lists(backward.reads, TopData(i)))
        Put(result.top_data[i], at_backward.address[Index(TopData(i))]);
      if (Lists(backward.reads, TopDiff(i)))
        Put(Values(top_[i], true), at_backward.address[Index(TopDiff(i))]);
    }
    run = Run(backward, variant);
    for (size_t k = 0; k < traits_.saved.size(); ++k) {
      const bool read = Lists(backward.reads, Saved(k));
      run.saved.push_back(read ? at_backward.address[Index(Saved(k))] : nullptr);
      if (read) Put(SavedBytes(at_forward, k), run.saved[k]);
    }
    for (size_t i = 0; i < layer_->blobs().size(); ++i) {
      Blob<Dtype>* blob = layer_->blobs()[i].get();
      if (!Lists(backward.reads, ParamData(i)))
        SetNaN(blob->mutable_cpu_data(), blob->count() * sizeof(Dtype));
      std::fill_n(blob->mutable_cpu_diff(), blob->count(), cleared ? Dtype(NAN) : kGradient);
      if (cleared) blob->diff()->SetZero();
    }
    layer_->EnterPlan(run);
    layer_->Backward(at_backward.tops(), propagate_down_, at_backward.bottoms());
    layer_->LeavePlan();
    for (size_t i = 0; i < bottom_.size(); ++i) {
      if (propagate_down_[i])
        result.bottom_diff.push_back(Values(at_backward.bottom[i].get(), true));
    }
    for (const auto& blob : layer_->blobs()) result.param_diff.push_back(Values(blob.get(), true));
    for (size_t i = 0; i < params.size(); ++i)
      Copy(params[i], layer_->blobs()[i]->mutable_cpu_data());
    return result;
  }

  /// Runs one forward and backward with bottom[0] == top[0]. If `overwritten`, their data are NaN
  /// in backward, as if a later in-place layer had changed them. If `variant` is kDirect, the layer
  /// is called directly; else as under a plan, in a variant that reads neither.
  PassResult<Dtype> RunInPlace(int variant, bool overwritten) {
    const vector<vector<Dtype>> params = ParamValues();
    const vector<Dtype> input = Values(bottom_[0], false);
    Blobs bottom = bottom_;
    Blob<Dtype> shared(bottom_[0]->shape());
    bottom[0] = &shared;
    const bool planned = variant != kDirect;
    const VariantBuffers buffers(traits_, planned ? variant : 0);
    const auto forward = [&](bool again) {
      Copy(input, shared.mutable_cpu_data());
      LayerRun run = buffers.forward();
      run.recompute = again;
      if (planned) layer_->EnterPlan(run);
      layer_->Forward(bottom, {&shared});
      PassResult<Dtype> result;
      result.top_data = {Values(&shared, false)};
      result.param_data = ParamValues();
      return result;
    };
    layer_->set_overwritten(vector<bool>(bottom.size(), false), {overwritten});
    PassResult<Dtype> result = forward(false);
    if (planned && traits_.repeatable) {
      EXPECT_TRUE(forward(true) == result) << layer_->type() << " does not repeat itself in place";
    }
    {
      std::optional<HideUndeclaredData<Dtype>> hide;
      if (planned)
        hide.emplace(traits_.backward.at(variant), bottom, Blobs{&shared}, layer_->blobs());
      if (overwritten) SetNaN(shared.mutable_cpu_data(), shared.count() * sizeof(Dtype));
      Copy(Values(top_[0], true), shared.mutable_cpu_diff());
      for (const auto& blob : layer_->blobs())
        std::fill_n(blob->mutable_cpu_diff(), blob->count(), kGradient);
      if (planned) layer_->EnterPlan(buffers.backward());
      layer_->Backward({&shared}, propagate_down_, bottom);
      if (planned) layer_->LeavePlan();
    }
    layer_->set_overwritten({}, {});
    for (size_t i = 0; i < bottom.size(); ++i) {
      if (propagate_down_[i]) result.bottom_diff.push_back(Values(bottom[i], true));
    }
    for (const auto& blob : layer_->blobs()) result.param_diff.push_back(Values(blob.get(), true));
    for (size_t i = 0; i < params.size(); ++i)
      Copy(params[i], layer_->blobs()[i]->mutable_cpu_data());
    return result;
  }

 private:
  /// Blobs over memory that they do not own.
  struct Binding {
    vector<std::unique_ptr<Blob<Dtype>>> bottom, top;
    vector<void*> address;
    Blobs bottoms() const { return Pointers(bottom); }
    Blobs tops() const { return Pointers(top); }
    static Blobs Pointers(const vector<std::unique_ptr<Blob<Dtype>>>& blobs) {
      Blobs pointers;
      for (const auto& blob : blobs) pointers.push_back(blob.get());
      return pointers;
    }
  };

  static void SetNaN(void* memory, size_t bytes) { std::memset(memory, 0xFF, bytes); }
  static void Copy(const vector<Dtype>& from, Dtype* to) {
    std::copy(from.begin(), from.end(), to);
  }
  static void SetAddress(void* address, SyncedMemory* memory) {
    if (DeviceContext::Current().gpu) {
      memory->set_gpu_data(address);
    } else {
      memory->set_cpu_data(address);
    }
  }
  static vector<Dtype> Values(const Blob<Dtype>* blob, bool diff) {
    const Dtype* values = diff ? blob->cpu_diff() : blob->cpu_data();
    return vector<Dtype>(values, values + blob->count());
  }
  vector<vector<Dtype>> ParamValues() const {
    vector<vector<Dtype>> data;
    for (const auto& blob : layer_->blobs()) data.push_back(Values(blob.get(), false));
    return data;
  }

  /// Index in Binding::address of an operand other than a parameter.
  size_t Index(const Operand& operand) const {
    const size_t bottoms = bottom_.size(), tops = top_.size();
    switch (operand.kind) {
      case Operand::kBottomData:
        return operand.index;
      case Operand::kBottomDiff:
        return bottoms + operand.index;
      case Operand::kTopData:
        return 2 * bottoms + operand.index;
      case Operand::kTopDiff:
        return 2 * bottoms + tops + operand.index;
      case Operand::kSaved:
        return 2 * bottoms + 2 * tops + operand.index;
      default:
        LOG(FATAL) << "a parameter never shares bytes";
        return 0;
    }
  }

  void* Allocate(size_t bytes) { return memory_.emplace_back(bytes).address(); }

  /// Copies the bottoms' data, as far as `variant` reads them.
  void PutBottoms(const OperandVariant& variant, const Binding& at) {
    for (size_t i = 0; i < bottom_.size(); ++i) {
      if (Lists(variant.reads, BottomData(i)))
        Put(Values(bottom_[i], false), at.address[Index(BottomData(i))]);
    }
  }
  vector<uint8_t> SavedBytes(const Binding& at, size_t k) const {
    return Get<uint8_t>(at.address[Index(Saved(k))], traits_.saved[k].bytes);
  }

  void Bind(const OperandVariant& variant, const AliasPair* alias, Binding* binding) {
    for (size_t i = 0; i < 2 * bottom_.size(); ++i) {
      binding->address.push_back(Allocate(bottom_[i % bottom_.size()]->count() * sizeof(Dtype)));
    }
    for (size_t i = 0; i < 2 * top_.size(); ++i) {
      binding->address.push_back(Allocate(top_[i % top_.size()]->count() * sizeof(Dtype)));
    }
    for (const SavedBuffer& saved : traits_.saved)
      binding->address.push_back(Allocate(saved.bytes));
    vector<void*>& address = binding->address;
    for (const View& view : traits_.data_views)
      address[Index(TopData(view.top))] = address[Index(BottomData(view.bottom))];
    for (const View& view : traits_.diff_views)
      address[Index(BottomDiff(view.bottom))] = address[Index(TopDiff(view.top))];
    if (alias != nullptr) {
      EXPECT_TRUE(Lists(variant.writes, alias->first) || alias->first.kind == Operand::kSaved)
          << variant.name;
      EXPECT_TRUE(Lists(variant.reads, alias->second)) << variant.name;
      binding->address[Index(alias->first)] = binding->address[Index(alias->second)];
    }
    const auto make = [&](const Blob<Dtype>& like, const Operand& data, const Operand& diff) {
      auto blob = std::make_unique<Blob<Dtype>>(like.shape());
      SetAddress(binding->address[Index(data)], blob->data().get());
      SetAddress(binding->address[Index(diff)], blob->diff().get());
      return blob;
    };
    for (size_t i = 0; i < bottom_.size(); ++i) {
      binding->bottom.push_back(make(*bottom_[i], BottomData(i), BottomDiff(i)));
    }
    for (size_t i = 0; i < top_.size(); ++i)
      binding->top.push_back(make(*top_[i], TopData(i), TopDiff(i)));
  }

  /// Checks that the forward that gave `result` gives the same tops and saved buffers when
  /// recomputed, and leaves the parameters alone.
  void ExpectRepeats(const Binding& first, int variant, const PassResult<Dtype>& result) {
    Binding again;
    Bind(traits_.forward, nullptr, &again);
    PutBottoms(traits_.forward, again);
    LayerRun run = Run(traits_.forward, variant);
    run.recompute = true;
    const auto saves = [&](size_t k) {
      return Lists(traits_.backward.at(variant).reads, Saved(static_cast<int>(k)));
    };
    for (size_t k = 0; k < traits_.saved.size(); ++k)
      run.saved.push_back(saves(k) ? again.address[Index(Saved(k))] : nullptr);
    layer_->EnterPlan(run);
    layer_->Forward(again.bottoms(), again.tops());
    PassResult<Dtype> repeated;
    for (const auto& blob : again.top) repeated.top_data.push_back(Values(blob.get(), false));
    repeated.param_data = ParamValues();
    EXPECT_TRUE(repeated == result) << layer_->type() << " does not repeat itself";
    for (size_t k = 0; k < traits_.saved.size(); ++k) {
      if (!saves(k)) continue;
      EXPECT_EQ(SavedBytes(again, k), SavedBytes(first, k))
          << layer_->type()
          << " saves other values when it repeats itself: " << traits_.saved[k].name;
    }
  }

  LayerRun Run(const OperandVariant& operands, int variant) {
    const Algorithm algorithm = DirectAlgorithm(operands);
    LayerRun run;
    run.variant = variant;
    run.algorithm = algorithm.name;
    run.workspace = Allocate(algorithm.bytes);
    return run;
  }

  Layer<Dtype>* layer_;
  Blobs bottom_, top_;
  vector<bool> propagate_down_;
  MemoryTraits traits_;
  std::list<BodyMemory> memory_;
};

/// Sets the layer up and compares with the first variant without aliases, bit by bit: all of its
/// backward variants, every alias they allow and, if `in_place`, passes with bottom[0] == top[0],
/// called directly and in each variant that reads neither.
template <typename Dtype>
void CheckVariants(Layer<Dtype>* layer, const vector<Blob<Dtype>*>& bottom,
                   const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                   bool in_place) {
  layer->SetUp(bottom, top);
  for (size_t i = 0; i < top.size(); ++i) {
    for (int j = 0; j < top[i]->count(); ++j)
      top[i]->mutable_cpu_diff()[j] = Dtype((j * 37 + 11) % 23 - 11) / 7;
  }
  PlannedPass<Dtype> pass(layer, bottom, top, propagate_down);
  const PassResult<Dtype> expected = pass.Run(0, nullptr, nullptr);
  for (const auto& diff : expected.bottom_diff) {
    EXPECT_TRUE(std::none_of(diff.begin(), diff.end(), [](Dtype v) { return std::isnan(v); }))
        << layer->type()
        << " reads what its first variant does not declare, or leaves values unwritten";
  }
  const vector<vector<Dtype>> cleared = pass.Run(0, nullptr, nullptr, true).param_diff;
  for (size_t i = 0; i < cleared.size(); ++i) {
    for (size_t j = 0; j < cleared[i].size(); ++j) {
      const Dtype added = expected.param_diff[i][j] - PlannedPass<Dtype>::kGradient;
      ASSERT_NEAR(cleared[i][j], added, 1e-5 * (1 + std::abs(added)))
          << layer->type() << ": parameter " << i << ", value " << j << " of a cleared gradient";
    }
  }
  const MemoryTraits& traits = pass.traits();
  for (size_t variant = 0; variant < traits.backward.size(); ++variant) {
    const string& name = traits.backward[variant].name;
    const vector<Operand>& reads = traits.backward[variant].reads;
    EXPECT_TRUE(pass.Run(variant, nullptr, nullptr) == expected)
        << layer->type() << ", variant " << name;
    for (const auto& alias : traits.forward.may_alias) {
      if (alias.first.kind == Operand::kSaved && !pass.Lists(reads, alias.first)) continue;
      EXPECT_TRUE(pass.Run(variant, &alias, nullptr) == expected)
          << layer->type() << ", variant " << name << ", forward alias";
    }
    for (const auto& alias : traits.backward[variant].may_alias) {
      EXPECT_TRUE(pass.Run(variant, nullptr, &alias) == expected)
          << layer->type() << ", variant " << name << ", alias on operand kind "
          << int{alias.second.kind};
    }
  }
  if (!in_place) return;
  for (const bool overwritten : {false, true}) {
    EXPECT_TRUE(pass.RunInPlace(pass.kDirect, overwritten) == expected)
        << layer->type() << " in place" << (overwritten ? ", overwritten by a later layer" : "");
  }
  int variants = 0;
  for (size_t variant = 0; variant < traits.backward.size(); ++variant) {
    const vector<Operand>& reads = traits.backward[variant].reads;
    if (pass.Lists(reads, BottomData(0)) || pass.Lists(reads, TopData(0))) continue;
    EXPECT_TRUE(pass.RunInPlace(static_cast<int>(variant), true) == expected)
        << layer->type() << " in place, variant " << traits.backward[variant].name;
    ++variants;
  }
  EXPECT_GT(variants, 0) << layer->type() << ": no variant for running in place";
}

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

  /// The bottoms' diffs, concatenated, for top diffs 1, 2, 3, ... Call SetUp first.
  vector<double> DiffsOfVariant(int variant, const vector<bool>& propagate_down) {
    for (Blob<double>* blob : top) {
      for (int i = 0; i < blob->count(); ++i) blob->mutable_cpu_diff()[i] = i + 1;
    }
    PlannedPass<double> pass(layer.get(), bottom, top, propagate_down);
    const PassResult<double> result = pass.Run(variant, nullptr, nullptr);
    outputs = Joined(result.top_data);
    return Joined(result.bottom_diff);
  }
  vector<double> DiffsOfVariant(int variant) {
    return DiffsOfVariant(variant, vector<bool>(bottom.size(), true));
  }

  shared_ptr<Layer<double>> layer;
  vector<Blob<double>*> bottom, top;
  vector<double> outputs;  ///< the tops' data after the last DiffsOfVariant

 private:
  Blob<double>* Own(Blob<double>* blob) {
    owned_.emplace_back(blob);
    return blob;
  }
  static vector<double> Joined(const vector<vector<double>>& parts) {
    vector<double> all;
    for (const vector<double>& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  }
  /// Fills in values in [-2, 2], different for each blob, none close to another or to 0.
  void FillAt(double* values, int n) {
    for (int i = 0; i < n; ++i) values[i] = (filled_++ % 83 * 7919 % 83 - 41) / 20.5 + 0.011;
  }

  vector<shared_ptr<Blob<double>>> owned_;
  int filled_ = 0;
};

/// Runs CheckVariants on the LayerCase that `make` returns, not set up, with `variants` backward
/// variants. Calls `check_gradient` with a checker for direct calls and for each variant.
template <typename Make, typename CheckGradient>
void CheckVariantsAndGradients(const Make& make, const vector<bool>& wanted, size_t variants,
                               GradientChecker<double> checker,
                               const CheckGradient& check_gradient) {
  LayerCase all = make();
  CheckVariants(all.layer.get(), all.bottom, all.top, wanted, false);
  const MemoryTraits traits = all.layer->Traits(all.bottom, all.top, wanted);
  ASSERT_EQ(traits.backward.size(), variants);
  for (int variant = -1; variant < static_cast<int>(variants); ++variant) {
    SCOPED_TRACE(variant < 0 ? string("called directly")
                             : "variant " + traits.backward[variant].name);
    checker.set_variant(variant);
    check_gradient(&checker);
  }
}

/// Checks the gradient of every variant by finite differences, and runs CheckVariants. Inputs
/// within `kink_range` of 0 are left out.
inline void CheckAllVariants(const string& text, const vector<vector<int>>& bottom_shapes, int tops,
                             size_t expected_variants, int check_bottom = -1,
                             double kink_range = -1) {
  SCOPED_TRACE(text);
  vector<bool> wanted(bottom_shapes.size(), check_bottom == -1);
  if (check_bottom >= 0) wanted[check_bottom] = true;
  const auto make = [&] { return LayerCase(text, bottom_shapes, tops); };
  CheckVariantsAndGradients(
      make, wanted, expected_variants, GradientChecker<double>(1e-4, 1e-6, 1701, 0., kink_range),
      [&](GradientChecker<double>* checker) {
        LayerCase one = make();
        checker->CheckGradientExhaustive(one.layer.get(), one.bottom, one.top, check_bottom);
      });
}

/// Runs CheckVariants, also in place.
inline void CheckInPlace(const string& text, const vector<vector<int>>& bottom_shapes) {
  SCOPED_TRACE(text);
  const LayerCase one(text, bottom_shapes, 1);
  CheckVariants(one.layer.get(), one.bottom, one.top, vector<bool>(bottom_shapes.size(), true),
                true);
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_TEST_VARIANT_CHECK_HPP_
