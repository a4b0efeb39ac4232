#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "caffe/solver_snapshots.hpp"
#include "caffe/solvers/state_file.hpp"
#include "caffe/test/expect_error.hpp"
#include "caffe/test/most_bytes.hpp"
#include "solver_fixture.hpp"

namespace caffe {
namespace {

string Contents(const string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

TEST(Snapshot, HasTheBytesOfASingleMessage) {
  const string prefix = NewFolder() + "/run";
  const auto solver =
      MakeSolver(ClassifierNet(),
                 "momentum: 0.9 lr_policy: 'multistep' gamma: 0.5 stepvalue: 1 snapshot_diff: true "
                 "snapshot_prefix: '" +
                     prefix + "'");
  solver->Step(3);
  solver->Snapshot();
  NetParameter net;
  solver->net()->ToProto(&net, true);
  EXPECT_EQ(Contents(prefix + "_iter_3.caffemodel"), net.SerializeAsString());
  SolverState state;
  ReadProtoFromBinaryFileOrDie(prefix + "_iter_3.solverstate", &state);
  EXPECT_EQ(state.history_size(), 4);
  EXPECT_EQ(state.current_step(), 1);
  EXPECT_EQ(Contents(prefix + "_iter_3.solverstate"), state.SerializeAsString());
}

TEST(Snapshot, HoldsOneLayerInMemoryAtATime) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer keeps freed memory for a while";
#endif
  if (Caffe::mode() == Caffe::GPU)
    GTEST_SKIP() << "what is read of a device stays on the host until the next pass";
  constexpr int kLayers = 24;  // of 2 MiB
  string net =
      "layer { name: 'in' type: 'DummyData' top: '0' "
      "dummy_data_param { shape { dim: 1 dim: 512 } } }";
  for (int i = 0; i < kLayers; ++i) {
    net += "layer { name: 'ip" + std::to_string(i) + "' type: 'InnerProduct' bottom: '0' top: '" +
           std::to_string(i + 1) + "' loss_weight: 1 " +
           "inner_product_param { num_output: 1024 bias_term: false } }";
  }
  const auto solver = MakeSolver(net, "snapshot_prefix: '" + NewFolder() + "/run'");
  solver->Step(1);
  const int64_t before = MostBytes();
  solver->Snapshot();
  EXPECT_LT(MostBytes() - before, kLayers * kMiB);
}

namespace fs = std::filesystem;

template <typename Dtype>
void ExpectWholeSnapshots() {
  for (const string& format : SnapshotFormats()) {
    const string prefix = NewFolder() + "/run";
    const auto solver =
        MakeSolver<Dtype>(LinearNet(), "momentum: 0.9 snapshot: 2 snapshot_format: " + format +
                                           " snapshot_prefix: '" + prefix + "'");
    solver->Step(5);
    EXPECT_EQ(FindSnapshots(prefix).size(), 2u);
    const string ending = format == "HDF5" ? ".h5" : "";
    const string state = prefix + "_iter_4.solverstate" + ending;
    EXPECT_EQ(SnapshotFault(state), "");
    EXPECT_EQ(LatestSnapshot(prefix).value(), state);
    fs::resize_file(prefix + "_iter_4.caffemodel" + ending, 10);
    EXPECT_NE(SnapshotFault(state), "");
    EXPECT_EQ(LatestSnapshot(prefix).value(), prefix + "_iter_2.solverstate" + ending);
  }
}

TEST(Snapshot, IsCompleteInFloatAndDouble) {
  ExpectWholeSnapshots<float>();
  ExpectWholeSnapshots<double>();
}

TEST(Snapshot, DetectsAnyChangedBit) {
  const string prefix = NewFolder() + "/run", state = prefix + "_iter_2.solverstate";
  MakeSolver(LinearNet(), "momentum: 0.9 snapshot: 2 snapshot_prefix: '" + prefix + "'")->Step(2);
  const string whole = Contents(state);
  constexpr size_t kBegin = 256, kEnd = 32;  // between them are values of the field resume
  ASSERT_GT(whole.size(), kBegin + kEnd);
  for (size_t byte = 0; byte < whole.size(); ++byte) {
    if (byte == kBegin) byte = whole.size() - kEnd;
    for (int bit = 0; bit < 8; ++bit) {
      string changed = whole;
      changed[byte] = static_cast<char>(changed[byte] ^ 1 << bit);
      std::ofstream(state, std::ios::binary) << changed;
      SolverState same;  // a flag with any nonzero number is still set
      if (same.ParseFromString(changed) && same.SerializeAsString() == whole) continue;
      EXPECT_NE(SnapshotFault(state), "") << "byte " << byte << ", bit " << bit;
    }
  }
  std::ofstream(state, std::ios::binary) << whole;
  EXPECT_EQ(SnapshotFault(state), "");
}

TEST(Snapshot, LatestIsTheLastWrittenNotTheHighestIteration) {
  for (const string& format : SnapshotFormats()) {
    const string prefix = NewFolder() + "/run", ending = format == "HDF5" ? ".h5" : "";
    const string fields = "momentum: 0.9 snapshot: 2 snapshot_prefix: '" + prefix + "'";
    MakeSolver(LinearNet(), fields + " snapshot_format: " + format)->Step(6);
    MakeSolver(LinearNet(), fields)->Step(4);
    EXPECT_EQ(LatestSnapshot(prefix).value(), prefix + "_iter_4.solverstate");
    MakeSolver(LinearNet(), fields + " snapshot_format: " + format)->Step(2);
    EXPECT_EQ(LatestSnapshot(prefix).value(), prefix + "_iter_2.solverstate" + ending);
  }
}

TEST(Snapshot, LatestIsAfterTheResumedOneEvenIfTheClockWentBack) {
  const string prefix = NewFolder() + "/run", file = prefix + "_iter_2.solverstate";
  const string fields = "momentum: 0.9 snapshot: 2 snapshot_prefix: '" + prefix + "'";
  MakeSolver(LinearNet(), fields)->Step(2);
  SolverState state;
  ReadProtoFromBinaryFileOrDie(file, &state);
  ResumeState* const resume = state.mutable_resume();
  resume->set_written(resume->written() + int64_t{3'600'000'000'000});  // the clock was set back
  resume->set_state_crc32(HistoryCrc32(state, HeadCrc32(TakeHead(state))));
  WriteProtoToBinaryFile(state, file);
  const auto solver = MakeSolver(LinearNet(), fields);
  solver->Restore(file.c_str());
  solver->Step(2);
  EXPECT_EQ(LatestSnapshot(prefix).value(), prefix + "_iter_4.solverstate");
}

TEST(Snapshot, CanBeRestoredInAnotherPrecision) {
  for (const string& format : SnapshotFormats()) {
    const string prefix = NewFolder() + "/run";
    const string fields =
        "momentum: 0.9 snapshot_format: " + format + " snapshot_prefix: '" + prefix + "'";
    const auto written = MakeSolver<double>(LinearNet(), fields);
    written->Step(3);
    written->Snapshot();
    const auto read = MakeSolver<float>(LinearNet(), fields);
    read->Restore(LatestSnapshot(prefix).value().c_str());
    EXPECT_EQ(read->iter(), 3);
    EXPECT_FLOAT_EQ(read->history()[0]->cpu_data()[0],
                    static_cast<float>(written->history()[0]->cpu_data()[0]));
  }
}

TEST(Snapshot, RetriesAfterAFailureAtGrowingIntervals) {
  const string folder = NewFolder() + "/snapshots", prefix = folder + "/run";
  fs::create_directory(folder);
  const auto solver = MakeSolver(LinearNet(), "snapshot: 100 snapshot_prefix: '" + prefix + "'");
  solver->Step(99);
  fs::remove(folder);
  solver->Step(4);  // 100 fails, then 101 and 103, 1 and 2 iterations later
  fs::create_directory(folder);
  solver->Step(3);
  EXPECT_TRUE(FindSnapshots(prefix).empty());
  solver->Step(1);
  ASSERT_EQ(FindSnapshots(prefix).size(), 1u);
  EXPECT_EQ(FindSnapshots(prefix)[0].iteration, 107);
  solver->Step(92);
  EXPECT_EQ(FindSnapshots(prefix).size(), 1u);
  solver->Step(1);
  EXPECT_EQ(FindSnapshots(prefix).size(), 2u);
}

TEST(Snapshot, RequestedByTheProgramFailsAtOnceAndCanBeRepeated) {
  const string folder = NewFolder() + "/snapshots", prefix = folder + "/run";
  for (const string& format : SnapshotFormats()) {
    const auto solver = MakeSolver(
        LinearNet(), "snapshot_format: " + format + " snapshot_prefix: '" + prefix + "'");
    solver->Step(1);
    EXPECT_ERROR(solver->Snapshot(), "Cannot write .*run_iter_1.caffemodel.*: No such file");
    fs::create_directory(folder);
    solver->Snapshot();
    EXPECT_EQ(SnapshotFault(LatestSnapshot(prefix).value()), "");
    fs::remove_all(folder);
  }
}

TEST(Snapshot, FailsTrainingIfTheLastRetryFails) {
  const string folder = NewFolder() + "/snapshots";
  fs::create_directory(folder);
  const auto solver =
      MakeSolver(LinearNet(), "max_iter: 4 snapshot: 2 snapshot_prefix: '" + folder + "/run'");
  solver->Step(1);
  fs::remove(folder);
  EXPECT_ERROR(solver->Solve(), "ended without its last snapshot: Cannot write .*run_iter_4");
  EXPECT_EQ(solver->iter(), 4);
}

TEST(Snapshot, RetriesAtTheLoggedIteration) {
  const string folder = NewFolder() + "/snapshots";
  fs::create_directory(folder);
  const auto solver =
      MakeSolver(LinearNet(), "max_iter: 16 snapshot: 3 snapshot_prefix: '" + folder + "/run'");
  solver->Step(3);
  fs::remove_all(folder);
  testing::internal::CaptureStderr();
  EXPECT_ERROR(solver->Solve(), "The last snapshot is " + folder + "/run_iter_3\\.solverstate\\.");
  const string said = testing::internal::GetCapturedStderr();
  // 1, 2, 4, ... iterations later, but at most at the next regular snapshot.
  for (const auto& [at, then] :
       {std::pair(6, "7 or when it ends."), std::pair(7, "9 or when"), std::pair(9, "12 or when"),
        std::pair(12, "15 or when"), std::pair(15, "16, its last.")}) {
    EXPECT_THAT(said, testing::HasSubstr("Iteration " + std::to_string(at) +
                                         " has no snapshot. Training goes on, and tries again at "
                                         "iteration " +
                                         then));
  }
  EXPECT_THAT(said, testing::HasSubstr("Iteration 16 has no snapshot.\n"));
  EXPECT_THAT(said, testing::Not(testing::HasSubstr("snapshot. Training goes on, and tries again "
                                                    "at iteration 17")));
  EXPECT_THAT(said, testing::HasSubstr("Training has ended, and tries again to write its last"));
}

TEST(Snapshot, UsesHDF5IfTooLargeForABinaryFile) {
  const auto binary = SolverParameter_SnapshotFormat_BINARYPROTO;
  const auto hdf5 = SolverParameter_SnapshotFormat_HDF5;
  const int64_t gib = 1 << 30;
  EXPECT_EQ(SnapshotFormatFor(binary, gib, gib), binary);
  EXPECT_EQ(SnapshotFormatFor(binary, 2 * gib, gib), hdf5);
  EXPECT_EQ(SnapshotFormatFor(binary, gib, 2 * gib), hdf5);
  EXPECT_EQ(SnapshotFormatFor(hdf5, gib, gib), hdf5);
}

TEST(Snapshot, ReplacesBothFilesOfAnotherRunAtTheSameIteration) {
  const string prefix = NewFolder() + "/run";
  const string fields = "snapshot_prefix: '" + prefix + "' ";
  const auto first = MakeSolver(LinearNet(), fields);
  first->Step(2);
  first->Snapshot();
  const auto second = MakeSolver(LinearNet(), fields + "base_lr: 0.5");
  second->Step(2);
  // The state cannot be written, so the weights must not change.
  const string state = prefix + "_iter_2.solverstate";
  fs::rename(state, state + ".kept");
  fs::create_directory(state);
  const string weights = Contents(prefix + "_iter_2.caffemodel");
  {
    const ThrowOnError scope;
    EXPECT_THROW(second->Snapshot(), Error);
  }
  EXPECT_EQ(Contents(prefix + "_iter_2.caffemodel"), weights);
  fs::remove(state);
  fs::rename(state + ".kept", state);
  EXPECT_EQ(SnapshotFault(state), "");
  second->Snapshot();
  EXPECT_EQ(SnapshotFault(state), "");
  EXPECT_NE(Contents(prefix + "_iter_2.caffemodel"), weights);
}

TEST(NotFinite, IsReportedUnderAPlanThatDropsValues) {
  const auto solver = MakeSolver(ClassifierNet(), "base_lr: 1e30 placement { strategy: 'hybrid' }");
  testing::internal::CaptureStderr();
  solver->Step(4);
  const string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, testing::HasSubstr("the loss is "));
  EXPECT_THAT(said, testing::HasSubstr("the first value that is not finite is in "));
  const auto stopping = MakeSolver(ClassifierNet(), "base_lr: 1e30 stop_on_nan: true");
  EXPECT_ERROR(stopping->Step(4),
               "Training stops because stop_on_nan is set. There is no snapshot");
}

}  // namespace
}  // namespace caffe
