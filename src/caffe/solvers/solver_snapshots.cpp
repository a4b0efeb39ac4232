#include "caffe/solver_snapshots.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/algorithm/string/predicate.hpp>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <filesystem>

#include "caffe/util/atomic_file.hpp"
#include "caffe/util/failure.hpp"
#include "caffe/util/hdf5.hpp"
#include "caffe/util/io.hpp"
#include "state_file.hpp"

namespace caffe {

using layrub::Result;
using layrub::Status;

namespace fs = std::filesystem;

namespace {

/// The rest of a file, besides values and names, is far smaller than the margin.
constexpr int64_t kLargestBinary = int64_t{INT_MAX} - (64 << 20);

constexpr const char* kStates[] = {".solverstate", ".solverstate.h5"};
constexpr const char* kWeights[] = {".caffemodel", ".caffemodel.h5"};

/// The parsed name of a file without its folder. `kind` is an index into kStates and kWeights.
struct Name {
  int iteration = -1;  ///< -1: not a snapshot of that prefix
  int kind = 0;
  bool is_state = false;
};

Name Parse(const string& name, const string& prefix) {
  const string stem = fs::path(prefix).filename().string() + "_iter_";
  const size_t dot = name.find('.', std::min(stem.size(), name.size()));
  if (dot == string::npos || !boost::starts_with(name, stem)) return {};
  const string digits = name.substr(stem.size(), dot - stem.size()), extension = name.substr(dot);
  Name found;
  for (int kind = 0; kind < 2; ++kind) {
    found.is_state = extension == kStates[kind];
    found.kind = kind;
    if (!found.is_state && extension != kWeights[kind]) continue;
    std::from_chars(digits.data(), digits.data() + digits.size(), found.iteration);
    return std::to_string(found.iteration) == digits ? found : Name();
  }
  return {};
}

string FolderOf(const string& prefix) { return fs::path(prefix).parent_path().string(); }

/// Calls `use` with the name of each file that may be a snapshot of `prefix`.
template <typename Use>
void ForEachName(const string& prefix, const Use& use) {
  const string folder = FolderOf(prefix);
  std::error_code ignored;
  fs::directory_iterator next(folder.empty() ? "." : folder, ignored);
  for (; next != fs::directory_iterator(); next.increment(ignored)) {
    const Name name = Parse(next->path().filename().string(), prefix);
    if (name.iteration >= 0) use(name);
  }
}

SnapshotFiles FilesOf(const string& prefix, const Name& name) {
  const string stem = prefix + "_iter_" + std::to_string(name.iteration);
  return {name.iteration, stem + kStates[name.kind], stem + kWeights[name.kind]};
}

bool IsFile(const string& path) {
  struct stat status;
  return lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

/// Returns what is wrong with a state, or "", and sets its iteration. Aborts if it cannot be read.
string FaultOf(const string& state_file, int* iteration) {
  SolverState head;
  uint32_t crc = 0;
  if (boost::ends_with(state_file, ".h5")) {
#ifdef USE_HDF5
    const FailureScope at_work{CurrentFile{state_file}}, believed(state_file.c_str());
    const Hdf5Handle file(hdf5_open_file(state_file), H5Fclose, state_file);
    head = LoadHead(file.id(), state_file);
    const Hdf5Handle history(H5Gopen2(file.id(), "history", H5P_DEFAULT), H5Gclose, state_file);
    crc = HistoryCrc32(history.id(), head, HeadCrc32(head));
#else
    return "this build has no HDF5 (USE_HDF5=OFF)";
#endif
  } else {
    SolverState state;
    ReadProtoFromBinaryFileOrDie(state_file, &state);
    head = TakeHead(state);
    crc = HistoryCrc32(state, HeadCrc32(head));
  }
  *iteration = head.iter();
  string fault = StateFault(state_file, head, crc);
  if (fault.empty()) fault = WeightsFault(state_file, head);
  if (!fault.empty() || head.has_resume() || !head.has_learned_net()) return fault;
  // Files of Caffe have no checksum of the weights.
  if (boost::ends_with(head.learned_net(), ".h5")) {
#ifdef USE_HDF5
    const FailureScope believed(head.learned_net().c_str());
    const Hdf5Handle weights(hdf5_open_file(head.learned_net()), H5Fclose, head.learned_net());
    if (!hdf5_has(weights.id(), "data")) return head.learned_net() + " holds no weights.";
#endif
  } else {
    NetParameter weights;
    ReadProtoFromBinaryFileOrDie(head.learned_net(), &weights);
  }
  return "";
}

string FaultOrFailure(const string& state_file, int* iteration) {
  const ThrowOnError scope;
  try {
    return FaultOf(state_file, iteration);
  } catch (const Error& error) {
    return error.what();
  }
}

/// Whether training cannot resume from the state. Logs the reason.
bool IsSkipped(const SnapshotFiles& files) {
  int iteration = files.iteration;
  string fault = FaultOrFailure(files.state, &iteration);
  if (fault.empty() && iteration != files.iteration)
    fault = files.state + " is of iteration " + std::to_string(iteration) + ".";
  LOG_IF(WARNING, !fault.empty()) << "Skipping " << files.state << ": " << fault;
  return !fault.empty();
}

}  // namespace

vector<SnapshotFiles> FindSnapshots(const string& prefix) {
  vector<SnapshotFiles> found;
  ForEachName(prefix, [&](const Name& name) {
    if (name.is_state) found.push_back(FilesOf(prefix, name));
  });
  std::sort(found.begin(), found.end(), [](const SnapshotFiles& a, const SnapshotFiles& b) {
    return a.iteration != b.iteration ? a.iteration > b.iteration : a.state < b.state;
  });
  return found;
}

string SnapshotFault(const string& state_file) {
  int iteration = 0;
  return FaultOrFailure(state_file, &iteration);
}

Result<string> LatestSnapshot(const string& prefix) {
  struct Candidate {
    SnapshotFiles files;
    int64_t written;
  };
  vector<Candidate> states;
  for (const SnapshotFiles& files : FindSnapshots(prefix))
    states.push_back({files, WrittenAt(files.state)});
  // At equal times, the larger iteration comes first.
  std::stable_sort(states.begin(), states.end(),
                   [](const Candidate& a, const Candidate& b) { return a.written > b.written; });
  auto next = states.begin();
  while (next != states.end() && IsSkipped(next->files)) ++next;
  const bool found = next != states.end();
  const string latest = found ? next->files.state : "";
  const int best = found ? next->files.iteration : -1;
  if (found) ++next;
  std::stable_sort(next, states.end(), [](const Candidate& a, const Candidate& b) {
    return a.files.iteration > b.files.iteration;
  });
  while (next != states.end() && next->files.iteration > best && IsSkipped(next->files)) ++next;
  LOG_IF(WARNING, next != states.end() && next->files.iteration > best)
      << latest << " is the newest state, although " << next->files.state
      << ", which is older, is of a later iteration. Give that as --snapshot to resume from it.";
  ForEachName(prefix, [&](const Name& name) {
    const SnapshotFiles files = FilesOf(prefix, name);
    if (name.is_state || name.iteration <= best || fs::exists(files.state)) return;
    LOG(WARNING) << "Skipping " << files.weights << ": there is no solver state with it.";
  });
  if (latest.empty() && !states.empty()) {
    return Status::Invalid("none of the " + std::to_string(states.size()) +
                           " solver states under " + prefix +
                           " can be resumed from; the log says why");
  }
  return latest;
}

void RemoveOlderSnapshots(const string& prefix, int iteration, int keep) {
  const auto remove = [](const string& path) {
    if (unlink(path.c_str()) == 0) return true;
    LOG(WARNING) << "Cannot remove " << path << ": " << strerror(errno);
    return false;
  };
  int kept = 0, last = INT_MAX;
  for (const SnapshotFiles& files : FindSnapshots(prefix)) {
    if (files.iteration > iteration || !IsFile(files.state) || !IsFile(files.weights)) continue;
    if (files.iteration < last) ++kept;  // both formats of an iteration count once
    last = files.iteration;
    if (kept > keep && remove(files.state)) remove(files.weights);
  }
}

void RemoveStraySnapshots(const string& prefix) {
  RemoveStrayFiles(FolderOf(prefix),
                   [&](const string& target) { return Parse(target, prefix).iteration >= 0; });
}

SolverParameter_SnapshotFormat SnapshotFormatFor(SolverParameter_SnapshotFormat wanted,
                                                 int64_t weights_bytes, int64_t state_bytes) {
  return std::max(weights_bytes, state_bytes) > kLargestBinary ? SolverParameter_SnapshotFormat_HDF5
                                                               : wanted;
}

}  // namespace caffe
