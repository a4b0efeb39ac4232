// A program that embeds the library and continues after errors: each failure is an exception.
// Afterwards the same process trains a good net, with the same bits as a process without errors.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "caffe/caffe.hpp"
#include "caffe/util/db.hpp"

namespace caffe {

/// A layer that reads more than it declares.
template <typename Dtype>
class ClientSneakyLayer : public Layer<Dtype> {
 public:
  explicit ClientSneakyLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  virtual void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    top[0]->ReshapeLike(*bottom[0]);
  }
  virtual inline const char* type() const { return "ClientSneaky"; }
  virtual MemoryTraits Traits(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&,
                              const vector<bool>&) const {
    MemoryTraits traits;
    traits.declared = true;
    traits.forward = {"only", {BottomData(0)}, {TopData(0)}, {}, 0, 0};
    traits.backward.push_back({"only", {TopDiff(0)}, {BottomDiff(0)}, {}, 0, 0});
    return traits;
  }

 protected:
  virtual void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    caffe_copy(bottom[0]->count(), bottom[0]->cpu_data(), top[0]->mutable_cpu_data());
  }
  virtual void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>&,
                            const vector<Blob<Dtype>*>& bottom) {
    caffe_mul(bottom[0]->count(), top[0]->cpu_diff(), bottom[0]->cpu_data(),
              bottom[0]->mutable_cpu_diff());
  }
};
INSTANTIATE_CLASS(ClientSneakyLayer);
REGISTER_LAYER_CLASS(ClientSneaky);

namespace {

namespace fs = std::filesystem;

NetParameter Parse(const string& text) {
  NetParameter net;
  if (!google::protobuf::TextFormat::ParseFromString(text, &net)) ADD_FAILURE() << text;
  net.mutable_state()->set_phase(TRAIN);
  return net;
}

const char kInput[] = R"(layer { name: "in" type: "Input" top: "x"
    input_param { shape { dim: 2 dim: 3 dim: 8 dim: 8 } } })";

string Layered(const string& type, const string& more = "", const string& bottom = "x") {
  return kInput + (" layer { name: 'lay' type: '" + type + "' bottom: '" + bottom + "' top: 'y' ") +
         more + " }";
}

const char kTrained[] = R"(
    layer { name: "data" type: "DummyData" top: "data" top: "label"
            dummy_data_param { shape { dim: 8 dim: 6 } shape { dim: 8 }
                               data_filler { type: "gaussian" std: 1 }
                               data_filler { type: "constant" value: 1 } } }
    layer { name: "ip1" type: "InnerProduct" bottom: "data" top: "ip1"
            inner_product_param { num_output: 16 weight_filler { type: "xavier" } } }
    layer { name: "relu" type: "ReLU" bottom: "ip1" top: "ip1" }
    layer { name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2"
            inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" })";

SolverParameter SolverOf(const NetParameter& net) {
  SolverParameter solver;
  *solver.mutable_net_param() = net;
  solver.set_base_lr(0.05f);
  solver.set_lr_policy("fixed");
  solver.set_momentum(0.9f);
  solver.set_max_iter(5);
  solver.set_random_seed(7);
  solver.set_snapshot_after_train(false);
  solver.mutable_placement()->set_strategy("hybrid");
  return solver;
}

vector<float> Trained(Solver<float>* solver) {
  vector<float> weights;
  for (const Blob<float>* param : solver->net()->learnable_params())
    weights.insert(weights.end(), param->cpu_data(), param->cpu_data() + param->count());
  return weights;
}

/// Trains the good net and returns its weights.
vector<float> TrainGoodNet() {
  shared_ptr<Solver<float>> solver(SolverRegistry<float>::CreateSolver(SolverOf(Parse(kTrained))));
  solver->Solve();
  return Trained(solver.get());
}

class ClientErrors : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    Caffe::set_throw_on_error(true);
    good_ = new vector<float>(TrainGoodNet());
    char folder[] = "/tmp/client_errors.XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    folder_ = new string(folder);
  }
  static void TearDownTestSuite() {
    fs::remove_all(*folder_);
    delete folder_;
    delete good_;
    Caffe::set_throw_on_error(false);
  }
  void TearDown() override { EXPECT_EQ(TrainGoodNet(), *good_) << "the process is not as before"; }

  static string File(const string& name) { return *folder_ + "/" + name; }
  static string Written(const string& name, const string& text) {
    std::ofstream(File(name), std::ios::binary) << text;
    return File(name);
  }

  /// Expects `work` to throw an Error whose message contains `expected`.
  static void Throws(const string& expected, const std::function<void()>& work) {
    try {
      work();
    } catch (const Error& error) {
      EXPECT_NE(string(error.what()).find(expected), string::npos)
          << error.what() << "\n  does not say: " << expected;
      return;
    }
    ADD_FAILURE() << "no error, expected: " << expected;
  }
  static void NetThrows(const string& expected, const string& text) {
    Throws(expected, [&] { Net<float> net(Parse(text)); });
  }
  static void SolverThrows(const string& expected, const SolverParameter& param) {
    Throws(expected, [&] {
      shared_ptr<Solver<float>> solver(SolverRegistry<float>::CreateSolver(param));
      solver->Step(1);
    });
  }

  static vector<float>* good_;
  static string* folder_;
};
vector<float>* ClientErrors::good_ = nullptr;
string* ClientErrors::folder_ = nullptr;

TEST_F(ClientErrors, NetsThatCannotBeRead) {
  Throws("missing.prototxt", [] { Net<float> net(File("missing.prototxt"), TRAIN); });
  const string bad = Written("bad.prototxt", "name: \"x\"\nlayer {\n  typo: 1\n}\n");
  Throws("bad.prototxt", [&] { Net<float> net(bad, TRAIN); });
  Throws("missing.prototxt", [] { SGDSolver<float> solver(File("missing.prototxt")); });
}

TEST_F(ClientErrors, InvalidNets) {
  NetThrows("has no layers", "name: 'empty'");
  NetThrows("unknown layer type: Relu", Layered("Relu"));
  NetThrows("Unknown bottom blob 'nowhere'", Layered("ReLU", "", "nowhere"));
  NetThrows("produced by multiple sources", Layered("ReLU") + Layered("TanH"));
  NetThrows("axis 9 out of range",
            Layered("InnerProduct", "inner_product_param { num_output: 2 axis: 9 }"));
  NetThrows("lay", Layered("Convolution", "convolution_param { num_output: 2 }"));
  NetThrows("the kernel does not fit",
            Layered("Convolution", "convolution_param { num_output: 2 kernel_size: 30 }"));
  NetThrows("Unknown filler name: xaver",
            Layered("InnerProduct",
                    "inner_product_param { num_output: 2 weight_filler { type: 'xaver' } }"));
  NetThrows("exceeds INT_MAX",
            Layered("InnerProduct", "inner_product_param { num_output: 2000000000 }"));
  NetThrows("lay",
            Layered("Eltwise", "bottom: 'z'") + "layer { name: 'other' type: 'Input' top: 'z' }");
}

TEST_F(ClientErrors, MissingSources) {
  NetThrows("/nowhere", R"(layer { name: "d" type: "Data" top: "x"
                           data_param { source: "/nowhere" backend: LMDB batch_size: 2 } })");
  NetThrows("/nowhere", R"(layer { name: "d" type: "Data" top: "x"
                           data_param { source: "/nowhere" backend: LEVELDB batch_size: 2 } })");
  NetThrows("the source does not exist",
            R"(layer { name: "d" type: "Data" top: "x" data_param { source: ")" +
                std::string(300, 'x') + R"(" backend: LMDB batch_size: 2 } })");
  NetThrows("/nowhere", R"(layer { name: "d" type: "ImageData" top: "x" top: "y"
                           image_data_param { source: "/nowhere" batch_size: 2 } })");
  NetThrows("/nowhere", R"(layer { name: "d" type: "HDF5Data" top: "x"
                           hdf5_data_param { source: "/nowhere" batch_size: 2 } })");
  NetThrows("/nowhere", R"(layer { name: "d" type: "WindowData" top: "x" top: "y"
                           window_data_param { source: "/nowhere" batch_size: 2 } })");
}

TEST_F(ClientErrors, WeightsThatDoNotFit) {
  Net<float> net(Parse(kTrained));
  Throws("missing.caffemodel", [&] { net.CopyTrainedLayersFrom(File("missing.caffemodel")); });
  const string bad = Written("bad.caffemodel", "this is no model");
  Throws("bad.caffemodel", [&] { net.CopyTrainedLayersFrom(bad); });
  const string bad_h5 = Written("bad.caffemodel.h5", "this is no model");
  Throws("bad.caffemodel.h5", [&] { net.CopyTrainedLayersFrom(bad_h5); });
  string other = kTrained;
  other.replace(other.find("num_output: 16"), 14, "num_output: 17");
  Net<float> wider(Parse(other));
  NetParameter saved;
  wider.ToProto(&saved);
  Throws("ip1", [&] { net.CopyTrainedLayersFrom(saved); });
  Throws("ip1", [&] { net.ShareTrainedLayersWith(&wider); });
  EXPECT_GT(net.ForwardBackward(), 0) << "the net is as it was";
}

TEST_F(ClientErrors, NetWorksAfterABadLabel) {
  for (const bool planned : {false, true}) {
    const string text = string(kInput) + R"(
        layer { name: "label" type: "Input" top: "label" input_param { shape { dim: 2 } } }
        layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip"
                inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
        layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" })";
    Net<float> net(Parse(text)), other(Parse(text));
    other.ShareTrainedLayersWith(&net);
    PlacementOptions options;
    options.strategy = "hybrid";
    if (planned) {
      ASSERT_TRUE(net.Place(options).ok());
    }
    const auto fill = [](Net<float>* into, float label) {
      Blob<float>* x = into->input_blobs()[0];
      for (int i = 0; i < x->count(); ++i) x->mutable_cpu_data()[i] = 0.01f * (i % 17);
      caffe_set(2, label, into->input_blobs()[1]->mutable_cpu_data());
    };
    fill(&net, 7);
    Throws("label", [&] { net.Forward(); });
    fill(&net, 1);
    fill(&other, 1);
    EXPECT_EQ(net.ForwardBackward(), other.ForwardBackward());
    EXPECT_EQ(net.planned() != nullptr, planned);
    const Blob<float>& gradient = *net.params()[0];
    EXPECT_EQ(0, std::memcmp(gradient.cpu_diff(), other.params()[0]->cpu_diff(),
                             gradient.count() * sizeof(float)));
  }
}

TEST_F(ClientErrors, UndeclaredReadOfALayerUnderAPlan) {
  string text = kTrained;
  text.replace(text.find("type: \"ReLU\" bottom: \"ip1\" top: \"ip1\""), 37,
               "type: \"ClientSneaky\" bottom: \"ip1\" top: \"sneaky\"");
  text.replace(text.find("bottom: \"ip1\" top: \"ip2\""), 24, "bottom: \"sneaky\" top: \"ip2\"");
  SolverParameter param = SolverOf(Parse(text));
  shared_ptr<Solver<float>> solver(SolverRegistry<float>::CreateSolver(param));
  const vector<float> before = Trained(solver.get());
  for (int i = 0; i < 2; ++i) {
    Throws("do not declare", [&] { solver->Step(1); });
    EXPECT_EQ(Trained(solver.get()), before) << "what lives across passes is there";
  }
}

/// Makes a database of `records` images, of which number `bad` is damaged.
string MakeDatabase(const string& path, int records, int bad) {
  shared_ptr<db::DB> database(db::GetDB("lmdb"));
  database->Open(path, db::NEW);
  shared_ptr<db::Transaction> transaction(database->NewTransaction());
  for (int i = 0; i < records; ++i) {
    Datum datum;
    datum.set_channels(1);
    datum.set_height(2);
    datum.set_width(2);
    datum.set_label(i % 3);
    datum.set_data(string(4, static_cast<char>(i)));
    string value;
    datum.SerializeToString(&value);
    transaction->Put("0000" + std::to_string(i), i == bad ? "this is no Datum" : value);
  }
  transaction->Commit();
  return path;
}

TEST_F(ClientErrors, DamagedRecordReachesTheReaderOfTheBatch) {
  const string path = MakeDatabase(File("damaged_lmdb"), 9, 6);
  const string text = "layer { name: 'd' type: 'Data' top: 'x' top: 'l' data_param { source: '" +
                      path + "' backend: LMDB batch_size: 2 } }";
  {
    Net<float> net(Parse(text));
    for (int i = 0; i < 3; ++i) net.Forward();  // batches before the bad record
    Throws("damaged_lmdb", [&] { net.Forward(); });
    Throws("damaged_lmdb", [&] { net.Forward(); });
  }
  SolverParameter param = SolverOf(Parse(text + R"(
      layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip"
              inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
      layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "l" top: "loss" })"));
  shared_ptr<Solver<float>> solver(SolverRegistry<float>::CreateSolver(param));
  Throws("damaged_lmdb", [&] { solver->Step(10); });
  EXPECT_EQ(solver->iter(), 3);
}

TEST_F(ClientErrors, SolversThatCannotStart) {
  const NetParameter net = Parse(kTrained);
  SolverThrows("", SolverParameter());
  SolverParameter param = SolverOf(net);
  param.set_type("NoSolver");
  SolverThrows("NoSolver", param);
  param = SolverOf(net);
  param.set_iter_size(0);
  SolverThrows("iter_size", param);
  param = SolverOf(net);
  param.set_lr_policy("magic");
  SolverThrows("magic", param);
  param = SolverOf(net);
  param.mutable_placement()->set_device_memory("1KiB");
  SolverThrows("device memory", param);
  param = SolverOf(net);
  param.mutable_placement()->set_strategy("hybird");
  SolverThrows("hybird", param);
  param = SolverOf(net);
  param.mutable_placement()->set_spill_file("/nowhere/spill");
  param.mutable_placement()->set_strategy("vdnn_all");
  param.mutable_placement()->set_device_memory("2KiB");
  SolverThrows("", param);
  param = SolverOf(net);
  param.set_snapshot(1);
  param.set_snapshot_prefix("/nowhere/folder/prefix");
  SolverThrows("/nowhere/folder", param);
}

TEST_F(ClientErrors, ResumingFromAnInvalidState) {
  shared_ptr<Solver<float>> solver(SolverRegistry<float>::CreateSolver(SolverOf(Parse(kTrained))));
  const string missing = File("missing.solverstate");
  Throws("missing.solverstate", [&] { solver->Restore(missing.c_str()); });
  const string bad = Written("bad.solverstate", "this is no state");
  Throws("bad.solverstate", [&] { solver->Restore(bad.c_str()); });
  const string bad_h5 = Written("bad.solverstate.h5", "this is no state");
  Throws("bad.solverstate.h5", [&] { solver->Restore(bad_h5.c_str()); });
}

TEST_F(ClientErrors, MisuseOfBlobs) {
  Throws("exceeds INT_MAX", [] { Blob<float> blob(65536, 65536, 1, 1); });
  Throws("is negative", [] { Blob<float> blob(1, -1, 1, 1); });
  Blob<float> a(1, 2, 3, 4), b(1, 2, 3, 5);
  Throws("different sizes", [&] { a.CopyFrom(b); });
  Throws("same count", [&] { a.ShareData(b); });
  EXPECT_EQ(a.count(), 24);
  a.mutable_cpu_data()[23] = 5;
  EXPECT_EQ(a.cpu_data()[23], 5);
}

TEST_F(ClientErrors, SingleThreadCanEnableExceptions) {
  Caffe::set_throw_on_error(false);
  {
    const ThrowOnError scope;
    Throws("is negative", [] { Blob<float> blob(1, -1, 1, 1); });
  }
  EXPECT_DEATH(Blob<float> blob(1, -1, 1, 1), "is negative");
  Caffe::set_throw_on_error(true);
}

}  // namespace
}  // namespace caffe
