#include "solver_follower.hpp"

#include <utility>

namespace caffe {

using layrub::Status;

template <typename Dtype>
SolverFollower<Dtype>::SolverFollower(layrub::Communicator* communicator, FollowerSetUp set_up,
                                      ActionCallback requests)
    : communicator_(communicator), set_up_(std::move(set_up)), requests_(std::move(requests)) {}

template <typename Dtype>
SolverFollower<Dtype>::~SolverFollower() {
  // Objects that the solver owns are on its device.
  layrub::Device* const here = Caffe::chosen_device();
  Caffe::UseDevice(communicator_->device());
  sum_.reset();
  solver_.reset();
  Caffe::UseDevice(here);
}

template <typename Dtype>
void SolverFollower<Dtype>::Run() {
  try {
    const Status placed = Make();
    communicator_->Send(0,
                        kPlaced + std::to_string(static_cast<int>(placed.code)) + placed.message);
    if (placed.ok()) Follow();
  } catch (const layrub::GroupFailed&) {
    throw;
  } catch (const std::exception& error) {
    const string reason = Name() + ": " + error.what();
    communicator_->Abort(reason);
    throw layrub::GroupFailed(reason);
  }
}

template <typename Dtype>
Status SolverFollower<Dtype>::Make() {
  SolverParameter param;
  CHECK(param.ParseFromString(communicator_->Receive(0)));
  const string restore = communicator_->Receive(0);
  const int iteration = std::stoi(communicator_->Receive(0));
  const string seed = communicator_->Receive(0);
  if (!seed.empty()) Caffe::set_random_seed(static_cast<unsigned int>(std::stoul(seed)));
  const PlacementOptions placement = set_up_(param);
  solver_.reset(SolverRegistry<Dtype>::CreateSolver(param));
  if (!restore.empty()) solver_->Restore(restore.c_str());
  CHECK_EQ(solver_->iter(), iteration)
      << Name()
      << " is not at the root solver's iteration: give the file that the root was restored from.";
  *solver_->mutable_placement_extra() = placement;
  sum_.reset(new GradientSum<Dtype>(solver_.get(), communicator_));
  const Status status = solver_->Place();
  return status.ok() ? status : Status{status.code, Name() + ": " + status.message};
}

template <typename Dtype>
void SolverFollower<Dtype>::Follow() {
  for (string word = NextWord(); word != kEnd; word = NextWord()) {
    if (word == kBegin) sum_->Broadcast();
    if (word == kStep) solver_->Step(1);
    if (word == kTellProgress) SendProgress();
  }
  SendProgress();
}

/// Returns the next word of the root. Meanwhile sends it the requests that the user makes of this
/// process.
template <typename Dtype>
string SolverFollower<Dtype>::NextWord() {
  if (!requests_) return communicator_->Receive(0);
  while (true) {
    const SolverAction::Enum request = requests_();
    if (request != SolverAction::NONE)
      communicator_->Send(0, kRequest + std::to_string(static_cast<int>(request)));
    if (std::optional<string> word = communicator_->Receive(0, 0.2)) return *std::move(word);
  }
}

template <typename Dtype>
void SolverFollower<Dtype>::SendProgress() {
  communicator_->Send(0, kProgress + solver_->OwnProgress().SerializeAsString());
}

template <typename Dtype>
string SolverFollower<Dtype>::Name() const {
  const layrub::Device* device = communicator_->device();
  return "solver " + std::to_string(communicator_->rank()) + " of " +
         std::to_string(communicator_->size()) +
         (device ? " (device " + std::to_string(device->id()) + ")" : "");
}

template <typename Dtype>
void FollowRoot(layrub::Communicator* communicator, const FollowerSetUp& set_up,
                const ActionCallback& requests) {
  SolverFollower<Dtype>(communicator, set_up, requests).Run();
}

INSTANTIATE_CLASS(SolverFollower);
template void FollowRoot<float>(layrub::Communicator*, const FollowerSetUp&, const ActionCallback&);
template void FollowRoot<double>(layrub::Communicator*, const FollowerSetUp&,
                                 const ActionCallback&);

}  // namespace caffe
