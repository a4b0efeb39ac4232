// Caffe's own classes for training with several solvers, as a user's program calls them.
#include <boost/thread/barrier.hpp>
#include <thread>

#include "caffe/solvers/test/parallel_training.hpp"
#include "caffe/test/expect_error.hpp"

namespace caffe {
namespace {

constexpr int kSolvers = 2;
constexpr int kIterations = 3;

/// Runs `body(rank)` in a thread for each solver, which is set up as in a user's program.
template <typename Body>
void InThreads(Body body) {
  const std::vector<layrub::Device*> devices = DevicesLikeThis(kSolvers);
  const Caffe::Brew mode = Caffe::mode();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kSolvers; ++rank) {
    threads.emplace_back([&, rank] {
      Caffe::set_mode(mode);
      if (devices[rank]) Caffe::UseDevice(devices[rank]);
      Caffe::set_solver_count(kSolvers);
      Caffe::set_solver_rank(rank);
      body(rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

SolverParameter ParamOf(const Items& items) {
  SolverParameter param = SolverFor(items.Net(4), "hybrid");
  param.set_layer_wise_reduce(true);
  return param;
}

TEST(NCCL, SolversJoinedByAUidLearnTheSame) {
  const Items items;
  const SolverParameter param = ParamOf(items);
  const string uid = NCCL<float>::new_uid();
  EXPECT_NE(uid, NCCL<float>::new_uid());
  std::vector<float> learned[kSolvers];
  InThreads([&](int rank) {
    shared_ptr<Solver<float>> solver(new OpenSolver(param));
    NCCL<float> nccl(solver, uid);
    solver->add_callback(&nccl);
    if (param.layer_wise_reduce()) solver->net()->add_after_backward(&nccl);
    nccl.Broadcast();
    solver->Step(kIterations);
    learned[rank] = Learned(solver.get());
  });
  EXPECT_TRUE(SameBits(learned[0], learned[1]));
  EXPECT_FALSE(learned[0].empty());
  EXPECT_TRUE(AllFinite(learned[0]));
}

TEST(NCCL, TrainsTheSameAsParallelSolvers) {
  const Items items;
  const SolverParameter param = ParamOf(items);
  std::vector<float> trained;
  const string uid = NCCL<float>::new_uid();
  InThreads([&](int rank) {
    shared_ptr<OpenSolver> solver(new OpenSolver(param));
    NCCL<float> nccl(solver, uid);
    nccl.Broadcast();
    solver->Step(kIterations);
    if (rank == 0) trained = TrainedState(solver.get());
  });
  EXPECT_TRUE(SameBits(trained, TrainTogether(param, kSolvers, kIterations)));
}

TEST(NCCL, InitSingleProcessMakesAGroup) {
  const Items items;
  const SolverParameter param = ParamOf(items);
  std::vector<float> learned[kSolvers];
  std::vector<NCCL<float>*> members(kSolvers);
  boost::barrier barrier(kSolvers);
  InThreads([&](int rank) {
    shared_ptr<Solver<float>> solver(new OpenSolver(param));
    NCCL<float> nccl(solver);
    EXPECT_EQ(nccl.barrier(), nullptr);
    nccl.set_barrier(&barrier);
    members[rank] = &nccl;
    nccl.barrier()->wait();
    if (rank == 0) NCCL<float>::InitSingleProcess(&members);
    nccl.barrier()->wait();
    nccl.Broadcast();
    solver->Step(kIterations);
    learned[rank] = Learned(solver.get());
  });
  EXPECT_TRUE(SameBits(learned[0], learned[1]));
}

/// Tests the real library with as many GPUs as there are; one is enough.
TEST(NCCL, SumsAndBroadcastsOnTheGpusOfThisMachine) {
  if (!DeviceContext::Current().launch) GTEST_SKIP() << "There is no GPU here.";
  constexpr int kCount = 100000;
  constexpr int64_t kBytes = kCount * int64_t{sizeof(float)};
  std::vector<layrub::Device*> gpus;
  for (int id = 0; id < layrub::GpuCount(); ++id) gpus.push_back(&layrub::Gpu(id));
  std::string why_not;
  layrub::Group group = layrub::ConnectGpus(gpus, &why_not);
  if (group.empty()) GTEST_SKIP() << why_not;
  std::vector<std::vector<float>> sums(gpus.size(), std::vector<float>(kCount));
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < gpus.size(); ++rank) {
    threads.emplace_back([&, rank] {
      const std::vector<float> mine(kCount, static_cast<float>(rank + 1));
      void* const values = gpus[rank]->Allocate(kBytes);
      gpus[rank]->Copy(values, mine.data(), kBytes);
      group[rank]->Broadcast({{values, kCount}});  // ones
      group[rank]->Sum({{values, kCount}});
      group[rank]->Wait();
      gpus[rank]->Copy(sums[rank].data(), values, kBytes);
      gpus[rank]->Free(values);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<float>& sum : sums)
    EXPECT_EQ(sum, std::vector<float>(kCount, static_cast<float>(gpus.size())));
}

TEST(NCCL, ReportsWhatIsMissing) {
  const Items items;
  shared_ptr<Solver<float>> solver(new OpenSolver(ParamOf(items)));
  NCCL<float> alone(solver);
  EXPECT_ERROR(alone.Broadcast(), "in no group: give a uid, or call InitSingleProcess");
  Caffe::set_multiprocess(true);
  EXPECT_ERROR(NCCL<float>(solver, "uid"), "Solvers in several processes cannot train together");
  Caffe::set_multiprocess(false);
  Caffe::set_solver_rank(3);
  EXPECT_ERROR(NCCL<float>(solver, "uid"), "Solver rank 3 is none of 0..0");
  Caffe::set_solver_rank(0);
}

TEST(GPUParams, TrainingInThemGivesTheSameBits) {
  const std::unique_ptr<layrub::Device> device = layrub::MakeEmulatedDevice();
  const DeviceScope scope(device.get(), Caffe::GPU);
  const Items items;
  const auto train = [&](bool configure) {
    shared_ptr<OpenSolver> solver(new OpenSolver(ParamOf(items)));
    const GPUParams<float> params(solver, 0);
    if (configure) params.Configure(solver.get());
    size_t numbers = 0;
    for (const Blob<float>* param : solver->net()->learnable_params()) numbers += param->count();
    EXPECT_EQ(params.size(), numbers);
    solver->Step(kIterations);
    const Blob<float>& first = *solver->net()->learnable_params()[0];
    EXPECT_EQ(first.gpu_data() == params.data(), configure);
    EXPECT_EQ(first.gpu_diff() == params.diff(), configure);
    return TrainedState(solver.get());
  };
  EXPECT_TRUE(SameBits(train(true), train(false)));
}

}  // namespace
}  // namespace caffe
