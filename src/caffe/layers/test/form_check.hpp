#ifndef CAFFE_LAYERS_TEST_FORM_CHECK_HPP_
#define CAFFE_LAYERS_TEST_FORM_CHECK_HPP_

// Proves a layer's gradient and memory traits: every backward form gives the gradient, all of them
// the same bits, also when operands share bytes as may_alias allows or the layer runs in place, and
// touches nothing that it does not declare; a repeatable forward repeats itself.

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

/// What one forward and backward give.
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

/// Runs a layer that is set up the way a plan does: forward and backward each see operands in
/// memory of their own, filled with NaN (all bits set) unless their traits say that the value is
/// read. Layers with views of parameters are not supported.
template <typename Dtype>
class PlannedPass {
 public:
  using AliasPair = std::pair<Operand, Operand>;
  using Blobs = vector<Blob<Dtype>*>;
  /// What gradients of parameters are before: they must be added to.
  static constexpr Dtype kGradient = 0.25;
  static constexpr int kDirect = -1;

  /// `bottom` and `top` give shapes, bottom data and top diffs; they are left as they are.
  PlannedPass(Layer<Dtype>* layer, const Blobs& bottom, const Blobs& top,
              const vector<bool>& propagate_down)
      : layer_(layer),
        bottom_(bottom),
        top_(top),
        propagate_down_(propagate_down),
        traits_(layer->Traits(bottom, top, propagate_down)) {
    CHECK(traits_.declared && traits_.param_views.empty()) << layer->type();
    // What a view shows is there.
    for (const View& view : traits_.data_views)
      traits_.forward.reads.push_back(BottomData(view.bottom));
    for (OperandForm& form : traits_.backward) {
      for (const View& view : traits_.diff_views) form.reads.push_back(TopDiff(view.top));
    }
  }

  const MemoryTraits& traits() const { return traits_; }
  static bool Lists(const vector<Operand>& list, const Operand& operand) {
    return std::find(list.begin(), list.end(), operand) != list.end();
  }

  /// One forward and backward in form `form`; a pair of null is for no alias. Gradients of
  /// parameters begin with kGradient or, if `cleared`, have just been cleared.
  PassResult<Dtype> Run(int form, const AliasPair* forward_alias, const AliasPair* backward_alias,
                        bool cleared = false) {
    const OperandForm& backward = traits_.backward.at(form);
    const vector<vector<Dtype>> params = ParamValues();
    PassResult<Dtype> result;

    Binding at_forward;
    Bind(traits_.forward, forward_alias, &at_forward);
    PutBottoms(traits_.forward, at_forward);
    LayerRun run = Run(traits_.forward, form);
    for (size_t k = 0; k < traits_.saved.size(); ++k) {
      run.saved.push_back(Lists(backward.reads, Saved(k)) ? at_forward.address[Index(Saved(k))]
                                                          : nullptr);
    }
    layer_->EnterPlan(run);
    layer_->Forward(at_forward.bottoms(), at_forward.tops());
    for (const auto& blob : at_forward.top) result.top_data.push_back(Values(blob.get(), false));
    result.param_data = ParamValues();
    if (traits_.repeatable) ExpectRepeats(at_forward, form, result);

    Binding at_backward;
    Bind(backward, backward_alias, &at_backward);
    PutBottoms(backward, at_backward);
    for (size_t i = 0; i < top_.size(); ++i) {
      if (Lists(backward.reads, TopData(i)))
        Put(result.top_data[i], at_backward.address[Index(TopData(i))]);
      if (Lists(backward.reads, TopDiff(i)))
        Put(Values(top_[i], true), at_backward.address[Index(TopDiff(i))]);
    }
    run = Run(backward, form);
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

  /// One forward and backward with bottom[0] == top[0], whose data in backward are NaN if
  /// `overwritten`: called directly if `form` is kDirect, as if a later layer in place on the same
  /// blob ran between them, else as under a plan, in a form that reads neither.
  PassResult<Dtype> RunInPlace(int form, bool overwritten) {
    const vector<vector<Dtype>> params = ParamValues();
    const vector<Dtype> input = Values(bottom_[0], false);
    Blobs bottom = bottom_;
    Blob<Dtype> shared(bottom_[0]->shape());
    bottom[0] = &shared;
    const bool planned = form != kDirect;
    const FormBuffers buffers(traits_, planned ? form : 0);
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
      if (planned) hide.emplace(traits_.backward.at(form), bottom, Blobs{&shared}, layer_->blobs());
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
  /// Blobs over memory that is not theirs.
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

  /// Position of an operand other than a parameter in Binding::address.
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

  /// The bottoms' data, as far as `form` reads it.
  void PutBottoms(const OperandForm& form, const Binding& at) {
    for (size_t i = 0; i < bottom_.size(); ++i) {
      if (Lists(form.reads, BottomData(i)))
        Put(Values(bottom_[i], false), at.address[Index(BottomData(i))]);
    }
  }
  vector<uint8_t> SavedBytes(const Binding& at, size_t k) const {
    return Get<uint8_t>(at.address[Index(Saved(k))], traits_.saved[k].bytes);
  }

  void Bind(const OperandForm& form, const AliasPair* alias, Binding* binding) {
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
      EXPECT_TRUE(Lists(form.writes, alias->first) || alias->first.kind == Operand::kSaved)
          << form.name;
      EXPECT_TRUE(Lists(form.reads, alias->second)) << form.name;
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

  /// The forward that gave `result`, run again, gives the same tops and saved buffers and leaves
  /// the parameters alone.
  void ExpectRepeats(const Binding& first, int form, const PassResult<Dtype>& result) {
    Binding again;
    Bind(traits_.forward, nullptr, &again);
    PutBottoms(traits_.forward, again);
    LayerRun run = Run(traits_.forward, form);
    run.recompute = true;
    const auto saves = [&](size_t k) {
      return Lists(traits_.backward.at(form).reads, Saved(static_cast<int>(k)));
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

  LayerRun Run(const OperandForm& operands, int form) {
    const Workspace workspace = DirectWorkspace(operands);
    LayerRun run;
    run.form = form;
    run.workspace = workspace.name;
    run.scratch = Allocate(workspace.bytes);
    return run;
  }

  Layer<Dtype>* layer_;
  Blobs bottom_, top_;
  vector<bool> propagate_down_;
  MemoryTraits traits_;
  std::list<BodyMemory> memory_;
};

/// Sets the layer up and compares all of its backward forms, every alias they allow and, where
/// `in_place`, passes with bottom[0] == top[0], called directly and in each form that reads
/// neither, bit by bit with the first form without aliases.
template <typename Dtype>
void CheckForms(Layer<Dtype>* layer, const vector<Blob<Dtype>*>& bottom,
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
        << " reads what its first form does not declare, or leaves values unwritten";
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
  for (size_t form = 0; form < traits.backward.size(); ++form) {
    const string& name = traits.backward[form].name;
    const vector<Operand>& reads = traits.backward[form].reads;
    EXPECT_TRUE(pass.Run(form, nullptr, nullptr) == expected) << layer->type() << ", form " << name;
    for (const auto& alias : traits.forward.may_alias) {
      if (alias.first.kind == Operand::kSaved && !pass.Lists(reads, alias.first)) continue;
      EXPECT_TRUE(pass.Run(form, &alias, nullptr) == expected)
          << layer->type() << ", form " << name << ", forward alias";
    }
    for (const auto& alias : traits.backward[form].may_alias) {
      EXPECT_TRUE(pass.Run(form, nullptr, &alias) == expected)
          << layer->type() << ", form " << name << ", alias on operand kind "
          << int{alias.second.kind};
    }
  }
  if (!in_place) return;
  for (const bool overwritten : {false, true}) {
    EXPECT_TRUE(pass.RunInPlace(pass.kDirect, overwritten) == expected)
        << layer->type() << " in place" << (overwritten ? ", overwritten by a later layer" : "");
  }
  int forms = 0;
  for (size_t form = 0; form < traits.backward.size(); ++form) {
    const vector<Operand>& reads = traits.backward[form].reads;
    if (pass.Lists(reads, BottomData(0)) || pass.Lists(reads, TopData(0))) continue;
    EXPECT_TRUE(pass.RunInPlace(static_cast<int>(form), true) == expected)
        << layer->type() << " in place, form " << traits.backward[form].name;
    ++forms;
  }
  EXPECT_GT(forms, 0) << layer->type() << ": no form for running in place";
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

  /// The bottoms' diffs, one after the other, for top diffs 1, 2, 3, ... After SetUp.
  vector<double> DiffsOfForm(int form, const vector<bool>& propagate_down) {
    for (Blob<double>* blob : top) {
      for (int i = 0; i < blob->count(); ++i) blob->mutable_cpu_diff()[i] = i + 1;
    }
    PlannedPass<double> pass(layer.get(), bottom, top, propagate_down);
    const PassResult<double> result = pass.Run(form, nullptr, nullptr);
    outputs = Joined(result.top_data);
    return Joined(result.bottom_diff);
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
  static vector<double> Joined(const vector<vector<double>>& parts) {
    vector<double> all;
    for (const vector<double>& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  }
  /// Values in [-2, 2], none near another's or near 0, other ones for each blob.
  void FillAt(double* values, int n) {
    for (int i = 0; i < n; ++i) values[i] = (filled_++ % 83 * 7919 % 83 - 41) / 20.5 + 0.011;
  }

  vector<shared_ptr<Blob<double>>> owned_;
  int filled_ = 0;
};

/// CheckForms for the layer that `make` gives a LayerCase of, not set up, with `forms` backward
/// forms; and `check_gradient` with a checker of direct calls and of each form.
template <typename Make, typename CheckGradient>
void CheckFormsAndGradients(const Make& make, const vector<bool>& wanted, size_t forms,
                            GradientChecker<double> checker, const CheckGradient& check_gradient) {
  LayerCase all = make();
  CheckForms(all.layer.get(), all.bottom, all.top, wanted, false);
  const MemoryTraits traits = all.layer->Traits(all.bottom, all.top, wanted);
  ASSERT_EQ(traits.backward.size(), forms);
  for (int form = -1; form < static_cast<int>(forms); ++form) {
    SCOPED_TRACE(form < 0 ? string("called directly") : "form " + traits.backward[form].name);
    checker.set_form(form);
    check_gradient(&checker);
  }
}

/// Gradient of every form by finite differences, and CheckForms. `kink_range`: inputs this near to
/// 0 are left out.
inline void CheckAllForms(const string& text, const vector<vector<int>>& bottom_shapes, int tops,
                          size_t expected_forms, int check_bottom = -1, double kink_range = -1) {
  SCOPED_TRACE(text);
  vector<bool> wanted(bottom_shapes.size(), check_bottom == -1);
  if (check_bottom >= 0) wanted[check_bottom] = true;
  const auto make = [&] { return LayerCase(text, bottom_shapes, tops); };
  CheckFormsAndGradients(
      make, wanted, expected_forms, GradientChecker<double>(1e-4, 1e-6, 1701, 0., kink_range),
      [&](GradientChecker<double>* checker) {
        LayerCase one = make();
        checker->CheckGradientExhaustive(one.layer.get(), one.bottom, one.top, check_bottom);
      });
}

/// CheckForms, in place as well.
inline void CheckInPlace(const string& text, const vector<vector<int>>& bottom_shapes) {
  SCOPED_TRACE(text);
  const LayerCase one(text, bottom_shapes, 1);
  CheckForms(one.layer.get(), one.bottom, one.top, vector<bool>(bottom_shapes.size(), true), true);
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_TEST_FORM_CHECK_HPP_
