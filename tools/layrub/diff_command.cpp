#include <glog/logging.h>

#include <algorithm>
#include <cstring>
#include <iomanip>
#include <iostream>
#include <map>
#include <sstream>

#include "layrub/commands.hpp"
#include "layrub/snapshot_file.hpp"

namespace layrub_tool {

namespace {

using caffe::BlobProto;
using caffe::LayerParameter;
using caffe::NetParameter;
using caffe::SolverState;

/// Layers by name. A second layer of the same name is "name#2", and so on.
std::map<std::string, const LayerParameter*> LayersByName(const NetParameter& net) {
  std::map<std::string, const LayerParameter*> layers;
  std::map<std::string, int> seen;
  for (const LayerParameter& layer : net.layer()) {
    std::string name = layer.name();
    while (!layers.emplace(name, &layer).second)
      name = layer.name() + "#" + std::to_string(++seen.try_emplace(layer.name(), 1).first->second);
  }
  return layers;
}

std::string ShapeOf(const BlobProto& blob) {
  std::ostringstream text;
  if (blob.has_shape()) {
    for (int64_t dim : blob.shape().dim()) text << (text.tellp() > 0 ? " " : "") << dim;
  } else {
    text << blob.num() << " " << blob.channels() << " " << blob.height() << " " << blob.width();
  }
  return "(" + text.str() + ")";
}

/// Whether both hold the same bits. If not, prints how many values differ, and the first one.
template <typename Field>
bool SameValues(const std::string& what, const Field& a, const Field& b) {
  if (a.size() != b.size()) {
    std::cout << what << ": " << a.size() << " values and " << b.size() << " values\n";
    return false;
  }
  int differing = 0, first = 0;
  for (int i = a.size() - 1; i >= 0; --i) {
    if (std::memcmp(a.data() + i, b.data() + i, sizeof(*a.data())) == 0) continue;
    ++differing;
    first = i;
  }
  if (differing == 0) return true;
  std::cout << what << ": " << differing << " of " << a.size() << " values differ, the first at "
            << first << ": " << std::setprecision(17) << a.Get(first) << " and " << b.Get(first)
            << "\n";
  return false;
}

bool SameBlob(const std::string& what, const BlobProto& a, const BlobProto& b) {
  if (ShapeOf(a) != ShapeOf(b)) {
    std::cout << what << ": shapes " << ShapeOf(a) << " and " << ShapeOf(b) << "\n";
    return false;
  }
  const bool floats = SameValues(what, a.data(), b.data());
  return SameValues(what, a.double_data(), b.double_data()) && floats;
}

template <typename Blobs>
bool SameBlobs(const std::string& what, const Blobs& a, const Blobs& b) {
  if (a.size() != b.size()) {
    std::cout << what << ": " << a.size() << " blobs and " << b.size() << " blobs\n";
    return false;
  }
  bool same = true;
  for (int i = 0; i < a.size(); ++i)
    same &= SameBlob(what + ", blob " + std::to_string(i), a[i], b[i]);
  return same;
}

bool SameWeights(const NetParameter& first, const NetParameter& second,
                 const std::vector<std::string>& files) {
  const auto a = LayersByName(first), b = LayersByName(second);
  bool same = true;
  for (const auto& [name, layer] : a) {
    const auto other = b.find(name);
    if (other != b.end()) {
      same &= SameBlobs(name, layer->blobs(), other->second->blobs());
    } else if (layer->blobs_size() > 0) {
      std::cout << name << ": only in " << files[0] << "\n";
      same = false;
    }
  }
  for (const auto& [name, layer] : b) {
    if (a.count(name) || layer->blobs_size() == 0) continue;
    std::cout << name << ": only in " << files[1] << "\n";
    same = false;
  }
  return same;
}

template <typename Value>
bool SameValue(const std::string& what, const Value& a, const Value& b) {
  if (a == b) return true;
  std::cout << what << ": " << a << " and " << b << "\n";
  return false;
}

/// Compares the state that an exact resume needs. Its checksums follow from the rest and are not
/// compared.
bool SameProgress(const caffe::ResumeState& a, const caffe::ResumeState& b) {
  if (!SameValue("solvers with saved progress", a.solver_size(), b.solver_size())) return false;
  bool same = true;
  for (int i = 0; i < a.solver_size(); ++i) {
    if (a.solver(i).SerializeAsString() == b.solver(i).SerializeAsString()) continue;
    std::cout << "progress of solver " << i << " (random numbers, data, losses): differs\n";
    same = false;
  }
  return same;
}

/// Compares all but learned_net, which is a file name.
bool SameState(const SolverState& a, const SolverState& b) {
  bool same = SameValue("iter", a.iter(), b.iter());
  same &= SameValue("current_step", a.current_step(), b.current_step());
  same &= SameBlobs("history", a.history(), b.history());
  return SameProgress(a.resume(), b.resume()) && same;
}

bool HoldsWeights(const NetParameter& net) {
  return std::any_of(net.layer().begin(), net.layer().end(),
                     [](const LayerParameter& layer) { return layer.blobs_size() > 0; });
}

}  // namespace

int RunDiff(const std::vector<std::string>& files) {
  FLAGS_minloglevel = google::GLOG_WARNING;
  SnapshotFile a = ReadSnapshotFile(files[0]), b = ReadSnapshotFile(files[1]);
  if (a.state.has_value() != b.state.has_value()) {
    const int state = a.state ? 0 : 1;
    Fail(files[state] + " holds the state of a solver, " + files[1 - state] +
         " weights: give two files of one kind.");
  }
  bool same = false;
  if (a.state) {
    same = SameState(*a.state, *b.state);
  } else {
    if (!HoldsWeights(a.weights)) Fail(files[0] + " holds no weights.");
    if (a.hdf5 && !b.hdf5) FillInShared(b.weights, &a.weights);
    if (b.hdf5 && !a.hdf5) FillInShared(a.weights, &b.weights);
    same = SameWeights(a.weights, b.weights, files);
  }
  std::cout << (a.state ? "solver states" : "weights") << " bit-equal: " << (same ? "yes" : "no")
            << "\n";
  return same ? kSuccess : kFailure;
}

}  // namespace layrub_tool
