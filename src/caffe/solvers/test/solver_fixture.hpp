#ifndef CAFFE_SOLVERS_TEST_SOLVER_FIXTURE_HPP_
#define CAFFE_SOLVERS_TEST_SOLVER_FIXTURE_HPP_

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "caffe/sgd_solvers.hpp"
#include "caffe/util/io.hpp"

namespace caffe {

/// The snapshot formats that this build can write.
inline vector<string> SnapshotFormats() {
#ifdef USE_HDF5
  return {"BINARYPROTO", "HDF5"};
#else
  return {"BINARYPROTO"};
#endif
}

inline SolverParameter ParseSolver(const string& text) {
  SolverParameter param;
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &param)) << text;
  return param;
}

/// A net with known gradients: two items of three ones, through one neuron whose output is the
/// loss. The derivative of every weight and of the bias is 2 in each iteration.
inline string LinearNet(const string& param_fields = "") {
  return R"(
    name: "linear"
    layer {
      name: "data" type: "DummyData" top: "data"
      dummy_data_param { shape { dim: 2 dim: 3 } data_filler { type: "constant" value: 1 } }
    }
    layer {
      name: "ip" type: "InnerProduct" bottom: "data" top: "ip" loss_weight: 1 )" +
         param_fields + R"(
      inner_product_param {
        num_output: 1
        weight_filler { type: "constant" value: 0.5 }
        bias_filler { type: "constant" value: -0.25 }
      }
    }
  )";
}
constexpr double kGradient = 2, kWeight = 0.5, kBias = -0.25;

/// A small classifier on random data, new in each iteration.
inline string ClassifierNet() {
  return R"(
    name: "classifier"
    layer {
      name: "data" type: "DummyData" top: "data" top: "label"
      dummy_data_param {
        shape { dim: 4 dim: 2 dim: 6 dim: 6 } shape { dim: 4 }
        data_filler { type: "gaussian" std: 1 } data_filler { type: "constant" value: 1 }
      }
    }
    layer {
      name: "conv" type: "Convolution" bottom: "data" top: "conv"
      convolution_param { num_output: 3 kernel_size: 3 weight_filler { type: "xavier" } }
    }
    layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
    layer {
      name: "ip" type: "InnerProduct" bottom: "conv" top: "ip"
      inner_product_param { num_output: 3 weight_filler { type: "xavier" } }
    }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
  )";
}

/// The fields of every solver type, with its name.
inline vector<string> SolverKinds() {
  return {"momentum: 0.9",
          "type: 'Nesterov' momentum: 0.9",
          "type: 'AdaGrad'",
          "type: 'RMSProp' rms_decay: 0.95",
          "type: 'AdaDelta' momentum: 0.95 delta: 1e-4 base_lr: 1",
          "type: 'Adam' momentum: 0.9 momentum2: 0.99 delta: 1e-6"};
}
/// The type's name, as a suffix of test names.
inline string KindName(const testing::TestParamInfo<string>& kind) {
  return ParseSolver(kind.param).type();
}

/// Returns parameters and history in one array.
template <typename Dtype>
vector<Dtype> State(Solver<Dtype>* solver) {
  vector<Dtype> values;
  const auto append = [&](const Blob<Dtype>& blob) {
    values.insert(values.end(), blob.cpu_data(), blob.cpu_data() + blob.count());
  };
  for (const Blob<Dtype>* param : solver->net()->learnable_params()) append(*param);
  for (const auto& blobs : solver->ParameterHistory()) {
    for (const Blob<Dtype>* blob : blobs) append(*blob);
  }
  return values;
}

/// Makes a solver of `net` with the fields `fields`. The default is SGD with base_lr 0.1 and a
/// fixed policy.
template <typename Dtype = float>
std::unique_ptr<SGDSolver<Dtype>> MakeSolver(const string& net, const string& fields) {
  const string defaults =
      "base_lr: 0.1 lr_policy: 'fixed' random_seed: 7 snapshot_after_train: false ";
  SolverParameter param = ParseSolver(defaults);
  param.MergeFrom(ParseSolver(fields));
  CHECK(google::protobuf::TextFormat::ParseFromString(net, param.mutable_net_param()));
  return std::unique_ptr<SGDSolver<Dtype>>(
      dynamic_cast<SGDSolver<Dtype>*>(SolverRegistry<Dtype>::CreateSolver(param)));
}

template <typename Dtype>
vector<Dtype> Parameters(Solver<Dtype>* solver) {
  vector<Dtype> values;
  for (const Blob<Dtype>* param : solver->net()->learnable_params()) {
    values.insert(values.end(), param->cpu_data(), param->cpu_data() + param->count());
  }
  return values;
}

/// Returns the bits of the values, so that -0 and 0 differ.
template <typename Dtype>
string Bits(const vector<Dtype>& values) {
  return string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Dtype));
}

inline string NewFolder() {
  string folder;
  MakeTempDir(&folder);
  return folder;
}

}  // namespace caffe

#endif  // CAFFE_SOLVERS_TEST_SOLVER_FIXTURE_HPP_
