#ifndef CAFFE_SOLVERS_TEST_PARALLEL_TRAINING_HPP_
#define CAFFE_SOLVERS_TEST_PARALLEL_TRAINING_HPP_

#include <unistd.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "caffe/net/test/training.hpp"
#include "caffe/parallel.hpp"
#include "caffe/test/device_scope.hpp"
#include "caffe/test/devices_like_this.hpp"
#include "caffe/util/db.hpp"

namespace caffe {

/// While an object exists, solvers made by this thread are the first of `count`.
class SolverCount {
 public:
  explicit SolverCount(int count) { Caffe::set_solver_count(count); }
  ~SolverCount() { Caffe::set_solver_count(1); }
};

/// Returns a group of `count` members on devices like this thread's.
inline layrub::Group Threads(int count) { return layrub::ConnectThreads(DevicesLikeThis(count)); }

/// Returns the learned parameters in one array. (Statistics differ between solvers.)
inline std::vector<float> Learned(Solver<float>* solver) {
  // Must be read on the solver's device.
  const DeviceScope scope(solver->net()->planned()->executor().backend()->device());
  std::vector<float> values;
  const Net<float>& net = *solver->net();
  for (size_t i = 0; i < net.learnable_params().size(); ++i) {
    const Blob<float>& param = *net.learnable_params()[i];
    if (net.params_lr()[i] != 0)
      values.insert(values.end(), param.cpu_data(), param.cpu_data() + param.count());
  }
  return values;
}

/// Trains with `solvers` solvers and returns the state of the root. Expects that the others have
/// learned the same.
inline std::vector<float> TrainTogether(const SolverParameter& param, int solvers, int iterations) {
  const SolverCount count(solvers);
  OpenSolver root(param);
  ParallelSolvers<float> all(&root, Threads(solvers));
  const layrub::Status status = all.Start();
  EXPECT_TRUE(status.ok()) << status.message;
  if (!status.ok()) return {};
  root.Step(iterations);
  all.Finish();
  for (int rank = 1; rank < solvers; ++rank) {
    EXPECT_EQ(all.solver(rank)->iter(), root.iter());
    EXPECT_TRUE(SameBits(Learned(all.solver(rank)), Learned(&root))) << "solver " << rank;
  }
  return TrainedState(&root);
}

/// A database of random items of 2 x 8 x 8 numbers with labels 0 .. 4, and nets that read it.
class Items {
 public:
  explicit Items(int count = 48)
      : path_(::testing::TempDir() + "items_" + std::to_string(getpid())) {
    std::unique_ptr<db::DB> database(db::GetDB(DataParameter_DB_LMDB));
    database->Open(path_, db::NEW);
    std::unique_ptr<db::Transaction> transaction(database->NewTransaction());
    std::mt19937 random(7);
    for (int i = 0; i < count; ++i) {
      Datum datum;
      datum.set_channels(2);
      datum.set_height(8);
      datum.set_width(8);
      datum.set_label(static_cast<int>(random() % 5));
      for (int k = 0; k < 2 * 8 * 8; ++k)
        datum.add_float_data(static_cast<float>(random() % 2001) / 1000.0f - 1.0f);
      transaction->Put("item" + std::to_string(1000 + i), datum.SerializeAsString());
    }
    transaction->Commit();
  }
  ~Items() { std::filesystem::remove_all(path_); }

  NetParameter Net(int batch) const {
    return ParseNet(R"(
      name: "classifier"
      layer {
        name: "data" type: "Data" top: "data" top: "label"
        data_param { backend: LMDB source: ")" +
                    path_ + "\" batch_size: " + std::to_string(batch) + R"( }
      }
      layer {
        name: "conv" type: "Convolution" bottom: "data" top: "conv"
        convolution_param { num_output: 6 kernel_size: 3 weight_filler { type: "xavier" } }
      }
      layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
      layer {
        name: "ip1" type: "InnerProduct" bottom: "conv" top: "ip1"
        inner_product_param { num_output: 12 weight_filler { type: "xavier" } }
      }
      layer { name: "tanh" type: "TanH" bottom: "ip1" top: "tanh" }
      layer {
        name: "ip2" type: "InnerProduct" bottom: "tanh" top: "ip2"
        inner_product_param { num_output: 5 weight_filler { type: "xavier" } }
      }
      layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" })");
  }

 private:
  const std::string path_;
};

}  // namespace caffe

#endif  // CAFFE_SOLVERS_TEST_PARALLEL_TRAINING_HPP_
