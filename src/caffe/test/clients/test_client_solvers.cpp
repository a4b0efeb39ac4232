// Solvers and data layers as Caffe's users write them: subclasses of Solver, SGDSolver and
// BasePrefetchingDataLayer, and callbacks of solvers and nets.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "caffe/caffe.hpp"
#include "caffe/layers/base_data_layer.hpp"

namespace caffe {

/// Batches 1, 2, 3, ...: batch k has 2 rows of 3 values k, and labels 0 and 1.
template <typename Dtype>
class ClientCounterDataLayer : public BasePrefetchingDataLayer<Dtype> {
 public:
  explicit ClientCounterDataLayer(const LayerParameter& param)
      : BasePrefetchingDataLayer<Dtype>(param), batches_(0) {}
  virtual ~ClientCounterDataLayer() { this->StopInternalThread(); }
  virtual void DataLayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    vector<int> shape(2, 2);
    shape[1] = 3;
    top[0]->Reshape(shape);
    for (int i = 0; i < this->prefetch_.size(); ++i) {
      this->prefetch_[i]->data_.Reshape(shape);
    }
    if (this->output_labels_) {
      vector<int> label_shape(1, 2);
      top[1]->Reshape(label_shape);
      for (int i = 0; i < this->prefetch_.size(); ++i) {
        this->prefetch_[i]->label_.Reshape(label_shape);
      }
    }
  }
  virtual inline const char* type() const { return "ClientCounterData"; }
  virtual inline int ExactNumBottomBlobs() const { return 0; }
  virtual inline int MinTopBlobs() const { return 1; }
  virtual inline int MaxTopBlobs() const { return 2; }

 protected:
  virtual void load_batch(Batch<Dtype>* batch) {
    ++batches_;
    caffe_set(batch->data_.count(), Dtype(batches_), batch->data_.mutable_cpu_data());
    if (this->output_labels_) {
      for (int i = 0; i < 2; ++i) batch->label_.mutable_cpu_data()[i] = i;
    }
  }

  int batches_;
};
INSTANTIATE_CLASS(ClientCounterDataLayer);
REGISTER_LAYER_CLASS(ClientCounterData);

/// A complete solver: subtracts base_lr * gradient from the parameters. Its state is the number of
/// updates.
template <typename Dtype>
class ClientPlainSolver : public Solver<Dtype> {
 public:
  explicit ClientPlainSolver(const SolverParameter& param) : Solver<Dtype>(param), updates_(0) {}
  explicit ClientPlainSolver(const string& param_file) : Solver<Dtype>(param_file), updates_(0) {}
  virtual inline const char* type() const { return "ClientPlain"; }
  virtual void ApplyUpdate() {
    CHECK(Caffe::root_solver());
    const vector<Blob<Dtype>*>& net_params = this->net_->learnable_params();
    for (int param_id = 0; param_id < net_params.size(); ++param_id) {
      net_params[param_id]->scale_diff(this->param_.base_lr() * this->net_->params_lr()[param_id]);
    }
    this->net_->Update();
    ++updates_;
    ++this->iter_;
  }
  int updates() const { return updates_; }

 protected:
  virtual void SnapshotSolverState(const string& model_filename) {
    SolverState state;
    state.set_iter(this->iter_);
    state.set_learned_net(model_filename);
    state.set_current_step(updates_);
    const string filename = Solver<Dtype>::SnapshotFilename(".solverstate");
    WriteProtoToBinaryFile(state, filename.c_str());
  }
  virtual void RestoreSolverStateFromBinaryProto(const string& state_file) {
    SolverState state;
    ReadProtoFromBinaryFile(state_file, &state);
    this->iter_ = state.iter();
    updates_ = state.current_step();
    NetParameter net_param;
    ReadNetParamsFromBinaryFileOrDie(state.learned_net().c_str(), &net_param);
    this->net_->CopyTrainedLayersFrom(net_param);
  }
  virtual void RestoreSolverStateFromHDF5(const string& state_file) { NOT_IMPLEMENTED; }

  int updates_;
  DISABLE_COPY_AND_ASSIGN(ClientPlainSolver);
};
INSTANTIATE_CLASS(ClientPlainSolver);
REGISTER_SOLVER_CLASS(ClientPlain);

/// Steps of base_lr against the sign of the gradient, using parts of SGDSolver.
template <typename Dtype>
class ClientSignSolver : public SGDSolver<Dtype> {
 public:
  explicit ClientSignSolver(const SolverParameter& param) : SGDSolver<Dtype>(param) {}
  virtual inline const char* type() const { return "ClientSign"; }

 protected:
  virtual void ComputeUpdateValue(int param_id, Dtype rate) {
    Blob<Dtype>* param = this->net_->learnable_params()[param_id];
    Dtype* history = this->history_[param_id]->mutable_cpu_data();
    caffe_cpu_sign(param->count(), param->cpu_diff(), history);
    caffe_cpu_scale(param->count(), rate, history, param->mutable_cpu_diff());
  }
  DISABLE_COPY_AND_ASSIGN(ClientSignSolver);
};
INSTANTIATE_CLASS(ClientSignSolver);
REGISTER_SOLVER_CLASS(ClientSign);

/// Writes its weights at times of its own choice.
template <typename Dtype>
class ClientSavingSolver : public SGDSolver<Dtype> {
 public:
  explicit ClientSavingSolver(const SolverParameter& param) : SGDSolver<Dtype>(param) {}
  string Save(bool hdf5) { return hdf5 ? this->SnapshotToHDF5() : this->SnapshotToBinaryProto(); }
};

namespace {

// y = w . x with w = (1, 1, 1) initially, loss = mean over the batch of (y - label)^2 / 2. In batch
// k y = k s, where s is the sum of w, so d loss / d w = k (k s - 1 / 2).
const char kSolver[] =
    "base_lr: 0.01 lr_policy: 'fixed' momentum: 0 weight_decay: 0 max_iter: 6 random_seed: 1 "
    "net_param { "
    "  name: 'client' "
    "  layer { name: 'data' type: 'ClientCounterData' top: 'x' top: 'label' } "
    "  layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y' "
    "          inner_product_param { num_output: 1 bias_term: false "
    "                                weight_filler { type: 'constant' value: 1 } } } "
    "  layer { name: 'loss' type: 'EuclideanLoss' bottom: 'y' bottom: 'label2' top: 'loss' } "
    "} ";

SolverParameter Param(const string& type, const string& strategy) {
  SolverParameter param;
  string text(kSolver);
  // EuclideanLoss needs equal shapes.
  const string reshape =
      "  layer { name: 'reshape' type: 'Reshape' bottom: 'label' top: 'label2' "
      "          reshape_param { shape { dim: 2 dim: 1 } } } ";
  text.insert(text.find("  layer { name: 'loss'"), reshape);
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &param));
  param.set_type(type);
  param.mutable_placement()->set_strategy(strategy);
  string folder;
  MakeTempDir(&folder);
  param.set_snapshot_prefix(folder + "/client");
  return param;
}

double Gradient(int k, double s) { return k * (k * s - 0.5); }

class ClientSolverTest : public ::testing::TestWithParam<const char*> {};

TEST_P(ClientSolverTest, SubclassOfSolverTrains) {
  shared_ptr<Solver<float> > solver(
      SolverRegistry<float>::CreateSolver(Param("ClientPlain", GetParam())));
  EXPECT_STREQ(solver->type(), "ClientPlain");
  double w = 1;
  for (int k = 1; k <= 7; ++k) {
    solver->Step(1);
    w -= 0.01 * Gradient(k, 3 * w);
    EXPECT_NEAR(solver->net()->params()[0]->cpu_data()[2], w, 1e-4) << k;
  }
  EXPECT_EQ(solver->iter(), 7);
}

TEST_P(ClientSolverTest, SubclassOfSGDSolverTrains) {
  ClientSignSolver<double> solver(Param("ClientSign", GetParam()));
  double w = 1;
  for (int k = 1; k <= 7; ++k) {
    solver.Step(1);
    const double sign = Gradient(k, 3 * w) > 0 ? 1 : -1;
    w -= 0.01 * sign;
    EXPECT_NEAR(solver.net()->params()[0]->cpu_data()[0], w, 1e-6) << k;
    EXPECT_EQ(solver.history()[0]->cpu_data()[1], sign);
  }
}

/// Reads what each layer has just computed.
class ClientWatcher : public Net<float>::Callback {
 public:
  explicit ClientWatcher(const Net<float>* net) : net_(net), seen_(net->layers().size()) {}
  float seen(int layer) const { return seen_[layer]; }

 protected:
  virtual void run(int layer) { seen_[layer] = net_->top_vecs()[layer][0]->cpu_data()[0]; }

  const Net<float>* net_;
  vector<float> seen_;
};

TEST_P(ClientSolverTest, ShowsEachLayersTopToACallback) {
  ClientPlainSolver<float> solver(Param("ClientPlain", GetParam()));
  ClientWatcher watcher(solver.net().get());
  solver.net()->add_after_forward(&watcher);
  double w = 1;
  for (int k = 1; k <= 7; ++k) {
    solver.Step(1);
    const double y = k * 3 * w;
    EXPECT_EQ(watcher.seen(0), k);
    EXPECT_NEAR(watcher.seen(1), y, 1e-4) << k;
    EXPECT_NEAR(watcher.seen(3), (y * y + (y - 1) * (y - 1)) / 4, 1e-3) << k;
    w -= 0.01 * Gradient(k, 3 * w);
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, ClientSolverTest, ::testing::Values("auto", "keep", "hybrid"),
                         [](const ::testing::TestParamInfo<const char*>& test) {
                           return string(test.param);
                         });

TEST(ClientSolver, WritesAndRestoresItsOwnState) {
  const SolverParameter param = Param("ClientPlain", "auto");
  ClientPlainSolver<float> solver(param);
  solver.Step(3);
  solver.Snapshot();
  const string file = param.snapshot_prefix() + "_iter_3.solverstate";
  ClientPlainSolver<float> restored(param);
  restored.Restore(file.c_str());
  EXPECT_EQ(restored.iter(), 3);
  EXPECT_EQ(restored.updates(), 3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(restored.net()->params()[0]->cpu_data()[i], solver.net()->params()[0]->cpu_data()[i]);
  }
  restored.Solve();
  EXPECT_EQ(restored.updates(), param.max_iter());
}

TEST_P(ClientSolverTest, SubclassWritesTheWeights) {
  const SolverParameter param = Param("SGD", GetParam());
  ClientSavingSolver<float> solver(param);
  for (const bool hdf5 : {false, true}) {
#ifndef USE_HDF5
    if (hdf5) continue;
#endif
    solver.Step(1);
    const string file = solver.Save(hdf5);
    EXPECT_EQ(file, param.snapshot_prefix() + "_iter_" + std::to_string(solver.iter()) +
                        (hdf5 ? ".caffemodel.h5" : ".caffemodel"));
    Net<float> net(param.net_param());
    net.CopyTrainedLayersFrom(file);
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(net.params()[0]->cpu_data()[i], solver.net()->params()[0]->cpu_data()[i]);
  }
}

class ClientRecorder : public Solver<float>::Callback, public Net<float>::Callback {
 public:
  explicit ClientRecorder(Solver<float>* solver) : solver_(solver), starts_(0) {}
  int starts() const { return starts_; }
  const vector<float>& gradients() const { return gradients_; }
  const vector<int>& layers() const { return layers_; }

 protected:
  virtual void on_start() { ++starts_; }
  // As in data-parallel training: all gradients are complete and may be changed.
  virtual void on_gradients_ready() {
    Blob<float>* param = solver_->net()->learnable_params()[0];
    gradients_.push_back(param->cpu_diff()[0]);
    param->scale_diff(0);
  }
  virtual void run(int layer) { layers_.push_back(layer); }

  Solver<float>* solver_;
  int starts_;
  vector<float> gradients_;
  vector<int> layers_;
};

TEST(ClientSolver, CallsBackAndStopsWhenAsked) {
  SGDSolver<float> solver(Param("SGD", "auto"));
  ClientRecorder recorder(&solver);
  solver.add_callback(&recorder);
  solver.net()->add_after_forward(&recorder);
  solver.net()->add_before_backward(&recorder);
  int asked = 0;
  solver.SetActionFunction(
      [&asked]() { return ++asked == 2 ? SolverAction::STOP : SolverAction::NONE; });
  solver.Solve();
  EXPECT_EQ(solver.iter(), 2);
  EXPECT_EQ(recorder.starts(), 2);
  ASSERT_EQ(recorder.gradients().size(), 2);
  EXPECT_NEAR(recorder.gradients()[0], Gradient(1, 3), 1e-5);
  EXPECT_NEAR(recorder.gradients()[1], Gradient(2, 3), 1e-5);
  EXPECT_EQ(solver.net()->params()[0]->cpu_data()[0], 1);
  const vector<int> each = {0, 1, 2, 3, 3, 2, 1, 0};
  ASSERT_EQ(recorder.layers().size(), 16);
  EXPECT_EQ(vector<int>(recorder.layers().begin(), recorder.layers().begin() + 8), each);
}

}  // namespace
}  // namespace caffe
