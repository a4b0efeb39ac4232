#ifndef CAFFE_NET_HPP_
#define CAFFE_NET_HPP_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/common.hpp"
#include "caffe/layer.hpp"
#include "caffe/placement.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

template <typename Dtype>
class PlannedNet;

/// A directed acyclic graph of layers, connected by blob names. Not thread safe.
///
/// A net runs in one of two ways, with the same bits:
/// - *Unplanned*, as in Caffe: each named blob has one address, memory comes from the pool and
///   nothing moves. A net runs like this until Place is called. Partial passes always do.
/// - *Planned*, after Place: whole passes run under a memory plan. Layers with traits get private
///   blobs, one per version of a blob. The public blobs show the newest version written. Layers
///   without traits get the public blobs.
template <typename Dtype>
class Net {
 public:
  explicit Net(const NetParameter& param);
  explicit Net(const string& param_file, Phase phase, const int level = 0,
               const vector<string>* stages = NULL);
  virtual ~Net();

  /// Builds the net. Aborts with the name of the layer or blob if `param` is invalid.
  void Init(const NetParameter& param);

  const vector<Blob<Dtype>*>& Forward(Dtype* loss = NULL);
  /// Old name of Forward.
  const vector<Blob<Dtype>*>& ForwardPrefilled(Dtype* loss = NULL) {
    LOG_EVERY_N(WARNING, 1000)
        << "DEPRECATED: ForwardPrefilled() will be removed in a future version. Use Forward().";
    return Forward(loss);
  }
  // Partial passes over the layers start .. end, both included. They run unplanned and return the
  // loss of these layers.
  Dtype ForwardFromTo(int start, int end);
  Dtype ForwardFrom(int start);
  Dtype ForwardTo(int end);
  /// Copies `bottom` into the input blobs and runs Forward.
  const vector<Blob<Dtype>*>& Forward(const vector<Blob<Dtype>*>& bottom, Dtype* loss = NULL);

  void ClearParamDiffs();
  void Backward();
  void BackwardFromTo(int start, int end);
  void BackwardFrom(int start);
  void BackwardTo(int end);

  /// Propagates new input shapes through all layers.
  void Reshape();
  /// Runs Forward and Backward and returns the loss. The host waits for the device only after both,
  /// so labels that are not classes are an error only then.
  Dtype ForwardBackward();

  /// param -= diff for every learnable parameter.
  void Update();
  /// Makes shared parameters use their owners' memory.
  void ShareWeights();
  /// Uses the parameters of the layers of `other` that have the same names.
  void ShareTrainedLayersWith(const Net* other);
  void CopyTrainedLayersFrom(const NetParameter& param);
  void CopyTrainedLayersFrom(const string& trained_filename);
  void CopyTrainedLayersFromBinaryProto(const string& trained_filename);
  void CopyTrainedLayersFromHDF5(const string& trained_filename);
  void ToProto(NetParameter* param, bool write_diff = false) const;
  void ToHDF5(const string& filename, bool write_diff = false) const;

  const string& name() const { return name_; }
  const vector<string>& layer_names() const { return layer_names_; }
  const vector<string>& blob_names() const { return blob_names_; }
  const vector<shared_ptr<Blob<Dtype>>>& blobs() const { return blobs_; }
  const vector<shared_ptr<Layer<Dtype>>>& layers() const { return layers_; }
  Phase phase() const { return phase_; }
  const vector<vector<Blob<Dtype>*>>& bottom_vecs() const { return bottom_vecs_; }
  const vector<vector<Blob<Dtype>*>>& top_vecs() const { return top_vecs_; }
  const vector<int>& top_ids(int i) const { return top_id_vecs_.at(i); }
  const vector<int>& bottom_ids(int i) const { return bottom_id_vecs_.at(i); }
  const vector<vector<bool>>& bottom_need_backward() const { return bottom_need_backward_; }
  const vector<Dtype>& blob_loss_weights() const { return blob_loss_weights_; }
  const vector<bool>& layer_need_backward() const { return layer_need_backward_; }
  const vector<shared_ptr<Blob<Dtype>>>& params() const { return params_; }
  const vector<Blob<Dtype>*>& learnable_params() const { return learnable_params_; }
  const vector<float>& params_lr() const { return params_lr_; }
  const vector<bool>& has_params_lr() const { return has_params_lr_; }
  const vector<float>& params_weight_decay() const { return params_weight_decay_; }
  const vector<bool>& has_params_decay() const { return has_params_decay_; }
  const map<string, int>& param_names_index() const { return param_names_index_; }
  const vector<int>& param_owners() const { return param_owners_; }
  const vector<string>& param_display_names() const { return param_display_names_; }
  int num_inputs() const { return static_cast<int>(net_input_blobs_.size()); }
  int num_outputs() const { return static_cast<int>(net_output_blobs_.size()); }
  const vector<Blob<Dtype>*>& input_blobs() const { return net_input_blobs_; }
  const vector<Blob<Dtype>*>& output_blobs() const { return net_output_blobs_; }
  const vector<int>& input_blob_indices() const { return net_input_blob_indices_; }
  const vector<int>& output_blob_indices() const { return net_output_blob_indices_; }
  bool has_blob(const string& blob_name) const;
  const shared_ptr<Blob<Dtype>> blob_by_name(const string& blob_name) const;
  bool has_layer(const string& layer_name) const;
  const shared_ptr<Layer<Dtype>> layer_by_name(const string& layer_name) const;
  bool debug_info() const { return debug_info_; }
  void set_debug_info(const bool value) { debug_info_ = value; }

  /// Drops the layers whose include/exclude rules `param.state()` does not meet.
  static void FilterNet(const NetParameter& param, NetParameter* param_filtered);
  static bool StateMeetsRule(const NetState& state, const NetStateRule& rule,
                             const string& layer_name);

  /// Called before or after each layer of a pass, with the layer's index.
  class Callback {
   protected:
    virtual void run(int layer) = 0;
    template <typename T>
    friend class Net;
    template <typename T>
    friend class PlannedNet;
    template <typename T>
    friend class PlannedRunner;

   public:
    virtual ~Callback() = default;
  };
  const vector<Callback*>& before_forward() const { return before_forward_; }
  void add_before_forward(Callback* value) { before_forward_.push_back(value); }
  const vector<Callback*>& after_forward() const { return after_forward_; }
  void add_after_forward(Callback* value) { after_forward_.push_back(value); }
  const vector<Callback*>& before_backward() const { return before_backward_; }
  void add_before_backward(Callback* value) { before_backward_.push_back(value); }
  const vector<Callback*>& after_backward() const { return after_backward_; }
  void add_after_backward(Callback* value) { after_backward_.push_back(value); }

  // ---- Memory placement ----

  /// A solver's history blobs for each learnable parameter; may be empty (no solver).
  using History = vector<vector<Blob<Dtype>*>>;

  /// Returns the net's memory as a graph, for its present shapes: forward, backward if needed, and
  /// an update of each learnable parameter with `histories` history tensors (-1: no updates).
  /// Changes no blob. The blobs in `keep` must be readable after a pass. With
  /// `transient_gradients`, each parameter is updated within the backward pass, as soon as nothing
  /// else needs it or its gradient, and the gradient lives in that pass only. With
  /// `feeds_parameters`, those of another net are copied to the device for their uses, each by an
  /// operation of kind Feed; otherwise they are no part of the graph. With `slicing`, some layers
  /// run in slices, each as an operation.
  layrub::Graph MemoryGraph(int histories, const vector<string>& keep = {},
                            const Optimizations& optimizations = {},
                            bool transient_gradients = false, bool feeds_parameters = false,
                            const Slicing& slicing = {}) const;
  /// Returns the slicings with which a plan may need less memory, fewest parts first.
  vector<Slicing> Slicings(const vector<string>& keep, bool rounds) const;

  /// Plans the net's memory for its present shapes. Whole passes run under the plan from the next
  /// Forward on. Returns kDoesNotFit if the budget is too small; the net is then unchanged.
  layrub::Status Place(const PlacementOptions& options, const History& history = History());
  /// The present plan, or null.
  const PlannedNet<Dtype>* planned() const { return planned_.get(); }
  PlannedNet<Dtype>* planned() { return planned_.get(); }
  /// Whether reading `memory` is an error because a plan of this net has dropped its value.
  bool HasDropped(const SyncedMemory& memory) const;

  /// Calls `update` with the index of each learnable parameter with lr_mult != 0, in order. Under a
  /// plan each call is a step of it.
  void UpdateParams(const std::function<void(int)>& update);
  /// True if the net runs under a plan in which UpdateParams runs the backward pass, too, and
  /// updates each parameter within it.
  bool updates_within_backward() const;

 protected:
  void AppendTop(const NetParameter& param, const int layer_id, const int top_id,
                 set<string>* available_blobs, map<string, int>* blob_name_to_idx);
  int AppendBottom(const NetParameter& param, const int layer_id, const int bottom_id,
                   set<string>* available_blobs, map<string, int>* blob_name_to_idx);
  void AppendParam(const NetParameter& param, const int layer_id, const int param_id);

  void ForwardDebugInfo(const int layer_id);
  void BackwardDebugInfo(const int layer_id);
  void UpdateDebugInfo(const int param_id);

  string name_;
  Phase phase_;
  vector<shared_ptr<Layer<Dtype>>> layers_;
  vector<string> layer_names_;
  map<string, int> layer_names_index_;
  vector<bool> layer_need_backward_;
  vector<shared_ptr<Blob<Dtype>>> blobs_;
  vector<string> blob_names_;
  map<string, int> blob_names_index_;
  vector<bool> blob_need_backward_;
  vector<vector<Blob<Dtype>*>> bottom_vecs_;
  vector<vector<int>> bottom_id_vecs_;
  vector<vector<bool>> bottom_need_backward_;
  vector<vector<Blob<Dtype>*>> top_vecs_;
  vector<vector<int>> top_id_vecs_;
  vector<Dtype> blob_loss_weights_;
  vector<vector<int>> param_id_vecs_;
  vector<int> param_owners_;
  vector<string> param_display_names_;
  vector<pair<int, int>> param_layer_indices_;
  map<string, int> param_names_index_;
  vector<int> net_input_blob_indices_;
  vector<int> net_output_blob_indices_;
  vector<Blob<Dtype>*> net_input_blobs_;
  vector<Blob<Dtype>*> net_output_blobs_;
  vector<shared_ptr<Blob<Dtype>>> params_;
  vector<Blob<Dtype>*> learnable_params_;
  /// For each of params_, the index of its owner in learnable_params_.
  vector<int> learnable_param_ids_;
  vector<float> params_lr_;
  vector<bool> has_params_lr_;
  vector<float> params_weight_decay_;
  vector<bool> has_params_decay_;
  size_t memory_used_;
  bool debug_info_;
  vector<Callback*> before_forward_;
  vector<Callback*> after_forward_;
  vector<Callback*> before_backward_;
  vector<Callback*> after_backward_;

 private:
  /// Runs a whole forward, under the plan if there is one (RunForward), or the layers start .. end
  /// without a plan (RunLayers). The loss is added to `*loss` when `reads` are looked at.
  void RunForward(PendingReads* reads, Dtype* loss);
  void RunLayers(int start, int end, PendingReads* reads, Dtype* loss);
  void ShareWeightsWithin();
  /// Gives the public blobs memory of their own, with the values that a plan has left. Before an
  /// unplanned pass all get it; before a whole pass (`whole_pass`) only those that it needs.
  void LeavePlan(bool whole_pass = false);
  /// Makes reading `memory` an error with `message` until it is written.
  void Drop(const shared_ptr<SyncedMemory>& memory, const string& message);

  template <typename T>
  friend class PlannedNet;
  template <typename T>
  friend class PlannedRunner;
  template <typename T>
  friend class PlannedValues;
  template <typename T>
  friend class NetGraphBuilder;
  template <typename T>
  friend class NetWiring;
  /// Memory of parameters that belong to another net (ShareTrainedLayersWith).
  set<const SyncedMemory*> borrowed_;
  map<const SyncedMemory*, std::unique_ptr<Resolver>> dropped_;
  /// The private blobs of layers with traits under a plan, by blob (of FlatNet) and version. They
  /// live as long as the net, across plans: a layer may keep pointers to its operands.
  map<pair<int, int>, shared_ptr<Blob<Dtype>>> private_blobs_;
  std::unique_ptr<PlannedNet<Dtype>> planned_;
  bool placement_wanted_ = false;
  PlacementOptions placement_;
  History history_;

  DISABLE_COPY_AND_ASSIGN(Net);
};

}  // namespace caffe

#endif  // CAFFE_NET_HPP_
