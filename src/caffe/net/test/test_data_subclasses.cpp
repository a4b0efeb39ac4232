// Data layers of users, written for Caffe's base classes, with and without a plan.
#include "caffe/layers/base_data_layer.hpp"
#include "caffe/layers/image_data_layer.hpp"
#include "caffe/layers/window_data_layer.hpp"
#include "caffe/net/test/training.hpp"
#include "caffe/test/device_scope.hpp"
#include "layrub/device/emulated_device.hpp"

namespace caffe {

/// Loads batches and nothing else.
template <typename Dtype>
class LoadingLayer : public BasePrefetchingDataLayer<Dtype> {
 public:
  explicit LoadingLayer(const LayerParameter& param) : BasePrefetchingDataLayer<Dtype>(param) {}
  virtual ~LoadingLayer() { this->StopInternalThread(); }
  virtual void DataLayerSetUp(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>& top) {
    const vector<int> shape = {8, 2, 3,
                               static_cast<int>(this->layer_param_.data_param().batch_size())};
    top[0]->Reshape(shape);
    this->transformed_data_.Reshape({1, shape[1], shape[2], shape[3]});
    for (size_t i = 0; i < this->prefetch_.size(); ++i) this->prefetch_[i]->data_.Reshape(shape);
    if (!this->output_labels_) return;
    top[1]->Reshape({8});
    for (const auto& batch : this->prefetch_) batch->label_.Reshape({8});
  }
  virtual inline const char* type() const { return "Loading"; }

 protected:
  virtual void load_batch(Batch<Dtype>* batch) {
    Datum datum;  // of 2 x 3 x batch_size
    datum.set_channels(batch->data_.channels());
    datum.set_height(batch->data_.height());
    datum.set_width(batch->data_.width());
    for (int n = 0; n < batch->data_.num(); ++n) {
      datum.mutable_data()->clear();
      for (int i = 0; i < batch->data_.count(1); ++i)
        datum.mutable_data()->push_back(static_cast<char>((i + 3 * n + 5 * batches_) % 13));
      this->transformed_data_.set_cpu_data(batch->data_.mutable_cpu_data() +
                                           batch->data_.offset(n));
      this->data_transformer_->Transform(datum, &this->transformed_data_);
      if (!this->output_labels_) continue;
      batch->label_.mutable_cpu_data()[n] = static_cast<Dtype>((n + batches_) % 4);
    }
    ++batches_;
  }
  int batches_ = 0;
};

/// Its tops share the memory of the batch that it holds, as in Caffe's own data layers.
template <typename Dtype>
class HoldingLayer : public LoadingLayer<Dtype> {
 public:
  explicit HoldingLayer(const LayerParameter& param) : LoadingLayer<Dtype>(param) {}
  virtual ~HoldingLayer() { this->StopInternalThread(); }

 protected:
  void Take(const vector<Blob<Dtype>*>& top) {
    if (this->prefetch_current_) this->prefetch_free_.push(this->prefetch_current_);
    this->prefetch_current_ = this->prefetch_full_.pop("Waiting for data");
    top[0]->ReshapeLike(this->prefetch_current_->data_);
    if (this->output_labels_) top[1]->ReshapeLike(this->prefetch_current_->label_);
  }
  virtual void Forward_cpu(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>& top) {
    Take(top);
    top[0]->set_cpu_data(this->prefetch_current_->data_.mutable_cpu_data());
    if (this->output_labels_)
      top[1]->set_cpu_data(this->prefetch_current_->label_.mutable_cpu_data());
  }
  virtual void Forward_gpu(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>& top) {
    Take(top);
    top[0]->set_gpu_data(this->prefetch_current_->data_.mutable_gpu_data());
    if (this->output_labels_)
      top[1]->set_gpu_data(this->prefetch_current_->label_.mutable_gpu_data());
  }
};

/// Changes the batch of its base class on the host: adds labels to the first pixels, and makes
/// label 3 a 2.
template <typename Dtype>
class ChangingLayer : public LoadingLayer<Dtype> {
 public:
  explicit ChangingLayer(const LayerParameter& param) : LoadingLayer<Dtype>(param) {}
  virtual ~ChangingLayer() { this->StopInternalThread(); }

 protected:
  void Change(const vector<Blob<Dtype>*>& top) {
    const Blob<Dtype>& label = this->prefetch_current_->label_;
    for (int n = 0; n < label.count(); ++n) {
      EXPECT_EQ(top[1]->cpu_data()[n], label.cpu_data()[n]);
      top[0]->mutable_cpu_data()[top[0]->offset(n)] += label.cpu_data()[n];
      top[1]->mutable_cpu_data()[n] = std::min<Dtype>(2, label.cpu_data()[n]);
    }
  }
  virtual void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    BasePrefetchingDataLayer<Dtype>::Forward_cpu(bottom, top);
    Change(top);
  }
  virtual void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    BasePrefetchingDataLayer<Dtype>::Forward_gpu(bottom, top);
    Change(top);
  }
};

INSTANTIATE_CLASS(LoadingLayer);
REGISTER_LAYER_CLASS(Loading);
INSTANTIATE_CLASS(HoldingLayer);
REGISTER_LAYER_CLASS(Holding);
INSTANTIATE_CLASS(ChangingLayer);
REGISTER_LAYER_CLASS(Changing);

namespace {

constexpr int kSteps = 6;

NetParameter NetOf(const string& type, const string& data_param) {
  return ParseNet("layer { name: 'data' top: 'data' top: 'label' type: '" + type +
                  "' data_param { " + data_param + R"( }
            transform_param { scale: 0.125 mean_value: 6 } }
    layer { name: "ip1" type: "InnerProduct" bottom: "data" top: "ip1"
            inner_product_param { num_output: 7 weight_filler { type: "xavier" } } }
    layer { name: "tanh1" type: "TanH" bottom: "ip1" top: "tanh1" }
    layer { name: "ip2" type: "InnerProduct" bottom: "tanh1" top: "ip2"
            inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" })");
}

vector<float> TrainUnplanned(const NetParameter& net) {
  OpenSolver solver(SolverFor(net));
  for (int i = 0; i < kSteps; ++i) {
    solver.net()->ClearParamDiffs();
    solver.net()->ForwardBackward();
    solver.ApplyUpdate();
  }
  return TrainedState(&solver);
}

vector<float> TrainPlanned(const NetParameter& net, const string& strategy) {
  OpenSolver solver(SolverFor(net, strategy));
  solver.mutable_placement_extra()->padding = 512;
  solver.mutable_placement_extra()->executor.poison = true;
  solver.Step(kSteps);
  EXPECT_TRUE(solver.net()->planned());
  return TrainedState(&solver);
}

/// A layer type, the size of its images (1500: so large that copies take longer than the next step)
/// and how many batches it reads ahead.
class DataSubclasses : public testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  void ExpectTheSameBitsWithEachPlan(const vector<float>& expected) {
    EXPECT_TRUE(AllFinite(expected));
    for (const char* strategy : {"keep", "hybrid", "auto"})
      EXPECT_TRUE(SameBits(TrainPlanned(net_, strategy), expected)) << strategy;
  }

  const NetParameter net_ = NetOf(std::get<0>(GetParam()), std::get<1>(GetParam()));
};

TEST_P(DataSubclasses, TrainOnTheCpu) {
  const DeviceScope scope(Caffe::chosen_device(), Caffe::CPU);
  ExpectTheSameBitsWithEachPlan(TrainUnplanned(net_));
}

TEST_P(DataSubclasses, TrainOnADevice) {
  layrub::EmulatedDevice device(int64_t{1} << 30, 0);
  vector<float> expected;
  {
    const DeviceScope scope(&device, Caffe::CPU);
    expected = TrainUnplanned(net_);
  }
  const DeviceScope scope(&device, Caffe::GPU);
  EXPECT_TRUE(SameBits(TrainUnplanned(net_), expected));
  ExpectTheSameBitsWithEachPlan(expected);
}

INSTANTIATE_TEST_SUITE_P(Types, DataSubclasses,
                         testing::Combine(testing::Values("Loading", "Holding", "Changing"),
                                          testing::Values("batch_size: 2 prefetch: 1",
                                                          "batch_size: 1500 prefetch: 4")),
                         [](const auto& info) {
                           return string(std::get<0>(info.param)) +
                                  string(std::get<1>(info.param)).back();
                         });

TEST(DataSubclass, HasOnlyADataTopWithoutLabels) {
  NetParameter param = ParseNet(
      "layer { name: 'data' top: 'data' type: 'Holding' "
      "data_param { batch_size: 2 } }");
  Net<float> net(param);
  net.Forward();
  EXPECT_EQ(net.blob_by_name("data")->cpu_data()[0], 0);
  net.Forward();
  EXPECT_EQ(net.blob_by_name("data")->cpu_data()[0], 5);
}

TEST(DataSubclass, KeepsABatchUntilTheNextForward) {
  struct Open : ChangingLayer<float> {
    using ChangingLayer<float>::ChangingLayer;
    using ChangingLayer<float>::prefetch_current_;
    using ChangingLayer<float>::prefetch_;
    ~Open() { StopInternalThread(); }
  };
  const NetParameter net = NetOf("Changing", "batch_size: 2 prefetch: 1");
  Open layer(net.layer(0));
  Blob<float> data, label;
  layer.SetUp({}, {&data, &label});
  EXPECT_EQ(layer.prefetch_current_, nullptr);
  for (int batch = 0; batch < 5; ++batch) {
    layer.Forward({}, {&data, &label});
    layer.Reshape({}, {&data, &label});
    ASSERT_NE(layer.prefetch_current_, nullptr);
    EXPECT_EQ(layer.prefetch_current_->label_.cpu_data()[0], batch % 4);
  }
}

/// Protected members that subclasses of Caffe's layers use.
struct OpenImageData : ImageDataLayer<float> {
  static_assert(std::is_same_v<decltype(lines_), vector<std::pair<std::string, int>>>);
  static_assert(std::is_same_v<decltype(lines_id_), int>);
  static_assert(std::is_same_v<decltype(prefetch_rng_), shared_ptr<Caffe::RNG>>);
  static_assert(std::is_same_v<decltype(prefetch_current_), Batch<float>*>);
  static_assert(std::is_same_v<decltype(prefetch_full_), BlockingQueue<Batch<float>*>>);
};
struct OpenWindowData : WindowDataLayer<float> {
  static_assert(NUM == 7 && IMAGE_INDEX == 0 && Y2 == 6);
  static_assert(std::is_same_v<decltype(fg_windows_), vector<vector<float>>>);
  static_assert(std::is_same_v<decltype(bg_windows_), vector<vector<float>>>);
  static_assert(
      std::is_same_v<decltype(image_database_), vector<std::pair<std::string, vector<int>>>>);
  static_assert(
      std::is_same_v<decltype(image_database_cache_), vector<std::pair<std::string, Datum>>>);
  static_assert(std::is_same_v<decltype(data_mean_), Blob<float>>);
  static_assert(std::is_same_v<decltype(mean_values_), vector<float>>);
  static_assert(std::is_same_v<decltype(has_mean_file_), bool>);
  static_assert(std::is_same_v<decltype(has_mean_values_), bool>);
  static_assert(std::is_same_v<decltype(cache_images_), bool>);
};

}  // namespace
}  // namespace caffe
