// Compares training under a plan with training without one.
#include "caffe/solver_verification.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "caffe/solver.hpp"
#include "caffe/solver_factory.hpp"
#include "caffe/util/checksum.hpp"
#include "layrub/base/progress_line.hpp"

namespace caffe {

using layrub::Result;
using layrub::Status;

namespace {

constexpr int kSeed = 1;
constexpr double kTellSeconds = 5;  ///< between two progress lines

/// A value after an iteration. The pointer is valid until the next one.
struct Value {
  string name;
  const float* data;
  int count;
};

/// The arguments of VerifyPlacement, and the display of progress.
struct Task {
  const SolverParameter& param;
  const string& snapshot;
  const layrub::Machine& machine;
  const Optimizations& optimizations;
  layrub::ProgressLine* line;
};

void Show(const Task& task, const char* how, int iteration, int iterations) {
  if (!task.line->Due()) return;
  task.line->Show(string(how) + ": iteration " + std::to_string(iteration + 1) + " of " +
                  std::to_string(iterations));
}

class Training {
 public:
  explicit Training(const Task& task) {
    SolverParameter param = task.param;
    if (param.random_seed() < 0) param.set_random_seed(kSeed);
    param.clear_display();
    param.clear_snapshot();
    param.set_snapshot_after_train(false);
    param.mutable_placement()->set_deterministic(true);
    solver_.reset(SolverRegistry<float>::CreateSolver(param));
    solver_->mutable_placement_extra()->machine = task.machine;
    solver_->mutable_placement_extra()->optimizations = task.optimizations;
    if (!task.snapshot.empty()) solver_->Restore(task.snapshot.c_str());
    for (const auto& net : solver_->test_nets()) net->ShareTrainedLayersWith(solver_->net().get());
  }

  Status Place() { return solver_->Place(); }

  void Iterate() {
    for (const auto& net : solver_->test_nets()) net->Forward();
    NoteTests();
    solver_->net()->ClearParamDiffs();
    loss_ = 0;
    for (int i = 0; i < solver_->param().iter_size(); ++i)
      loss_ += solver_->net()->ForwardBackward();
    solver_->ApplyUpdate();
  }

  const Net<float>& net() const { return *solver_->net(); }

  vector<Value> Values() const {
    vector<Value> values{{"the loss", &loss_, 1}};
    for (size_t i = 0; i < test_outputs_.size(); ++i) {
      values.push_back(
          {test_names_[i], test_outputs_[i].data(), static_cast<int>(test_outputs_[i].size())});
    }
    const Net<float>& net = *solver_->net();
    for (size_t i = 0; i < net.layers().size(); ++i) {
      const auto& blobs = net.layers()[i]->blobs();
      for (size_t j = 0; j < blobs.size(); ++j) {
        values.push_back({"parameter " + std::to_string(j) + " of layer " + net.layer_names()[i],
                          blobs[j]->cpu_data(), blobs[j]->count()});
      }
    }
    const Net<float>::History history = solver_->ParameterHistory();
    for (size_t i = 0; i < history.size(); ++i) {
      for (size_t k = 0; k < history[i].size(); ++k) {
        const Blob<float>& blob = *history[i][k];
        values.push_back({"history " + std::to_string(k) + " of parameter " + std::to_string(i),
                          blob.cpu_data(), blob.count()});
      }
    }
    return values;
  }

 private:
  /// Copies the outputs of the test nets, because training may overwrite their memory.
  void NoteTests() {
    test_names_.clear();
    test_outputs_.clear();
    for (size_t id = 0; id < solver_->test_nets().size(); ++id) {
      const Net<float>& net = *solver_->test_nets()[id];
      for (size_t i = 0; i < net.output_blobs().size(); ++i) {
        const Blob<float>& blob = *net.output_blobs()[i];
        test_names_.push_back("output " + net.blob_names()[net.output_blob_indices()[i]] +
                              " of test net " + std::to_string(id));
        test_outputs_.emplace_back(blob.cpu_data(), blob.cpu_data() + blob.count());
      }
    }
  }

  std::unique_ptr<Solver<float>> solver_;
  float loss_ = 0;
  vector<string> test_names_;
  vector<vector<float>> test_outputs_;
};

using Checksums = vector<uint32_t>;

Checksums ChecksumsOf(const Training& training) {
  Checksums checksums;
  for (const Value& value : training.Values())
    checksums.push_back(Crc32(0, value.data, static_cast<size_t>(value.count) * sizeof(float)));
  return checksums;
}

/// Runs the planned training, up to and including iteration `iterations`.
Result<std::unique_ptr<Training>> TrainPlanned(const Task& task, int iterations,
                                               vector<Checksums>* checksums) {
  auto training = std::make_unique<Training>(task);
  if (Status status = training->Place(); !status.ok()) return status;
  for (int i = 0; i < iterations; ++i) {
    Show(task, "with the plan", i, iterations);
    training->Iterate();
    LOG_EVERY_T(INFO, kTellSeconds) << "With the plan: iteration " << i + 1 << " of " << iterations;
    if (checksums) checksums->push_back(ChecksumsOf(*training));
  }
  return training;
}

/// Describes an in-place layer with traits, and a layer that, without a plan, reads what it has
/// overwritten: one of another branch, or the backward of one without traits. Empty: there is none.
string OverwrittenInPlace(const Net<float>& net) {
  const int layers = static_cast<int>(net.layers().size());
  vector<int> memory(net.blobs().size());  // by blob: the first blob with the same memory
  for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<int>(i);
  vector<MemoryTraits> traits;
  for (int i = 0; i < layers; ++i) {
    traits.push_back(net.layers()[i]->PlannedTraits(net.bottom_vecs()[i], net.top_vecs()[i],
                                                    net.bottom_need_backward()[i]));
    for (const View& view : traits[i].data_views)
      memory[net.top_ids(i)[view.top]] = memory[net.bottom_ids(i)[view.bottom]];
  }
  const auto has = [](const auto& list, int value) {
    return std::find(list.begin(), list.end(), value) != list.end();
  };
  for (int i = 0; i < layers; ++i) {
    for (int blob : net.top_ids(i)) {
      if (!traits[i].declared || !has(net.bottom_ids(i), blob)) continue;
      std::set<int> after{blob};  // blobs whose values should be those of layer i
      for (int k = 0; k < layers; ++k) {
        const auto reads = [&](const vector<int>& blobs) {
          return std::any_of(blobs.begin(), blobs.end(), [&](int read) {
            return memory[read] == memory[blob] && (k < i || !after.count(read));
          });
        };
        const bool backward = k < i && !traits[k].declared && net.layer_need_backward()[k] &&
                              (reads(net.bottom_ids(k)) || reads(net.top_ids(k)));
        if (backward || (k > i && reads(net.bottom_ids(k)))) {
          return "layer " + net.layer_names()[i] + " overwrites blob '" + net.blob_names()[blob] +
                 "' in place, and layer " + net.layer_names()[k] + (backward ? "'s backward" : "") +
                 " reads its memory: without a plan it finds what was written, as in Caffe, under "
                 "a plan what it was given";
        }
        for (const View& view : traits[k].data_views) {
          if (k > i && after.count(net.bottom_ids(k)[view.bottom]))
            after.insert(net.top_ids(k)[view.top]);
        }
      }
    }
  }
  return "";
}

/// Describes the first value of `planned` whose bits differ from those of `unplanned`.
string Describe(int iteration, const Value& planned, const vector<float>& unplanned) {
  const string where = "iteration " + std::to_string(iteration + 1) + ", " + planned.name;
  for (int i = 0; i < planned.count && i < static_cast<int>(unplanned.size()); ++i) {
    if (std::memcmp(&planned.data[i], &unplanned[i], sizeof(float)) == 0) continue;
    ostringstream text;
    text.precision(9);
    text << where << ", index " << i << ": " << planned.data[i] << " under the plan, "
         << unplanned[i] << " without";
    return text.str();
  }
  return where +
         ": differs, but not in a second run: training under the plan does not repeat "
         "itself";
}

}  // namespace

Result<string> VerifyPlacement(const SolverParameter& param, int iterations, const string& snapshot,
                               const layrub::Machine& machine, const Optimizations& optimizations) {
  layrub::ProgressLine line;
  const Task task{param, snapshot, machine, optimizations, &line};
  vector<Checksums> planned;
  if (const auto trained = TrainPlanned(task, iterations, &planned); !trained.ok())
    return trained.status();
  int iteration = 0;
  size_t different = 0;
  vector<float> unplanned;
  {
    Training training(task);
    for (; iteration < iterations && unplanned.empty(); ++iteration) {
      Show(task, "without a plan", iteration, iterations);
      training.Iterate();
      LOG_EVERY_T(INFO, kTellSeconds)
          << "Without a plan: iteration " << iteration + 1 << " of " << iterations;
      const Checksums checksums = ChecksumsOf(training);
      different =
          std::mismatch(checksums.begin(), checksums.end(), planned[iteration].begin()).first -
          checksums.begin();
      if (different == checksums.size()) continue;
      const Value value = training.Values()[different];
      unplanned.assign(value.data, value.data + value.count);
    }
  }
  if (unplanned.empty()) return string();
  const auto again = TrainPlanned(task, iteration, nullptr);
  if (!again.ok()) return again.status();
  const string reason = OverwrittenInPlace(again.value()->net());
  return Describe(iteration - 1, again.value()->Values()[different], unplanned) +
         (reason.empty() ? "" : "; " + reason);
}

}  // namespace caffe
