#include "layrub/divided_solver.hpp"

#include <glog/logging.h>

#include <algorithm>
#include <climits>
#include <utility>

#include "caffe/solver_nets.hpp"
#include "caffe/util/rng.hpp"
#include "caffe/util/signal_handler.h"
#include "layrub/commands.hpp"
#include "layrub/flags.hpp"
#include "layrub/partitioned_nets.hpp"
#include "layrub/ranks.hpp"

namespace layrub_tool {

using caffe::SolverParameter;

namespace {

void RefuseIndivisible(const SolverParameter& whole, const WantedNets& nets) {
  if (whole.snapshot_diff())
    Fail("--partition: snapshot_diff is for nets that are not divided; leave it out.");
  std::vector<caffe::NetParameter> all = nets.tests;
  all.push_back(nets.net);
  for (const caffe::NetParameter& net : all) {
    caffe::NetParameter filtered;
    caffe::Net<float>::FilterNet(net, &filtered);
    for (const caffe::LayerParameter& layer : filtered.layer()) {
      if (layer.type() != "HDF5Output") continue;
      Fail("--partition: every process would write the file of layer " + layer.name() +
           " (HDF5Output); leave the layer out.");
    }
  }
}

void SetTrainNet(const caffe::NetParameter& net, SolverParameter* solver) {
  solver->clear_net();
  solver->clear_net_param();
  solver->clear_train_net();
  *solver->mutable_train_net_param() = net;
  *solver->mutable_train_state() = net.state();
}

/// The solver of one device: its part of the nets, with a plan that is the same on all devices. Its
/// weights are loaded later, from files of whole nets.
SolverParameter LocalSolver(const SolverParameter& whole, int devices) {
  WantedNets nets;
  nets.net = caffe::TrainNetOf(whole).param;
  for (caffe::SolverNet& test : caffe::TestNetsOf(whole))
    nets.tests.push_back(std::move(test.param));
  RefuseIndivisible(whole, nets);
  nets.solver.set_type(whole.type());
  nets.placement = nets.net.placement();
  nets.placement.MergeFrom(whole.placement());
  layrub::Result<caffe::PlacementOptions> options = caffe::ToOptions(nets.placement);
  if (!options.ok()) Fail(options.status().message);
  ApplyMachineFlags(&options.value());
  FLAGS_devices = devices;
  // Nets of partitions that are only tried are not logged.
  const int log_level =
      std::exchange(FLAGS_minloglevel, std::max(FLAGS_minloglevel, int{google::GLOG_WARNING}));
  const PartitionedNets divided = PartitionOfFlags(nets, options.value(), options.value().machine);
  FLAGS_minloglevel = log_level;
  LOG(INFO) << "The net is divided among " << devices
            << " processes, as 'layrub plan --devices=" << devices
            << " --partition=" << divided.name << "' shows";
  SolverParameter local = whole;
  SetTrainNet(divided.local.net, &local);
  local.clear_test_net();
  local.clear_test_net_param();
  local.clear_test_state();
  for (const caffe::NetParameter& test : divided.local.tests) {
    *local.add_test_net_param() = test;
    *local.add_test_state() = test.state();
  }
  local.clear_weights();
  local.mutable_placement()->set_deterministic(true);
  return local;
}

DividedSolver Make(layrub::RankCommunicator* ranks, const SolverParameter& local,
                   const SolverParameter& whole, const std::string& snapshot) {
  caffe::Caffe::set_solver_count(1);
  DividedSolver made;
  made.scope = std::make_unique<caffe::DeviceGroupScope>(ranks);
  made.solver.reset(caffe::SolverRegistry<float>::CreateSolver(local));
  made.training = std::make_unique<caffe::DividedTraining<float>>(made.solver.get(), whole, ranks);
  for (const std::string& weights : whole.weights()) {
    for (const std::string& file : SplitList(weights)) made.training->LoadWeights(file);
  }
  if (!snapshot.empty()) made.training->Restore(snapshot);
  made.solver->mutable_placement_extra()->executor.canary = FLAGS_measure_memory;
  ApplyMachineFlags(made.solver->mutable_placement_extra());
  return made;
}

}  // namespace

DividedSolver LeadDivided(layrub::RankCommunicator* ranks, SolverParameter whole,
                          const std::string& snapshot) {
  // All processes must draw the same random numbers.
  if (whole.random_seed() < 0)
    whole.set_random_seed(static_cast<int64_t>(caffe::caffe_rng_rand() & INT_MAX));
  const SolverParameter local = LocalSolver(whole, ranks->size());
  // Each process makes the whole net only for its parameters and history, so it opens no data.
  SetTrainNet(ShapesOf(caffe::TrainNetOf(whole).param), &whole);
  for (int rank = 1; rank < ranks->size(); ++rank) {
    for (const std::string& message :
         {local.SerializeAsString(), whole.SerializeAsString(), snapshot})
      ranks->Send(rank, message);
  }
  return Make(ranks, local, whole, snapshot);
}

void FollowDivided(layrub::RankCommunicator* ranks) {
  const SignalEffects effects = SignalEffectFlags();
  caffe::SignalHandler signals(effects.sigint, effects.sighup, effects.sigterm, effects.sigterm);
  FLAGS_minloglevel = std::max(FLAGS_minloglevel, int{google::GLOG_WARNING});
  SolverParameter local, whole;
  CHECK(local.ParseFromString(ranks->Receive(0)));
  CHECK(whole.ParseFromString(ranks->Receive(0)));
  const std::string snapshot = ranks->Receive(0);
  try {
    const DividedSolver made = Make(ranks, local, whole, snapshot);
    // The first process reports why it cannot be placed.
    if (!made.training->Place().ok()) throw layrub::GroupFailed("");
    signals.BeginTraining();
    made.training->Solve(signals.GetActionFunction());
  } catch (const layrub::GroupFailed&) {
    throw;
  } catch (const std::exception& error) {
    const std::string reason = "device " + std::to_string(ranks->rank()) + " of " +
                               std::to_string(ranks->size()) + ": " + error.what();
    ranks->Abort(reason);
    throw layrub::GroupFailed(reason);
  }
}

}  // namespace layrub_tool
