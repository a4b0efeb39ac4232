#include "caffe/divided_training.hpp"

#include <algorithm>
#include <utility>

#include "caffe/partition/parameter_parts.hpp"
#include "caffe/planned_net.hpp"
#include "caffe/util/checksum.hpp"
#include "caffe/util/shape_only.hpp"

namespace caffe {

using layrub::Status;

namespace {

// Messages from rank 0 to the other members.
constexpr char kGoOn[] = "go on", kTakeSnapshot[] = "take a snapshot", kTrainingEnds[] = "end";

template <typename Dtype>
string ChecksumOfPlan(const PlannedNet<Dtype>& planned) {
  const string text = layrub::ToText(planned.plan(), planned.graph());
  return std::to_string(Crc32(0, text.data(), text.size()));
}

}  // namespace

template <typename Dtype>
DividedTraining<Dtype>::DividedTraining(Solver<Dtype>* solver, const SolverParameter& whole,
                                        layrub::Communicator* group)
    : solver_(solver),
      whole_(whole),
      group_(group),
      parts_(new ParameterParts<Dtype>(solver->net().get(), group)) {
  solver->add_callback(this);
  solver->mutable_placement_extra()->agree_on_bytes = [this](int64_t bytes) {
    return Least(bytes);
  };
  solver->set_snapshot([this] { group_->rank() == 0 ? Snapshot() : Await(kTakeSnapshot); });
}

template <typename Dtype>
DividedTraining<Dtype>::~DividedTraining() {
  solver_->set_snapshot({});
  solver_->mutable_placement_extra()->agree_on_bytes = {};
}

template <typename Dtype>
int64_t DividedTraining<Dtype>::DeviceBytes() {
  return ParameterParts<Dtype>::kWorkspaceBytes;
}

/// Makes a solver of the whole net, for its parameters and history only. It takes no memory for
/// blobs, opens no data and draws no random numbers.
template <typename Dtype>
std::unique_ptr<Solver<Dtype>> DividedTraining<Dtype>::WholeSolver() const {
  const ShapeOnlyScope shapes_only;
  SolverParameter param = whole_;
  param.clear_test_net();
  param.clear_test_net_param();
  param.clear_test_state();
  param.clear_test_iter();
  param.clear_test_interval();
  param.clear_random_seed();
  param.clear_weights();
  return std::unique_ptr<Solver<Dtype>>(SolverRegistry<Dtype>::CreateSolver(param));
}

template <typename Dtype>
void DividedTraining<Dtype>::CopyPartsFrom(Solver<Dtype>* whole) {
  const auto params = whole->net()->learnable_params();
  const auto own = solver_->net()->learnable_params();
  const auto history = whole->ParameterHistory(), own_history = solver_->ParameterHistory();
  for (size_t i = 0; i < own.size(); ++i) {
    const int id = static_cast<int>(i);
    parts_->TakePart(id, *params[i], own[i]);
    for (size_t k = 0; k < own_history[i].size(); ++k)
      parts_->TakePart(id, *history[i][k], own_history[i][k]);
  }
}

template <typename Dtype>
void DividedTraining<Dtype>::Restore(const string& state_file) {
  const std::unique_ptr<Solver<Dtype>> whole = WholeSolver();
  whole->Restore(state_file.c_str());
  CopyPartsFrom(whole.get());
  solver_->CopyStateFrom(*whole);
}

template <typename Dtype>
void DividedTraining<Dtype>::LoadWeights(const string& file) {
  const std::unique_ptr<Solver<Dtype>> whole = WholeSolver();
  // Parameters that are not in the files keep the values of their fillers.
  const auto params = whole->net()->learnable_params();
  const auto own = solver_->net()->learnable_params();
  for (size_t i = 0; i < own.size(); ++i)
    parts_->GatherForAll(static_cast<int>(i), *own[i], params[i]);
  whole->net()->CopyTrainedLayersFrom(file);
  CopyPartsFrom(whole.get());
}

template <typename Dtype>
void DividedTraining<Dtype>::Solve(const ActionCallback& requests) {
  requests_ = requests;
  try {
    solver_->Solve();
    group_->rank() == 0 ? Tell(kTrainingEnds) : Await(kTrainingEnds);
  } catch (const Ended&) {
    // Rank 0 has stopped, or ends without the call that this member waited for.
  }
}

template <typename Dtype>
Status DividedTraining<Dtype>::Place() {
  Status status = solver_->Place();
  const string own = status.ok() ? ChecksumOfPlan(*solver_->net()->planned()) : status.message;
  if (group_->rank() > 0) {
    group_->Send(0, own);
    const bool goes_on = group_->Receive(0) == kGoOn;
    return goes_on || !status.ok() ? status : Status::Invalid("another device cannot be placed");
  }
  for (int rank = 1; rank < group_->size(); ++rank) {
    const string other = group_->Receive(rank);
    if (!status.ok() || other == own) continue;
    status =
        Status::Invalid("device " + std::to_string(rank) + " of " + std::to_string(group_->size()) +
                        " has another plan than device 0 (give all processes the same flags, "
                        "and machines that are alike), or none: " +
                        other);
  }
  Tell(status.ok() ? kGoOn : kTrainingEnds);
  return status;
}

/// The least of the numbers of all members. Each must call it.
template <typename Dtype>
int64_t DividedTraining<Dtype>::Least(int64_t number) {
  if (group_->rank() > 0) {
    group_->Send(0, std::to_string(number));
    return std::stoll(group_->Receive(0));
  }
  for (int rank = 1; rank < group_->size(); ++rank)
    number = std::min<int64_t>(number, std::stoll(group_->Receive(rank)));
  Tell(std::to_string(number));
  return number;
}

template <typename Dtype>
void DividedTraining<Dtype>::Tell(const string& word) {
  for (int rank = 1; rank < group_->size(); ++rank) group_->Send(rank, word);
}

template <typename Dtype>
void DividedTraining<Dtype>::Await(const string& word) {
  while (true) {
    std::optional<string> said;
    while (!said) {
      const SolverAction::Enum request = requests_ ? requests_() : SolverAction::NONE;
      if (request != SolverAction::NONE) group_->Send(0, std::to_string(static_cast<int>(request)));
      said = group_->Receive(0, requests_ ? 0.2 : layrub::kForever);
    }
    if (*said == kTakeSnapshot) Snapshot();
    if (*said == word) return;
    if (*said == kTrainingEnds) throw Ended();
  }
}

template <typename Dtype>
SolverAction::Enum DividedTraining<Dtype>::NextMemberRequest() {
  for (int rank = 1; rank < group_->size(); ++rank) {
    if (const std::optional<string> request = group_->Receive(rank, 0))
      return static_cast<SolverAction::Enum>(std::stoi(*request));
  }
  return SolverAction::NONE;
}

template <typename Dtype>
void DividedTraining<Dtype>::GoOn() {
  group_->rank() == 0 ? Tell(kGoOn) : Await(kGoOn);
}

template <typename Dtype>
void DividedTraining<Dtype>::on_start() {
  GoOn();
}

template <typename Dtype>
void DividedTraining<Dtype>::on_test_batch(int /*net*/, int /*batch*/) {
  GoOn();
}

template <typename Dtype>
void DividedTraining<Dtype>::on_last_update_done() {
  GoOn();
}

template <typename Dtype>
void DividedTraining<Dtype>::on_gradients_ready() {
  parts_->SumGradients();
}

template <typename Dtype>
void DividedTraining<Dtype>::Snapshot() {
  const bool writes = group_->rank() == 0;
  if (writes) Tell(kTakeSnapshot);
  const std::unique_ptr<Solver<Dtype>> whole = writes ? WholeSolver() : nullptr;
  const auto params = solver_->net()->learnable_params();
  const auto history = solver_->ParameterHistory();
  const auto whole_history = writes ? whole->ParameterHistory() : history;
  for (size_t i = 0; i < params.size(); ++i) {
    const int id = static_cast<int>(i);
    parts_->Gather(id, *params[i], writes ? whole->net()->learnable_params()[i] : nullptr);
    for (size_t k = 0; k < history[i].size(); ++k)
      parts_->Gather(id, *history[i][k], writes ? whole_history[i][k] : nullptr);
  }
  ResumeState progress = solver_->Progress();
  SolverProgress* const own = progress.mutable_solver(0);
  for (int i = 0; i < own->net_size(); ++i) {
    const Net<Dtype>& net = i == 0 ? *solver_->net() : *solver_->test_nets().at(i - 1);
    GatherStates(net, group_, own->mutable_net(i));
  }
  if (!writes) return;
  whole->CopyStateFrom(*solver_);
  whole->KeepProgress(progress);
  whole->CheckSnapshotWritePermissions();
  whole->Snapshot();
}

INSTANTIATE_CLASS(DividedTraining);

}  // namespace caffe
