#include "layrub/divided_solver.hpp"

#include <glog/logging.h>

#include <algorithm>
#include <climits>
#include <utility>

#include "caffe/solver_nets.hpp"
#include "caffe/util/rng.hpp"
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
SolverParameter LocalSolver(const SolverParameter& whole, int devices, bool devices_are_gpus) {
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
  if (caffe::Caffe::mode() == caffe::Caffe::GPU)
    options.value().budget.reserved += caffe::DividedTraining<float>::DeviceBytes();
  FLAGS_devices = devices;
  // Nets of partitions that are only tried are not logged.
  const int log_level =
      std::exchange(FLAGS_minloglevel, std::max(FLAGS_minloglevel, int{google::GLOG_WARNING}));
  const PartitionedNets divided = PartitionOfFlags(nets, options.value(), options.value().machine);
  FLAGS_minloglevel = log_level;
  LOG(INFO) << "The net is divided among " << devices << (devices_are_gpus ? " GPUs" : " processes")
            << ", as 'layrub plan --devices=" << devices << " --partition=" << divided.name
            << "' shows";
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

}  // namespace

DividedSolver::Member DividedSolver::Make(layrub::Communicator* group, const Work& work) {
  caffe::Caffe::set_solver_count(1);
  Member made;
  made.scope = std::make_unique<caffe::DeviceGroupScope>(group);
  made.solver.reset(caffe::SolverRegistry<float>::CreateSolver(work.local));
  made.training =
      std::make_unique<caffe::DividedTraining<float>>(made.solver.get(), work.whole, group);
  for (const std::string& weights : work.whole.weights()) {
    for (const std::string& file : SplitList(weights)) made.training->LoadWeights(file);
  }
  if (!work.snapshot.empty()) made.training->Restore(work.snapshot);
  made.solver->mutable_placement_extra()->executor.canary = FLAGS_measure_memory;
  ApplyMachineFlags(made.solver->mutable_placement_extra());
  return made;
}

DividedSolver::DividedSolver(layrub::RankCommunicator* ranks, const SolverParameter& whole,
                             const std::string& snapshot) {
  Lead(ranks, whole, snapshot);
}

DividedSolver::DividedSolver(layrub::Group gpus, const SolverParameter& whole,
                             const std::string& snapshot)
    : gpus_(std::move(gpus)) {
  for (const auto& gpu : gpus_) {
    if (gpu->rank() == 0) continue;
    others_.emplace_back([group = gpu.get()] {
      caffe::Caffe::UseDevice(group->device());
      caffe::Caffe::set_mode(caffe::Caffe::GPU);
      caffe::Caffe::set_solver_rank(group->rank());
      try {
        Follow(group, ReceiveWork(group), nullptr);
      } catch (const layrub::GroupFailed&) {
        // The first thread reports the reason.
      }
    });
  }
  try {
    Lead(gpus_[0].get(), whole, snapshot);
  } catch (...) {
    Join();
    throw;
  }
}

DividedSolver::~DividedSolver() { Join(); }

void DividedSolver::Join() {
  if (others_.empty()) return;
  gpus_[0]->Abort("training has ended early");
  for (std::thread& other : others_) other.join();
  others_.clear();
}

void DividedSolver::Finish() {
  for (std::thread& other : others_) other.join();
  others_.clear();
}

void DividedSolver::Lead(layrub::Communicator* group, SolverParameter whole,
                         const std::string& snapshot) {
  // All members must draw the same random numbers.
  if (whole.random_seed() < 0)
    whole.set_random_seed(static_cast<int64_t>(caffe::caffe_rng_rand() & INT_MAX));
  Work work{LocalSolver(whole, group->size(), !gpus_.empty()), whole, snapshot};
  // Each member makes the whole net only for its parameters and history, so it opens no data.
  SetTrainNet(ShapesOf(caffe::TrainNetOf(whole).param), &work.whole);
  for (int rank = 1; rank < group->size(); ++rank) {
    for (const std::string& message :
         {work.local.SerializeAsString(), work.whole.SerializeAsString(), snapshot})
      group->Send(rank, message);
  }
  member_ = Make(group, work);
}

DividedSolver::Work DividedSolver::ReceiveWork(layrub::Communicator* group) {
  Work work;
  CHECK(work.local.ParseFromString(group->Receive(0)));
  CHECK(work.whole.ParseFromString(group->Receive(0)));
  work.snapshot = group->Receive(0);
  return work;
}

void DividedSolver::Follow(layrub::Communicator* group, const Work& work,
                           caffe::SignalHandler* signals) {
  try {
    const Member made = Make(group, work);
    // The first member reports why it cannot be placed.
    if (!made.training->Place().ok()) throw layrub::GroupFailed("");
    if (signals) signals->BeginTraining();
    made.training->Solve(signals ? signals->GetActionFunction() : caffe::ActionCallback());
  } catch (const layrub::GroupFailed&) {
    throw;
  } catch (const std::exception& error) {
    const std::string reason = "device " + std::to_string(group->rank()) + " of " +
                               std::to_string(group->size()) + ": " + error.what();
    group->Abort(reason);
    throw layrub::GroupFailed(reason);
  }
}

void FollowDivided(layrub::RankCommunicator* ranks) {
  const SignalEffects effects = SignalEffectFlags();
  caffe::SignalHandler signals(effects.sigint, effects.sighup, effects.sigterm, effects.sigterm);
  FLAGS_minloglevel = std::max(FLAGS_minloglevel, int{google::GLOG_WARNING});
  const DividedSolver::Work work = DividedSolver::ReceiveWork(ranks);
  ranks->UseDevice(ChooseDevices(KindOf(work.local), work.local.device_id())[0]);
  DividedSolver::Follow(ranks, work, &signals);
}

}  // namespace layrub_tool
