// Classes that users derive from concrete losses, as for Caffe: they override its entry points,
// call the base class's, and use its protected members.

#include <cfloat>

#include "caffe/layers/accuracy_layer.hpp"
#include "caffe/layers/contrastive_loss_layer.hpp"
#include "caffe/layers/euclidean_loss_layer.hpp"
#include "caffe/layers/infogain_loss_layer.hpp"
#include "caffe/layers/loss/test/loss_net.hpp"
#include "caffe/layers/sigmoid_cross_entropy_loss_layer.hpp"
#include "caffe/layers/softmax_layer.hpp"
#include "caffe/layers/softmax_loss_layer.hpp"

namespace caffe {
namespace {

using Blobs = vector<Blob<float>*>;

/// Gives `Base` a GPU version that calls the CPU version.
template <typename Base>
class OnBothDevices : public Base {
 public:
  using Base::Base;

 protected:
  void Forward_gpu(const Blobs& bottom, const Blobs& top) override {
    this->Forward_cpu(bottom, top);
  }
  void Backward_gpu(const Blobs& top, const vector<bool>& propagate_down,
                    const Blobs& bottom) override {
    this->Backward_cpu(top, propagate_down, bottom);
  }
};

/// SoftmaxWithLoss with its own loops.
class OwnSoftmaxLossLayer : public OnBothDevices<SoftmaxWithLossLayer<float>> {
 public:
  using OnBothDevices::OnBothDevices;
  const Blob<float>& prob() const { return prob_; }

 protected:
  void Forward_cpu(const Blobs& bottom, const Blobs& top) override {
    softmax_layer_->Forward(softmax_bottom_vec_, softmax_top_vec_);
    const float* prob = prob_.cpu_data();
    const int dim = prob_.count() / outer_num_;
    float loss = 0;
    int count = 0;
    for (int i = 0; i < outer_num_; ++i) {
      for (int j = 0; j < inner_num_; ++j) {
        const int label = static_cast<int>(bottom[1]->cpu_data()[i * inner_num_ + j]);
        if (has_ignore_label_ && label == ignore_label_) continue;
        CHECK_LT(label, prob_.shape(softmax_axis_));
        loss -= std::log(std::max(prob[i * dim + label * inner_num_ + j], FLT_MIN));
        ++count;
      }
    }
    top[0]->mutable_cpu_data()[0] = loss / get_normalizer(normalization_, count);
    if (top.size() == 2) top[1]->ShareData(prob_);
  }
  void Backward_cpu(const Blobs& top, const vector<bool>& propagate_down,
                    const Blobs& bottom) override {
    if (!propagate_down[0]) return;
    float* dx = bottom[0]->mutable_cpu_diff();
    caffe_copy(prob_.count(), prob_.cpu_data(), dx);
    const int dim = prob_.count() / outer_num_;
    int count = 0;
    for (int i = 0; i < outer_num_; ++i) {
      for (int j = 0; j < inner_num_; ++j, ++count) {
        const int label = static_cast<int>(bottom[1]->cpu_data()[i * inner_num_ + j]);
        dx[i * dim + label * inner_num_ + j] -= 1;
      }
    }
    const float scale = top[0]->cpu_diff()[0] / get_normalizer(normalization_, count);
    caffe_scal(prob_.count(), scale, dx);
  }
};

/// Adds to the base's gradient in backward, which doubles it.
template <typename Base>
class TwiceLayer : public OnBothDevices<Base> {
 public:
  using OnBothDevices<Base>::OnBothDevices;

 protected:
  void Forward_cpu(const Blobs& bottom, const Blobs& top) override {
    Base::Forward_cpu(bottom, top);
  }
  void Backward_cpu(const Blobs& top, const vector<bool>& propagate_down,
                    const Blobs& bottom) override {
    Base::Backward_cpu(top, propagate_down, bottom);
    caffe_scal(bottom[0]->count(), 2.f, bottom[0]->mutable_cpu_diff());
  }
};

/// Divides by half of the base's divisor.
template <typename Base>
class HalfNormalizerLayer : public Base {
 public:
  using Base::Base;

 protected:
  float get_normalizer(LossParameter_NormalizationMode mode, int valid_count) override {
    EXPECT_EQ(valid_count, this->outer_num_ * this->inner_num_);
    return Base::get_normalizer(mode, valid_count) / 2;
  }
};

/// Changes the values that the base keeps from forward to backward.
class TwiceTheDifferenceLayer : public OnBothDevices<EuclideanLossLayer<float>> {
 public:
  using OnBothDevices::OnBothDevices;

 protected:
  void Forward_cpu(const Blobs& bottom, const Blobs& top) override {
    EuclideanLossLayer<float>::Forward_cpu(bottom, top);
    EXPECT_EQ(diff_.cpu_data()[5], bottom[0]->cpu_data()[5] - bottom[1]->cpu_data()[5]);
    caffe_scal(diff_.count(), 2.f, diff_.mutable_cpu_data());
  }
};

class TwiceTheContrastLayer : public OnBothDevices<ContrastiveLossLayer<float>> {
 public:
  using OnBothDevices::OnBothDevices;

 protected:
  void Forward_cpu(const Blobs& bottom, const Blobs& top) override {
    ContrastiveLossLayer<float>::Forward_cpu(bottom, top);
    EXPECT_FLOAT_EQ(caffe_cpu_dot(4, diff_.cpu_data(), diff_.cpu_data()), dist_sq_.cpu_data()[0]);
    caffe_scal(diff_.count(), 2.f, diff_.mutable_cpu_data());
  }
};

class HalfTheDivisorLayer : public OnBothDevices<SigmoidCrossEntropyLossLayer<float>> {
 public:
  using OnBothDevices::OnBothDevices;

 protected:
  void Forward_cpu(const Blobs& bottom, const Blobs& top) override {
    SigmoidCrossEntropyLossLayer<float>::Forward_cpu(bottom, top);
    sigmoid_layer_->Forward(sigmoid_bottom_vec_, sigmoid_top_vec_);
    EXPECT_FLOAT_EQ(sigmoid_output_->cpu_data()[3], 1 / (1 + std::exp(-bottom[0]->cpu_data()[3])));
    EXPECT_EQ(normalizer_, get_normalizer(normalization_, -1));
    normalizer_ /= 2;
  }
};

class TwiceTheGainLayer : public TwiceLayer<InfogainLossLayer<float>> {
 public:
  using TwiceLayer::TwiceLayer;

 protected:
  void Forward_cpu(const Blobs& bottom, const Blobs& top) override {
    InfogainLossLayer<float>::Forward_cpu(bottom, top);
    EXPECT_EQ(sum_rows_H_.cpu_data()[num_labels_ - 1], 4 * bottom[2]->cpu_data()[0]);
    EXPECT_FLOAT_EQ(caffe_cpu_asum(prob_.count(), prob_.cpu_data()), float(outer_num_));
  }
};

#define REGISTER_FLOAT(name, ...)         \
  LayerRegisterer<float> register_##name( \
      #name, [](const LayerParameter& p) { return shared_ptr<Layer<float>>(new __VA_ARGS__(p)); })
REGISTER_FLOAT(OwnSoftmaxLoss, OwnSoftmaxLossLayer);
REGISTER_FLOAT(TwiceSoftmaxLoss, TwiceLayer<SoftmaxWithLossLayer<float>>);
REGISTER_FLOAT(HalfSoftmaxLoss, HalfNormalizerLayer<SoftmaxWithLossLayer<float>>);
REGISTER_FLOAT(HalfInfogainLoss, HalfNormalizerLayer<InfogainLossLayer<float>>);
REGISTER_FLOAT(HalfSigmoidLoss, HalfNormalizerLayer<SigmoidCrossEntropyLossLayer<float>>);
REGISTER_FLOAT(TwiceTheDifference, TwiceTheDifferenceLayer);
REGISTER_FLOAT(TwiceTheContrast, TwiceTheContrastLayer);
REGISTER_FLOAT(HalfTheDivisor, HalfTheDivisorLayer);
REGISTER_FLOAT(TwiceTheGain, TwiceTheGainLayer);

/// A derived loss, and a loss of the base class that trains identically.
struct Pair {
  const char* derived;
  const char* base;
};

class DerivedLosses : public testing::TestWithParam<Pair> {};

TEST_P(DerivedLosses, TrainAsTheBaseWouldWithAndWithoutAPlan) {
  const vector<float> expected = Train(GetParam().base, "");
  EXPECT_TRUE(AllFinite(expected));
  for (const char* strategy : {"", "keep", "liveness", "hybrid"}) {
    EXPECT_TRUE(SameBits(Train(GetParam().derived, strategy), expected))
        << GetParam().derived << " under '" << strategy << "'";
  }
}

#define ON_LABELS " bottom: 'label' "
#define ON_TARGETS " bottom: 'target' "
INSTANTIATE_TEST_SUITE_P(
    All, DerivedLosses,
    testing::Values(Pair{"type: 'TwiceSoftmaxLoss'" ON_LABELS,
                         "type: 'SoftmaxWithLoss' loss_weight: 2" ON_LABELS},
                    Pair{"type: 'TwiceSoftmaxLoss' top: 'prob'" ON_LABELS,
                         "type: 'SoftmaxWithLoss' loss_weight: 2" ON_LABELS},
                    Pair{"type: 'HalfSoftmaxLoss'" ON_LABELS,
                         "type: 'SoftmaxWithLoss' loss_weight: 2" ON_LABELS},
                    Pair{"type: 'HalfInfogainLoss' bottom: 'label' bottom: 'H'",
                         "type: 'InfogainLoss' loss_weight: 2 bottom: 'label' bottom: 'H'"},
                    Pair{"type: 'TwiceTheGain' bottom: 'label' bottom: 'H'",
                         "type: 'InfogainLoss' loss_weight: 2 bottom: 'label' bottom: 'H'"},
                    Pair{"type: 'HalfSigmoidLoss'" ON_TARGETS,
                         "type: 'SigmoidCrossEntropyLoss' loss_weight: 2" ON_TARGETS},
                    Pair{"type: 'HalfTheDivisor'" ON_TARGETS,
                         "type: 'SigmoidCrossEntropyLoss' loss_weight: 2" ON_TARGETS},
                    Pair{"type: 'TwiceTheDifference'" ON_TARGETS,
                         "type: 'EuclideanLoss' loss_weight: 2" ON_TARGETS},
                    Pair{"type: 'TwiceTheContrast' bottom: 'target' bottom: 'same'",
                         "type: 'ContrastiveLoss' loss_weight: 2 bottom: 'target' bottom: 'same'"}),
    [](const auto& info) { return "Case" + std::to_string(info.index); });

TEST(DerivedSoftmaxLoss, WithItsOwnLoopsLearnsTheSameAsTheBase) {
  const vector<float> base = Train("type: 'SoftmaxWithLoss'" ON_LABELS, "");
  const vector<float> alone = Train("type: 'OwnSoftmaxLoss'" ON_LABELS, "");
  ASSERT_EQ(alone.size(), base.size());
  for (size_t i = 0; i < base.size(); ++i) EXPECT_NEAR(alone[i], base[i], 1e-5);
  for (const char* strategy : {"keep", "hybrid"}) {
    EXPECT_TRUE(SameBits(Train("type: 'OwnSoftmaxLoss'" ON_LABELS, strategy), alone));
    EXPECT_TRUE(SameBits(Train("type: 'OwnSoftmaxLoss' top: 'prob'" ON_LABELS, strategy), alone));
  }
}

TEST(DerivedSoftmaxLoss, ShowsItsSoftmaxAfterAPlannedPass) {
  Net<float> net(NetWith("type: 'OwnSoftmaxLoss' top: 'prob'" ON_LABELS));
  PlacementOptions options;
  options.strategy = "hybrid";
  const layrub::Status status = net.Place(options);
  ASSERT_TRUE(status.ok()) << status.message;
  net.Forward();
  const auto* loss = dynamic_cast<OwnSoftmaxLossLayer*>(net.layer_by_name("loss").get());
  const Blob<float>& shown = *net.blob_by_name("prob");
  ASSERT_EQ(loss->prob().count(), shown.count());
  for (int i = 0; i < shown.count(); ++i)
    EXPECT_EQ(loss->prob().cpu_data()[i], shown.cpu_data()[i]);
}

/// Values of the protected members, as in Caffe, of layers that are not losses.
class OpenSoftmaxLayer : public SoftmaxLayer<float> {
 public:
  using SoftmaxLayer::SoftmaxLayer;
  void ExpectMembers() const {
    EXPECT_EQ(softmax_axis_, 1);
    EXPECT_EQ(outer_num_, 2);
    EXPECT_EQ(inner_num_, 4);
    EXPECT_EQ(scale_.shape(), (vector<int>{2, 1, 4}));
    EXPECT_EQ(caffe_cpu_asum(3, sum_multiplier_.cpu_data()), 3);
  }
};

TEST(DerivedSoftmax, BackwardReadsTheTop) {
  Blob<float> x(vector<int>{2, 3, 4}), y, plain_y;
  for (int i = 0; i < x.count(); ++i) x.mutable_cpu_data()[i] = static_cast<float>(i % 5);
  LayerParameter param;
  param.set_type("Softmax");
  OpenSoftmaxLayer derived(param);
  SoftmaxLayer<float> plain(param);
  const auto diffs = [&](Layer<float>* layer, Blob<float>* top) {
    layer->SetUp({&x}, {top});
    layer->Forward({&x}, {top});
    for (int i = 0; i < top->count(); ++i) top->mutable_cpu_diff()[i] = static_cast<float>(i % 7);
    layer->Backward({top}, {true}, {&x});
    return vector<float>(x.cpu_diff(), x.cpu_diff() + x.count());
  };
  EXPECT_EQ(diffs(&derived, &y), diffs(&plain, &plain_y));
  derived.ExpectMembers();
}

class OpenAccuracyLayer : public OnBothDevices<AccuracyLayer<float>> {
 public:
  using OnBothDevices::OnBothDevices;
  int counted = 0;

 protected:
  void Forward_cpu(const Blobs& bottom, const Blobs& top) override {
    AccuracyLayer<float>::Forward_cpu(bottom, top);
    EXPECT_EQ(outer_num_, 4);
    EXPECT_EQ(inner_num_, 1);
    EXPECT_TRUE(has_ignore_label_);
    EXPECT_EQ(ignore_label_, 2);
    counted = static_cast<int>(caffe_cpu_asum(nums_buffer_.count(), nums_buffer_.cpu_data()));
  }
};

TEST(DerivedAccuracy, HasTheNumberOfPositionsOfEachClass) {
  Blob<float> x(vector<int>{4, 3}), label(vector<int>{4}), all, each;
  for (int i = 0; i < 4; ++i) label.mutable_cpu_data()[i] = static_cast<float>(i % 3);
  LayerParameter param;
  param.mutable_accuracy_param()->set_ignore_label(2);
  OpenAccuracyLayer accuracy(param);
  accuracy.SetUp({&x, &label}, {&all, &each});
  accuracy.Forward({&x, &label}, {&all, &each});
  EXPECT_EQ(accuracy.counted, 3);
}

}  // namespace
}  // namespace caffe
