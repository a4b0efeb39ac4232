#ifndef CAFFE_NET_TEST_USER_SHARING_LAYERS_HPP_
#define CAFFE_NET_TEST_USER_SHARING_LAYERS_HPP_

#include "caffe/net/test/user_layers.hpp"

namespace caffe {

// Users' layers that share memory or keep pointers to their operands.

/// A top that shares the memory of a parameter. The subclass decides when it does.
class UserParameterLayer : public UserLayer {
 public:
  using UserLayer::UserLayer;
  const char* type() const override { return "UserParameter"; }
  void LayerSetUp(const Blobs&, const Blobs& top) override {
    AddParameter(48, 0.5f);
    for (int i = 0; i < 48; ++i) blobs_[0]->mutable_cpu_data()[i] = static_cast<float>(i % 7) / 8;
    top[0]->Reshape({8, 6});
  }
  void Reshape(const Blobs&, const Blobs&) override {}

 protected:
  void Forward_cpu(const Blobs&, const Blobs& top) override {
    top[0]->ShareData(*blobs_[0]);
    top[0]->ShareDiff(*blobs_[0]);
  }
};
class UserParameterOnceLayer : public UserParameterLayer {
 public:
  using UserParameterLayer::UserParameterLayer;
  void LayerSetUp(const Blobs& bottom, const Blobs& top) override {
    UserParameterLayer::LayerSetUp(bottom, top);
    top[0]->ShareData(*blobs_[0]);
  }

 protected:
  void Forward_cpu(const Blobs&, const Blobs&) override {}
  void Backward_cpu(const Blobs& top, const vector<bool>&, const Blobs&) override {
    top[0]->ShareDiff(*blobs_[0]);
  }
};

/// A view of the bottom's data and diff, shared in one call only.
class UserViewAtReshapeLayer : public UserLayer {
 public:
  using UserLayer::UserLayer;
  const char* type() const override { return "UserViewAtReshape"; }
  void Reshape(const Blobs& bottom, const Blobs& top) override {
    top[0]->ReshapeLike(*bottom[0]);
    top[0]->ShareData(*bottom[0]);
    top[0]->ShareDiff(*bottom[0]);
  }

 protected:
  void Forward_cpu(const Blobs&, const Blobs&) override {}
};
class UserViewAtSetUpLayer : public UserViewAtReshapeLayer {
 public:
  using UserViewAtReshapeLayer::UserViewAtReshapeLayer;
  void LayerSetUp(const Blobs& bottom, const Blobs& top) override {
    UserViewAtReshapeLayer::Reshape(bottom, top);
  }
  void Reshape(const Blobs&, const Blobs&) override {}
};
class UserViewAtForwardLayer : public UserViewAtReshapeLayer {
 public:
  using UserViewAtReshapeLayer::UserViewAtReshapeLayer;
  void Reshape(const Blobs& bottom, const Blobs& top) override { top[0]->ReshapeLike(*bottom[0]); }

 protected:
  void Forward_cpu(const Blobs& bottom, const Blobs& top) override {
    UserViewAtReshapeLayer::Reshape(bottom, top);
  }
};

/// Has no backward. Its forward leaves values in its bottom's diff; its top is a sum.
class UserMetricLayer : public UserLayer {
 public:
  using UserLayer::UserLayer;
  const char* type() const override { return "UserMetric"; }
  void Reshape(const Blobs&, const Blobs& top) override { top[0]->Reshape(vector<int>()); }

 protected:
  void Forward_cpu(const Blobs& bottom, const Blobs& top) override {
    float* work = bottom[0]->mutable_cpu_diff();
    float sum = 0;
    for (int i = 0; i < bottom[0]->count(); ++i) sum += work[i] = 0.01f * bottom[0]->cpu_data()[i];
    top[0]->mutable_cpu_data()[0] = sum;
  }
};

/// Doubles the bottom. Keeps pointers to its operands, from set-up or from its first forward, and
/// uses no others.
class UserKeeperLayer : public UserLayer {
 public:
  using UserLayer::UserLayer;
  const char* type() const override { return "UserKeeper"; }
  void LayerSetUp(const Blobs& bottom, const Blobs& top) override { Keep(bottom, top); }
  void Reshape(const Blobs& bottom, const Blobs& top) override {
    if (bottom_ == nullptr) top[0]->ReshapeLike(*bottom[0]);
    if (bottom_ != nullptr) top_->ReshapeLike(*bottom_);
  }

 protected:
  void Keep(const Blobs& bottom, const Blobs& top) {
    bottom_ = bottom[0];
    top_ = top[0];
  }
  void Forward_cpu(const Blobs& bottom, const Blobs& top) override {
    if (bottom_ == nullptr) Keep(bottom, top);
    caffe_cpu_axpby(bottom_->count(), 2.f, bottom_->cpu_data(), 0.f, top_->mutable_cpu_data());
  }
  void Backward_cpu(const Blobs&, const vector<bool>& wanted, const Blobs&) override {
    if (!wanted[0]) return;
    caffe_cpu_axpby(bottom_->count(), 2.f, top_->cpu_diff(), 0.f, bottom_->mutable_cpu_diff());
  }
  Blob<float>* bottom_ = nullptr;
  Blob<float>* top_ = nullptr;
};
class UserLateKeeperLayer : public UserKeeperLayer {
 public:
  using UserKeeperLayer::UserKeeperLayer;
  void LayerSetUp(const Blobs&, const Blobs&) override {}
};

/// Doubles the bottom, through a blob of its own that has shared the top's memory since set-up.
class UserMirrorLayer : public UserLayer {
 public:
  using UserLayer::UserLayer;
  const char* type() const override { return "UserMirror"; }
  void LayerSetUp(const Blobs& bottom, const Blobs& top) override {
    top[0]->ReshapeLike(*bottom[0]);
    mirror_.ReshapeLike(*top[0]);
    mirror_.ShareData(*top[0]);
    mirror_.ShareDiff(*top[0]);
  }
  void Reshape(const Blobs& bottom, const Blobs& top) override { top[0]->ReshapeLike(*bottom[0]); }

 protected:
  void Forward_cpu(const Blobs& bottom, const Blobs&) override {
    caffe_cpu_axpby(mirror_.count(), 2.f, bottom[0]->cpu_data(), 0.f, mirror_.mutable_cpu_data());
  }
  void Backward_cpu(const Blobs&, const vector<bool>& wanted, const Blobs& bottom) override {
    if (!wanted[0]) return;
    caffe_cpu_axpby(mirror_.count(), 2.f, mirror_.cpu_diff(), 0.f, bottom[0]->mutable_cpu_diff());
  }
  Blob<float> mirror_;
};

}  // namespace caffe

#endif  // CAFFE_NET_TEST_USER_SHARING_LAYERS_HPP_
