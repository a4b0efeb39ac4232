#ifndef CAFFE_NET_NET_GRAPH_HPP_
#define CAFFE_NET_NET_GRAPH_HPP_

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "flat_net.hpp"
#include "layrub/placement/ir/graph.hpp"

namespace caffe {

/// A net's memory as a graph, and the way back from its tensors and operations to the layers, blobs
/// and parameters of the flat net (FlatNet).
struct NetGraph {
  /// One version of a public blob: a value that a layer writes, with its derivative. Under a plan
  /// it is a private blob.
  struct Version {
    int blob = -1;   ///< the public blob (FlatNet::blobs)
    int number = 0;  ///< 0 for the blob's first version, one more for each in-place layer
    layrub::TensorId data = layrub::kNone;
    layrub::TensorId diff = layrub::kNone;  ///< kNone if no operation reads or writes it
    bool is_public = false;  ///< it is the public blob itself: data and diff are outside the plan
  };
  struct LayerEntry {
    std::vector<int> bottom, top;  ///< indices of versions
    std::vector<layrub::TensorId> saved, param_data, param_diff;
    layrub::OpId backward = layrub::kNone;
    std::vector<int>
        backward_variants;    ///< by variant of `backward`: index into MemoryTraits::backward
    bool declared = false;    ///< MemoryTraits::declared
    bool capturable = false;  ///< MemoryTraits::capturable
    /// Derivatives that the forward may write but nothing reads, with their offsets in its
    /// workspace.
    std::vector<std::pair<layrub::TensorId, int64_t>> stand_ins;
  };

  layrub::Graph graph;
  std::vector<Version> versions;
  std::vector<LayerEntry> layers;
  std::vector<int>
      op_owner;  ///< by OpId: a layer, or for updates an index into Net::learnable_params
  std::vector<layrub::TensorId> param_data, param_diff;  ///< by index into FlatNet::params
  std::vector<std::vector<layrub::TensorId>> history;    ///< likewise, one per history blob
  /// The workspace of libraries on the device; kNone if they need none.
  layrub::TensorId library_workspace = layrub::kNone;
  /// Tensors whose memory does not belong to the plan (bytes == 0): memory of the user or of
  /// another net's plan, and the tops of sources without traits, data and diffs, which may be
  /// filled only once or point anywhere.
  std::set<layrub::TensorId> outside;
  /// By operation that copies a parameter of another net to the device: its index into
  /// FlatNet::params. By tensor that such an operation writes: likewise.
  std::map<layrub::OpId, int> parameter_feeds;
  std::map<layrub::TensorId, int> fed_parameters;
  /// Gradients of parameters that live in the backward pass only (UpdateWithinBackward).
  std::vector<layrub::TensorId> transient_gradients;
};

/// Translates a wired, flattened net to a graph. Knows no layer type: all it knows of a layer is
/// its MemoryTraits.
template <typename Dtype>
class NetGraphBuilder {
 public:
  /// `keep`: blobs readable after the pass. `feeds_parameters`, `slicing`: see Net::MemoryGraph.
  NetGraphBuilder(const Net<Dtype>& net, const std::vector<std::string>& keep,
                  const Optimizations& optimizations, bool feeds_parameters, const Slicing& slicing)
      : net_(net),
        optimizations_(optimizations),
        feeds_parameters_(feeds_parameters),
        keep_(keep),
        flat_(Flatten(net, optimizations.layer_fusion, keep, slicing)) {}
  /// `histories`: history tensors per parameter; -1: no update operations. `transient_gradients`:
  /// see Net::MemoryGraph. Called once.
  NetGraph Build(int histories, bool transient_gradients);
  /// Moves out the flat net of the graph. Call it after Build.
  FlatNet<Dtype> TakeFlat() { return std::move(flat_); }

 private:
  layrub::TensorId AddTensor(const std::string& name, int64_t bytes, layrub::Role role,
                             layrub::Life life, int32_t group = layrub::kNone);
  layrub::OpId AddOp(layrub::Op op, int owner);
  bool External(const SyncedMemory& memory) const;
  void FindTraits();
  bool OfOthers(const SyncedMemory& memory) const;
  void ChooseBlocks();
  void AddParams();
  void AddParameterFeeds(int layer);
  void AddLibraryWorkspace();
  void AddForward(int layer);
  void KeepForRestOfPass();
  int AddTop(int layer, int top, const MemoryTraits& traits);
  void AddBackward(int layer);
  bool Overwritten(int layer, const OperandVariant& variant);
  bool Mutated(int layer);
  void SeparateDeadDerivatives();
  void FindOutputDiffs();
  void AddUpdates(int histories);
  void UpdateWithinBackward();
  void MarkKept();
  layrub::TensorId ParamDiffTensor(int param);
  int DiffRoot(int version);
  layrub::TensorId DiffTensor(int version);
  std::string VersionName(int version) const;
  layrub::TensorId TensorOf(int layer, const Operand& operand);
  layrub::Variant ToVariant(int layer, const OperandVariant& variant, const std::string& op_name);
  int64_t BlobBytes(int blob) const {
    return int64_t{flat_.blobs[blob].blob->count()} * int64_t{sizeof(Dtype)};
  }

  const Net<Dtype>& net_;
  const Optimizations optimizations_;
  const bool feeds_parameters_;
  const std::vector<std::string> keep_;
  FlatNet<Dtype> flat_;
  NetGraph out_;
  std::vector<MemoryTraits> traits_;
  std::vector<int> newest_;                  // by public blob: its newest version
  std::vector<int> versions_of_;             // by public blob: number of versions so far
  std::vector<int> diff_parent_;             // by version: union-find over diffs that are views
  std::set<int> output_roots_;               // roots of diffs that users write
  std::vector<layrub::TensorId> root_diff_;  // by root version
  std::map<int, int32_t> diff_group_;        // by public blob
  std::set<layrub::TensorId> written_;       // tensors that an operation has written so far
  std::map<layrub::TensorId, int>
      overwritten_by_;                          // by data: the last layer that works in place on it
  std::map<layrub::TensorId, int> mutated_by_;  // by data: the last layer without traits above it
  int last_varying_ = -1;  // the last layer that may end a planned pass (MemoryTraits::varying)
  // The top of a source without traits may share the memory of the source's parameters. By tensor
  // of its data or diff: the tensors of the parameters' data or diffs.
  std::map<layrub::TensorId, std::vector<layrub::TensorId>> may_show_;
  std::set<std::string> names_;
  int32_t groups_ = 0;
};

}  // namespace caffe

#endif  // CAFFE_NET_NET_GRAPH_HPP_
