#ifndef CAFFE_NET_TEST_USER_LAYERS_HPP_
#define CAFFE_NET_TEST_USER_LAYERS_HPP_

#include <algorithm>
#include <cmath>
#include <vector>

#include "caffe/filler.hpp"
#include "caffe/layer.hpp"

namespace caffe {

/// Layers as users of Caffe write them: without traits, doing anything that Caffe allows with their
/// operands and with blobs of their own.
class UserLayer : public Layer<float> {
 public:
  using Layer<float>::Layer;
  using Blobs = vector<Blob<float>*>;
  void Reshape(const Blobs& bottom, const Blobs& top) override { top[0]->ReshapeLike(*bottom[0]); }

 protected:
  void Backward_cpu(const Blobs&, const vector<bool>&, const Blobs&) override {}
  /// The first parameter: `count` values of `value`.
  void AddParameter(int count, float value) {
    if (!blobs_.empty()) return;
    blobs_.emplace_back(new Blob<float>(vector<int>{count}));
    caffe_set(count, value, blobs_[0]->mutable_cpu_data());
  }
  shared_ptr<Layer<float>> Inner(const char* type) {
    LayerParameter param;
    param.set_name(layer_param_.name() + "_" + type);
    param.set_type(type);
    return LayerRegistry<float>::CreateLayer(param);
  }
};

/// |x|
class UserAbsLayer : public UserLayer {
 public:
  using UserLayer::UserLayer;
  const char* type() const override { return "UserAbs"; }

 protected:
  void Forward_cpu(const Blobs& bottom, const Blobs& top) override {
    caffe_abs(bottom[0]->count(), bottom[0]->cpu_data(), top[0]->mutable_cpu_data());
  }
  void Backward_cpu(const Blobs& top, const vector<bool>& wanted, const Blobs& bottom) override {
    if (!wanted[0]) return;
    const float* x = bottom[0]->cpu_data();
    for (int i = 0; i < bottom[0]->count(); ++i)
      bottom[0]->mutable_cpu_diff()[i] = (x[i] < 0 ? -1.f : 1.f) * top[0]->cpu_diff()[i];
  }
};

/// Multiplies negative values by a slope that learns. Works in place, too, with a copy of x. Its
/// backward uses the bottom's diff as workspace and then writes the derivative there, wanted or
/// not.
class UserSlopeLayer : public UserLayer {
 public:
  using UserLayer::UserLayer;
  const char* type() const override { return "UserSlope"; }
  void LayerSetUp(const Blobs&, const Blobs&) override { AddParameter(1, 0.25f); }
  void Reshape(const Blobs& bottom, const Blobs& top) override {
    top[0]->ReshapeLike(*bottom[0]);
    if (bottom[0] == top[0]) x_.ReshapeLike(*bottom[0]);
  }

 protected:
  void Forward_cpu(const Blobs& bottom, const Blobs& top) override {
    const float slope = blobs_[0]->cpu_data()[0];
    if (bottom[0] == top[0]) x_.CopyFrom(*bottom[0]);
    for (int i = 0; i < bottom[0]->count(); ++i) {
      const float x = bottom[0]->cpu_data()[i];
      top[0]->mutable_cpu_data()[i] = x > 0 ? x : slope * x;
    }
  }
  void Backward_cpu(const Blobs& top, const vector<bool>& wanted, const Blobs& bottom) override {
    const int n = bottom[0]->count();
    const float* x = bottom[0] == top[0] ? x_.cpu_data() : bottom[0]->cpu_data();
    const vector<float> dy(top[0]->cpu_diff(), top[0]->cpu_diff() + n);
    float* work = bottom[0]->mutable_cpu_diff();
    for (int i = 0; i < n; ++i) work[i] = x[i] > 0 ? 0 : x[i] * dy[i];
    for (int i = 0; i < n; ++i) blobs_[0]->mutable_cpu_diff()[0] += work[i];
    if (!wanted[0]) return;
    const float slope = blobs_[0]->cpu_data()[0];
    for (int i = 0; i < n; ++i) work[i] = x[i] > 0 ? dy[i] : slope * dy[i];
  }
  Blob<float> x_;
};

/// The mean of squared distances between two bottoms, computed in blobs of its own. Writes its
/// top's diff.
class UserDistanceLossLayer : public UserLayer {
 public:
  using UserLayer::UserLayer;
  const char* type() const override { return "UserDistanceLoss"; }
  void LayerSetUp(const Blobs&, const Blobs&) override {
    if (layer_param_.loss_weight_size() == 0) layer_param_.add_loss_weight(1);
  }
  void Reshape(const Blobs& bottom, const Blobs& top) override {
    top[0]->Reshape(vector<int>());
    diff_.ReshapeLike(*bottom[0]);
    squares_.Reshape({bottom[0]->num()});
  }

 protected:
  void Forward_cpu(const Blobs& bottom, const Blobs& top) override {
    const int n = bottom[0]->count(), rows = bottom[0]->num();
    caffe_sub(n, bottom[0]->cpu_data(), bottom[1]->cpu_data(), diff_.mutable_cpu_data());
    float sum = 0;
    for (int i = 0; i < rows; ++i) {
      const float* row = diff_.cpu_data() + i * (n / rows);
      squares_.mutable_cpu_data()[i] = caffe_cpu_dot(n / rows, row, row);
      sum += squares_.cpu_data()[i];
    }
    top[0]->mutable_cpu_data()[0] = sum / rows;
    top[0]->mutable_cpu_diff()[0] = loss(0);
  }
  void Backward_cpu(const Blobs& top, const vector<bool>& wanted, const Blobs& bottom) override {
    const float factor = 2 * top[0]->cpu_diff()[0] / bottom[0]->num();
    for (int i = 0; i < 2; ++i) {
      if (!wanted[i]) continue;
      caffe_cpu_axpby(diff_.count(), i == 0 ? factor : -factor, diff_.cpu_data(), 0.f,
                      bottom[i]->mutable_cpu_diff());
    }
  }
  Blob<float> diff_, squares_;
};

/// Subtracts each row's mean, by way of temporary blobs.
class UserMeanLayer : public UserLayer {
 public:
  using UserLayer::UserLayer;
  const char* type() const override { return "UserMean"; }
  void Reshape(const Blobs& bottom, const Blobs& top) override {
    top[0]->ReshapeLike(*bottom[0]);
    mean_.Reshape({bottom[0]->num()});
    temp_.ReshapeLike(*bottom[0]);
  }

 protected:
  void Forward_cpu(const Blobs& bottom, const Blobs& top) override {
    Centre(bottom[0]->cpu_data(), top[0]->mutable_cpu_data());
  }
  void Backward_cpu(const Blobs& top, const vector<bool>& wanted, const Blobs& bottom) override {
    if (wanted[0]) Centre(top[0]->cpu_diff(), bottom[0]->mutable_cpu_diff());
  }
  void Centre(const float* x, float* y) {
    const int rows = mean_.count(), width = temp_.count() / rows;
    for (int i = 0; i < temp_.count(); ++i) temp_.mutable_cpu_data()[i] = x[i] / width;
    for (int i = 0; i < rows; ++i) {
      float& mean = mean_.mutable_cpu_data()[i];
      mean = 0;
      for (int k = 0; k < width; ++k) mean += temp_.cpu_data()[i * width + k];
    }
    for (int i = 0; i < temp_.count(); ++i) y[i] = x[i] - mean_.cpu_data()[i / width];
  }
  Blob<float> mean_, temp_;
};

/// Concatenates the bottom and its sigmoid, with layers inside it that work on its own blobs.
class UserPyramidLayer : public UserLayer {
 public:
  using UserLayer::UserLayer;
  const char* type() const override { return "UserPyramid"; }
  void LayerSetUp(const Blobs& bottom, const Blobs& top) override {
    split_ = Inner("Split");
    flatten_ = Inner("Flatten");
    sigmoid_ = Inner("Sigmoid");
    concat_ = Inner("Concat");
    split_->SetUp(bottom, {&parts_[0], &parts_[1]});
    flatten_->SetUp({&parts_[0]}, {&results_[0]});
    sigmoid_->SetUp({&parts_[1]}, {&results_[1]});
    concat_->SetUp({&results_[0], &results_[1]}, top);
  }
  void Reshape(const Blobs& bottom, const Blobs& top) override {
    split_->Reshape(bottom, {&parts_[0], &parts_[1]});
    flatten_->Reshape({&parts_[0]}, {&results_[0]});
    sigmoid_->Reshape({&parts_[1]}, {&results_[1]});
    concat_->Reshape({&results_[0], &results_[1]}, top);
  }

 protected:
  void Forward_cpu(const Blobs& bottom, const Blobs& top) override {
    split_->Forward(bottom, {&parts_[0], &parts_[1]});
    flatten_->Forward({&parts_[0]}, {&results_[0]});
    sigmoid_->Forward({&parts_[1]}, {&results_[1]});
    concat_->Forward({&results_[0], &results_[1]}, top);
  }
  void Backward_cpu(const Blobs& top, const vector<bool>& wanted, const Blobs& bottom) override {
    if (!wanted[0]) return;
    concat_->Backward(top, {true, true}, {&results_[0], &results_[1]});
    sigmoid_->Backward({&results_[1]}, {true}, {&parts_[1]});
    flatten_->Backward({&results_[0]}, {true}, {&parts_[0]});
    split_->Backward({&parts_[0], &parts_[1]}, {true}, bottom);
  }
  shared_ptr<Layer<float>> split_, flatten_, sigmoid_, concat_;
  Blob<float> parts_[2], results_[2];
};

/// Selects the rows whose selector, the second bottom, is not zero. Their number varies.
class UserFilterLayer : public UserLayer {
 public:
  using UserLayer::UserLayer;
  const char* type() const override { return "UserFilter"; }
  void Reshape(const Blobs& bottom, const Blobs& top) override {
    if (rows_.empty()) top[0]->ReshapeLike(*bottom[0]);
  }

 protected:
  void Forward_cpu(const Blobs& bottom, const Blobs& top) override {
    rows_.clear();
    for (int i = 0; i < bottom[1]->count(); ++i) {
      if (bottom[1]->cpu_data()[i] > 0) rows_.push_back(i);
    }
    if (rows_.empty()) rows_.push_back(0);
    vector<int> shape = bottom[0]->shape();
    shape[0] = static_cast<int>(rows_.size());
    top[0]->Reshape(shape);
    const int width = bottom[0]->count(1);
    for (size_t i = 0; i < rows_.size(); ++i) {
      caffe_copy(width, bottom[0]->cpu_data() + rows_[i] * width,
                 top[0]->mutable_cpu_data() + i * width);
    }
  }
  void Backward_cpu(const Blobs& top, const vector<bool>& wanted, const Blobs& bottom) override {
    if (!wanted[0]) return;
    const int width = bottom[0]->count(1);
    caffe_set(bottom[0]->count(), 0.f, bottom[0]->mutable_cpu_diff());
    for (size_t i = 0; i < rows_.size(); ++i) {
      caffe_copy(width, top[0]->cpu_diff() + i * width,
                 bottom[0]->mutable_cpu_diff() + rows_[i] * width);
    }
  }
  vector<int> rows_;
};

/// Rows in reverse order, some twice: the indices are the second bottom.
class UserReindexLayer : public UserLayer {
 public:
  using UserLayer::UserLayer;
  const char* type() const override { return "UserReindex"; }
  void Reshape(const Blobs& bottom, const Blobs& top) override {
    vector<int> shape = bottom[0]->shape();
    shape[0] = bottom[1]->num();
    top[0]->Reshape(shape);
  }

 protected:
  static int Row(const Blobs& bottom, int i) {
    return (bottom[0]->num() - 1 - i + static_cast<int>(bottom[1]->cpu_data()[i])) %
           bottom[0]->num();
  }
  void Forward_cpu(const Blobs& bottom, const Blobs& top) override {
    const int width = bottom[0]->count(1);
    for (int i = 0; i < top[0]->num(); ++i) {
      caffe_copy(width, bottom[0]->cpu_data() + Row(bottom, i) * width,
                 top[0]->mutable_cpu_data() + i * width);
    }
  }
  void Backward_cpu(const Blobs& top, const vector<bool>& wanted, const Blobs& bottom) override {
    if (!wanted[0]) return;
    const int width = bottom[0]->count(1);
    caffe_set(bottom[0]->count(), 0.f, bottom[0]->mutable_cpu_diff());
    for (int i = 0; i < top[0]->num(); ++i) {
      caffe_axpy(width, 1.f, top[0]->cpu_diff() + i * width,
                 bottom[0]->mutable_cpu_diff() + Row(bottom, i) * width);
    }
  }
};

/// A loss with a Softmax layer inside it, which is given the bottom as it was at set-up. The
/// forward uses the diffs of both bottoms as workspace.
class UserSoftmaxLossLayer : public UserLayer {
 public:
  using UserLayer::UserLayer;
  const char* type() const override { return "UserSoftmaxLoss"; }
  void LayerSetUp(const Blobs& bottom, const Blobs&) override {
    if (layer_param_.loss_weight_size() == 0) layer_param_.add_loss_weight(1);
    softmax_ = Inner("Softmax");
    inputs_ = {bottom[0]};
    softmax_->SetUp(inputs_, {&scores_});
  }
  void Reshape(const Blobs&, const Blobs& top) override {
    top[0]->Reshape(vector<int>());
    softmax_->Reshape(inputs_, {&scores_});
  }

 protected:
  void Forward_cpu(const Blobs& bottom, const Blobs& top) override {
    softmax_->Forward(inputs_, {&scores_});
    const int rows = bottom[0]->num(), width = bottom[0]->count(1);
    float* picked = bottom[1]->mutable_cpu_diff();  // read by the backward
    float* logs = bottom[0]->mutable_cpu_diff();
    for (int i = 0; i < scores_.count(); ++i) logs[i] = -std::log(scores_.cpu_data()[i]);
    float sum = 0;
    for (int i = 0; i < rows; ++i) {
      picked[i] = bottom[1]->cpu_data()[i];
      sum += logs[i * width + static_cast<int>(picked[i])];
    }
    top[0]->mutable_cpu_data()[0] = sum / rows;
  }
  void Backward_cpu(const Blobs& top, const vector<bool>& wanted, const Blobs& bottom) override {
    if (!wanted[0]) return;
    const int rows = bottom[0]->num(), width = bottom[0]->count(1);
    float* dx = bottom[0]->mutable_cpu_diff();
    caffe_copy(scores_.count(), scores_.cpu_data(), dx);
    for (int i = 0; i < rows; ++i) dx[i * width + static_cast<int>(bottom[1]->cpu_diff()[i])] -= 1;
    caffe_scal(scores_.count(), top[0]->cpu_diff()[0] / rows, dx);
  }
  shared_ptr<Layer<float>> softmax_;
  Blobs inputs_;
  Blob<float> scores_;
};

/// Multiplies x by a factor that learns. The forward reads the factor's derivative and adds to it.
class UserPenaltyLayer : public UserLayer {
 public:
  using UserLayer::UserLayer;
  const char* type() const override { return "UserPenalty"; }
  void LayerSetUp(const Blobs&, const Blobs&) override { AddParameter(1, 1.5f); }

 protected:
  void Forward_cpu(const Blobs& bottom, const Blobs& top) override {
    const float factor = blobs_[0]->cpu_data()[0] + blobs_[0]->cpu_diff()[0];
    caffe_cpu_axpby(bottom[0]->count(), factor, bottom[0]->cpu_data(), 0.f,
                    top[0]->mutable_cpu_data());
    blobs_[0]->mutable_cpu_diff()[0] += 0.125f * blobs_[0]->cpu_data()[0];
    caffe_set(top[0]->count(), 7.f, top[0]->mutable_cpu_diff());
  }
  void Backward_cpu(const Blobs& top, const vector<bool>& wanted, const Blobs& bottom) override {
    const int n = top[0]->count();
    blobs_[0]->mutable_cpu_diff()[0] +=
        caffe_cpu_dot(n, bottom[0]->cpu_data(), top[0]->cpu_diff()) / n;
    caffe_scal(n, blobs_[0]->cpu_data()[0], top[0]->mutable_cpu_diff());
    if (wanted[0]) caffe_copy(n, top[0]->cpu_diff(), bottom[0]->mutable_cpu_diff());
  }
};

/// Clips its bottom in place and copies it. Its backward leaves garbage in bottom and top.
class UserClipLayer : public UserLayer {
 public:
  using UserLayer::UserLayer;
  const char* type() const override { return "UserClip"; }

 protected:
  void Forward_cpu(const Blobs& bottom, const Blobs& top) override {
    float* x = bottom[0]->mutable_cpu_data();
    for (int i = 0; i < bottom[0]->count(); ++i) x[i] = std::min(x[i], 0.375f);
    caffe_copy(bottom[0]->count(), x, top[0]->mutable_cpu_data());
  }
  void Backward_cpu(const Blobs& top, const vector<bool>& wanted, const Blobs& bottom) override {
    const int n = bottom[0]->count();
    float* x = bottom[0]->mutable_cpu_data();
    float* y = top[0]->mutable_cpu_data();
    for (int i = 0; i < n; ++i) y[i] = x[i] < 0.375f ? top[0]->cpu_diff()[i] : 0;
    if (wanted[0]) caffe_copy(n, y, bottom[0]->mutable_cpu_diff());
    for (int i = 0; i < n; ++i) x[i] = 0.5f * y[i];
  }
};

}  // namespace caffe

#endif  // CAFFE_NET_TEST_USER_LAYERS_HPP_
