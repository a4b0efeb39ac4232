#ifndef CAFFE_PARTITION_TEST_DIVIDED_NETS_HPP_
#define CAFFE_PARTITION_TEST_DIVIDED_NETS_HPP_

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "caffe/caffe.hpp"
#include "caffe/device_group.hpp"
#include "caffe/divided_training.hpp"
#include "caffe/partition.hpp"
#include "caffe/solver_nets.hpp"
#include "caffe/test/device_scope.hpp"
#include "caffe/test/devices_like_this.hpp"
#include "layrub/device/communicator.hpp"

// Trains nets as a whole, and divided among devices. A thread plays each device.

namespace caffe {
namespace testing {

inline NetParameter NetOfText(const string& text) {
  NetParameter net;
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &net)) << text;
  return net;
}

inline SolverParameter SolverOf(const NetParameter& net) {
  SolverParameter param;
  *param.mutable_net_param() = net;
  param.set_type("SGD");
  param.set_base_lr(0.05f);
  param.set_momentum(0.9f);
  param.set_weight_decay(0.01f);
  param.set_lr_policy("fixed");
  param.set_random_seed(7);
  param.set_max_iter(3);
  param.set_snapshot_after_train(false);
  param.mutable_placement()->set_deterministic(true);
  return param;
}

/// Like `caffe::AxesOf`, but sources open no files.
inline NetAxes AxesOfNet(const NetParameter& net, Phase phase = TRAIN) {
  NetParameter with_state = net, filtered;
  with_state.mutable_state()->set_phase(phase);
  Net<double>::FilterNet(with_state, &filtered);
  return AxesOf(filtered, filtered, layrub::Machine());
}

/// The solver of each device, with the test net of the same net if `whole` has test_iter.
inline SolverParameter LocalSolver(const SolverParameter& whole, const NetAxes& axes,
                                   const layrub::partition::Partition& partition) {
  SolverParameter local = whole;
  local.clear_net_param();
  *local.mutable_train_net_param() = LocalNet(axes, partition);
  if (whole.test_iter_size() > 0) {
    const NetAxes test = AxesOfNet(whole.net_param(), TEST);
    *local.add_test_net_param() = LocalNet(test, PartitionLike(test, axes, partition));
  }
  return local;
}

/// The trained parameters of a net, by layer and number.
using Weights = map<string, vector<double>>;

inline void ExpectClose(const Weights& a, const Weights& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, values] : a) {
    ASSERT_TRUE(b.count(name)) << name;
    ASSERT_EQ(values.size(), b.at(name).size()) << name;
    double largest = 0;
    for (const double value : values) largest = std::max(largest, std::abs(value));
    for (size_t i = 0; i < values.size(); ++i)
      ASSERT_NEAR(values[i], b.at(name)[i], tolerance * std::max(largest, 1e-3))
          << name << " " << i;
  }
}

inline Weights WeightsOf(const NetParameter& net) {
  Weights weights;
  for (const LayerParameter& layer : net.layer()) {
    for (int i = 0; i < layer.blobs_size(); ++i) {
      Blob<double> blob;
      blob.FromProto(layer.blobs(i), true);
      weights[layer.name() + "." + std::to_string(i)].assign(blob.cpu_data(),
                                                             blob.cpu_data() + blob.count());
    }
  }
  return weights;
}

inline Weights TrainWhole(const SolverParameter& param) {
  std::unique_ptr<Solver<double>> solver(SolverRegistry<double>::CreateSolver(param));
  solver->Solve();
  NetParameter net;
  solver->net()->ToProto(&net);
  return WeightsOf(net);
}

/// A member of a group that fails at its message number `fails_at`, sent or received.
class FailingMember : public layrub::Communicator {
 public:
  FailingMember(layrub::Communicator* member, int fails_at)
      : member_(member), fails_at_(fails_at) {}
  int messages() const { return messages_; }

  int rank() const override { return member_->rank(); }
  int size() const override { return member_->size(); }
  layrub::Device* device() const override { return member_->device(); }
  void Broadcast(const std::vector<layrub::Values>& values) override { member_->Broadcast(values); }
  void Sum(const std::vector<layrub::Values>& values) override { member_->Sum(values); }
  void Wait() override { member_->Wait(); }
  void Synchronize() override { member_->Synchronize(); }
  void Send(int to, std::string message, layrub::Channel channel) override {
    Count();
    member_->Send(to, std::move(message), channel);
  }
  std::optional<std::string> Receive(int from, double seconds, layrub::Channel channel) override {
    Count();
    return member_->Receive(from, seconds, channel);
  }
  void Abort(const std::string& reason) override { member_->Abort(reason); }

 private:
  void Count() {
    if (messages_++ == fails_at_) throw std::runtime_error("this member fails");
  }

  layrub::Communicator* const member_;
  const int fails_at_;
  int messages_ = 0;
};

/// Runs `run` on a thread for each of `devices`, and rethrows the first error.
inline void OnDevices(int devices, const std::function<void(layrub::Communicator*)>& run) {
  const layrub::Group group = GroupLikeThis(devices);
  const Caffe::Brew mode = Caffe::mode();
  // Protobuf makes the default of a text field at its first use, under a lock that the thread
  // sanitizer does not see.
  EXPECT_FALSE(SolverParameter().eval_type().empty());
  std::mutex mutex;
  std::exception_ptr error;
  std::vector<std::thread> threads;
  for (const auto& member : group) {
    threads.emplace_back([&, communicator = member.get()] {
      const DeviceScope on_device(communicator->device(), mode);
      Caffe::set_solver_rank(communicator->rank());
      try {
        const DeviceGroupScope scope(communicator);
        run(communicator);
      } catch (const layrub::GroupFailed&) {
        // Another device reports the reason.
      } catch (const std::exception& failure) {
        communicator->Abort(failure.what());
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (error) std::rethrow_exception(error);
}

/// Trains the net of `whole`, divided among devices with the solver `local` on each. Returns the
/// weights of the whole net from a snapshot.
inline Weights TrainDivided(const SolverParameter& whole, const SolverParameter& local, int devices,
                            const string& prefix) {
  SolverParameter with_snapshot = whole, local_with = local;
  for (SolverParameter* param : {&with_snapshot, &local_with}) {
    param->set_snapshot_prefix(prefix);
    param->set_snapshot_after_train(true);
  }
  OnDevices(devices, [&](layrub::Communicator* group) {
    const std::unique_ptr<Solver<double>> solver(SolverRegistry<double>::CreateSolver(local_with));
    DividedTraining<double> training(solver.get(), with_snapshot, group);
    const layrub::Status placed = training.Place();
    CHECK(placed.ok()) << placed.message;
    training.Solve();
  });
  NetParameter net;
  ReadProtoFromBinaryFileOrDie(prefix + "_iter_" + std::to_string(whole.max_iter()) + ".caffemodel",
                               &net);
  return WeightsOf(net);
}

}  // namespace testing
}  // namespace caffe

#endif  // CAFFE_PARTITION_TEST_DIVIDED_NETS_HPP_
