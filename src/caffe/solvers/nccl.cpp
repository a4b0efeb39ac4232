// Caffe's classes for training with several solvers, built on layrub's communicators.
#include <condition_variable>
#include <map>
#include <mutex>
#include <random>

#include "caffe/parallel.hpp"
#include "caffe/util/format.hpp"

namespace caffe {

namespace {

using CommunicatorPtr = std::unique_ptr<layrub::Communicator>;

layrub::Device* ThreadsDevice() { return Caffe::mode() == Caffe::GPU ? &Caffe::device() : nullptr; }

/// The place where the members of a group wait for each other. The last one connects all.
struct Meeting {
  std::vector<layrub::Device*> devices;
  int arrived = 0, left = 0;
  layrub::Group group;
};

CommunicatorPtr Meet(const string& uid, int rank, int size, layrub::Device* device) {
  static std::mutex mutex;
  static std::condition_variable changed;
  static std::map<string, Meeting> meetings;
  CHECK(rank >= 0 && rank < size) << "Solver rank " << rank << " is none of 0.." << size - 1
                                  << ": set Caffe::set_solver_rank and set_solver_count first.";
  std::unique_lock lock(mutex);
  Meeting& meeting = meetings[uid];
  meeting.devices.resize(static_cast<size_t>(size));
  meeting.devices[static_cast<size_t>(rank)] = device;
  if (++meeting.arrived == size) {
    meeting.group = layrub::Connect(meeting.devices);
    changed.notify_all();
  }
  changed.wait(lock, [&] { return !meeting.group.empty(); });
  CommunicatorPtr communicator = std::move(meeting.group[static_cast<size_t>(rank)]);
  CHECK(communicator) << "Two solvers of the group " << uid << " have rank " << rank << ".";
  if (++meeting.left == size) meetings.erase(uid);
  return communicator;
}

template <typename Dtype>
size_t Numbers(Solver<Dtype>* solver) {
  size_t numbers = 0;
  for (const Blob<Dtype>* param : solver->net()->learnable_params())
    numbers += static_cast<size_t>(param->count());
  return numbers;
}

}  // namespace

template <typename Dtype>
Params<Dtype>::Params(shared_ptr<Solver<Dtype>> root_solver) : size_(Numbers(root_solver.get())) {}

template <typename Dtype>
GPUParams<Dtype>::GPUParams(shared_ptr<Solver<Dtype>> root_solver, int device)
    : Params<Dtype>(root_solver), device_(&Caffe::device()) {
  CHECK_EQ(device_->id(), device) << "This thread's device is another one: call Caffe::SetDevice.";
  const auto bytes = static_cast<int64_t>(size_ * sizeof(Dtype));
  data_ = static_cast<Dtype*>(device_->pool().Allocate(bytes));
  diff_ = static_cast<Dtype*>(device_->pool().Allocate(bytes));
  if (!data_ || !diff_) {
    device_->pool().Free(data_);
    device_->pool().Free(diff_);
  }
  CHECK(data_ && diff_) << "Device " << device << " has not " << 2 * bytes
                        << " bytes left for the parameters and their gradients.";
  Dtype* to = data_;
  for (const Blob<Dtype>* param : root_solver->net()->learnable_params()) {
    device_->Copy(to, param->gpu_data(), static_cast<int64_t>(param->count() * sizeof(Dtype)));
    to += param->count();
  }
}

template <typename Dtype>
GPUParams<Dtype>::~GPUParams() {
  device_->pool().Free(data_);
  device_->pool().Free(diff_);
}

template <typename Dtype>
void GPUParams<Dtype>::Configure(Solver<Dtype>* solver) const {
  CHECK_EQ(Numbers(solver), size_) << "The solver's net is not like the root's.";
  size_t at = 0;
  for (Blob<Dtype>* param : solver->net()->learnable_params()) {
    param->data()->set_gpu_data(data_ + at);
    param->diff()->set_gpu_data(diff_ + at);
    at += static_cast<size_t>(param->count());
  }
}

template <typename Dtype>
NCCL<Dtype>::NCCL(shared_ptr<Solver<Dtype>> solver) : solver_(solver), device_(ThreadsDevice()) {}

template <typename Dtype>
NCCL<Dtype>::NCCL(shared_ptr<Solver<Dtype>> solver, const string& uid) : NCCL(solver) {
  CHECK(!Caffe::multiprocess()) << "Solvers in several processes cannot train together: give each "
                                   "a thread of one process.";
  Join(Meet(uid, Caffe::solver_rank(), Caffe::solver_count(), device_));
}

template <typename Dtype>
NCCL<Dtype>::~NCCL() = default;

template <typename Dtype>
void NCCL<Dtype>::Join(CommunicatorPtr communicator) {
  CHECK(!communicator_) << "This solver is in a group already.";
  communicator_ = std::move(communicator);
  sum_.reset(new GradientSum<Dtype>(solver_.get(), communicator_.get()));
}

template <typename Dtype>
string NCCL<Dtype>::new_uid() {
  std::random_device random;
  string uid;
  for (int i = 0; i < 4; ++i) uid += format_int(static_cast<int>(random() >> 1), 10);
  return uid;
}

template <typename Dtype>
void NCCL<Dtype>::InitSingleProcess(vector<NCCL<Dtype>*>* nccls) {
  std::vector<layrub::Device*> devices;
  for (const NCCL* nccl : *nccls) devices.push_back(nccl->device_);
  layrub::Group group = layrub::Connect(devices);
  for (size_t rank = 0; rank < group.size(); ++rank) (*nccls)[rank]->Join(std::move(group[rank]));
}

template <typename Dtype>
void NCCL<Dtype>::Broadcast() {
  CHECK(sum_) << "This solver is in no group: give a uid, or call InitSingleProcess.";
  sum_->Broadcast();
}

template <typename Dtype>
void NCCL<Dtype>::Run(const vector<int>& gpus, const char* restore) {
  std::vector<layrub::Device*> devices;
  for (int id : gpus) {
    CHECK(Caffe::CheckDevice(id)) << "There is no GPU " << id << ". " << layrub::NoGpuReason();
    devices.push_back(&layrub::Gpu(id));
  }
  ParallelSolvers<Dtype> all(solver_.get(), layrub::Connect(devices));
  const layrub::Status status = all.Start(restore ? restore : "");
  CHECK(status.ok()) << status.message;
  LOG(INFO) << "Starting Optimization";
  solver_->Solve();
  all.Finish();
}

INSTANTIATE_CLASS(Params);
INSTANTIATE_CLASS(GPUParams);
INSTANTIATE_CLASS(NCCL);

}  // namespace caffe
