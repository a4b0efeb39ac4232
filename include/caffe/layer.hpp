#ifndef CAFFE_LAYER_H_
#define CAFFE_LAYER_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/common.hpp"
#include "caffe/layer_factory.hpp"
#include "caffe/memory_traits.hpp"
#include "caffe/operands.hpp"
#include "caffe/pending_reads.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/util/host_feed.hpp"
#include "caffe/util/math_functions.hpp"

namespace caffe {

/// How one call of a layer's body runs: which backward variant was chosen, and where its buffers
/// are.
struct LayerRun {
  int variant = 0;            ///< index into MemoryTraits::backward
  std::vector<void*> saved;   ///< one per MemoryTraits::saved; null: not needed by `variant`
  void* workspace = nullptr;  ///< for the chosen algorithm
  std::string algorithm;      ///< its name; empty if there is only one
  /// Recomputation: this forward has already run in this pass and runs again, because its outputs
  /// were dropped. It must give the same bits and have no other effect. Persistent values (running
  /// statistics) are neither read for an update nor written.
  bool recompute = false;
  HostFeed* feed = nullptr;  ///< a source's copies from the host; null: as without a plan
  /// The plan knows nothing of the layer: `variant`, `saved` and `workspace` are chosen and
  /// allocated as for a call outside a plan.
  bool unplanned_buffers = false;
};

template <typename Dtype>
class Net;

/// The net that a layer consists of (Layer::inner_net). Its Input layers make the blobs that stand
/// for the layer's bottoms. Parameters of the net that are also in the layer's blobs() are the
/// layer's parameters. All its other parameters are state that lives from pass to pass and is not
/// learned.
template <typename Dtype>
struct InnerNet {
  Net<Dtype>* net = nullptr;  ///< owned by the layer; null: the layer is not a net
  vector<string> bottoms;     ///< for each bottom of the layer, the name of its blob
  vector<string> tops;        ///< for each top, the name of its blob; never a bottom
};

/// A node of a net. A subclass defines the output shapes (Reshape) and how values and derivatives
/// are computed: Forward_cpu, Forward_gpu, Backward_cpu and Backward_gpu as in Caffe, or ForwardOn
/// and BackwardOn once for both devices. To take part in memory planning, it also declares what its
/// operations read and write (Traits).
///
/// Not thread safe. A body allocates no memory: it uses WorkspaceBytes and SavedBytes.
template <typename Dtype>
class Layer {
 public:
  explicit Layer(const LayerParameter& param);
  virtual ~Layer() {}

  /// Checks the number of blobs, calls LayerSetUp and Reshape, and sets the loss weights of the
  /// tops.
  void SetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  virtual void LayerSetUp(const vector<Blob<Dtype>*>& /*bottom*/,
                          const vector<Blob<Dtype>*>& /*top*/) {}
  virtual void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) = 0;

  /// Reshapes, runs the body on the current device and returns the weighted loss of the tops.
  Dtype Forward(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  /// The same, but values that the host needs are read later, when `reads` are looked at. Then the
  /// loss is added to `*loss`, and labels that are not classes are an error.
  void Forward(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
               PendingReads* reads, Dtype* loss);
  /// Runs the backward body. Parameter gradients are added to; bottom gradients are overwritten.
  void Backward(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                const vector<Blob<Dtype>*>& bottom);

  vector<shared_ptr<Blob<Dtype>>>& blobs() { return blobs_; }
  const LayerParameter& layer_param() const { return layer_param_; }
  virtual void ToProto(LayerParameter* param, bool write_diff = false);

  /// Stores what another process needs, besides the layer's blobs, to resume training exactly: the
  /// position in the data, random generators of the layer, and values that it carries from pass to
  /// pass. The state is that after the last pass: data that was only read ahead does not count.
  /// Sets nothing if the layer has no such state. The net sets the field `layer`. Called between
  /// passes.
  virtual void SaveProgress(LayerProgress* /*progress*/) const {}
  /// Restores what SaveProgress stored for the layer of this name, which may have been of another
  /// type if the prototxt has changed. Called between passes. Returns false if it does not fit; the
  /// layer then starts from the beginning.
  virtual bool RestoreProgress(const LayerProgress& /*progress*/) { return false; }

  Dtype loss(const int top_index) const {
    return static_cast<int>(loss_.size()) > top_index ? loss_[top_index] : Dtype(0);
  }
  void set_loss(const int top_index, const Dtype value);
  virtual const char* type() const { return ""; }

  // The number of blobs that the layer takes. -1: any number.
  virtual int ExactNumBottomBlobs() const { return -1; }
  virtual int MinBottomBlobs() const { return -1; }
  virtual int MaxBottomBlobs() const { return -1; }
  virtual int ExactNumTopBlobs() const { return -1; }
  virtual int MinTopBlobs() const { return -1; }
  virtual int MaxTopBlobs() const { return -1; }
  virtual bool EqualNumBottomTopBlobs() const { return false; }
  /// If true, the net adds anonymous tops up to the number that the layer needs.
  virtual bool AutoTopBlobs() const { return false; }
  /// If false, force_backward does not apply to this bottom (labels).
  virtual bool AllowForceBackward(const int /*bottom_index*/) const { return true; }

  bool param_propagate_down(const int param_id) const {
    return static_cast<int>(param_propagate_down_.size()) > param_id &&
           param_propagate_down_[param_id];
  }
  void set_param_propagate_down(const int param_id, const bool value);

  /// Returns what the layer's operations read and write for these shapes. `propagate_down` has one
  /// entry per bottom, which tells whether its gradient is needed; param_propagate_down tells the
  /// same for parameters. Reads only shapes and the layer's settings.
  virtual MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                              const vector<bool>& propagate_down) const;

  /// The traits that a plan uses: Traits, or, if these are inherited, those of a layer that
  /// declares nothing.
  MemoryTraits PlannedTraits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                             const vector<bool>& propagate_down) const;

  /// Returns the net if this layer is a net itself. A plan then runs the layers of that net
  /// instead, and calls neither Traits nor the body of this layer. Called after Reshape.
  virtual InnerNet<Dtype> inner_net() const { return InnerNet<Dtype>(); }

  /// Returns a new layer that does the work of this layer followed by that of `next`, with the same
  /// bits, or null if there is none. It shares the parameters of both; this layer's come first.
  /// Called after SetUp, with this layer's bottoms; `next` has one bottom and one top. Fused layers
  /// run only under plans.
  virtual shared_ptr<Layer<Dtype>> FusedWith(Layer<Dtype>& /*next*/,
                                             const vector<Blob<Dtype>*>& /*bottom*/) const {
    return nullptr;
  }

  /// The next values of a source that copies through a feed, as far as they are known. Does not
  /// wait for them.
  virtual NextFeed next_feed() { return NextFeed(); }

  /// Under a plan: the next call of Forward or Backward uses `run`. The layer's own buffers are
  /// freed.
  void EnterPlan(LayerRun run) {
    run_ = std::move(run);
    planned_ = true;
    if (run_.unplanned_buffers) return;
    direct_saved_.clear();
    direct_workspace_.reset();
  }
  void LeavePlan() { planned_ = false; }
  /// For a pass that began under a plan and continues without it: the next direct Backward uses
  /// `variant` and a copy of the buffers that forward saved for it. `saved` has one entry per
  /// MemoryTraits::saved: the address, null if nothing was saved, and the bytes.
  void ContinueDirect(int variant, const vector<pair<const void*, size_t>>& saved);
  /// If false, no backward follows a direct Forward, which then saves nothing. Initially true.
  void set_needs_backward(bool value) { needs_backward_ = value; }
  /// Tells which bottoms' and tops' data a later in-place layer of an unplanned net overwrites
  /// before this layer's backward.
  void set_overwritten(const vector<bool>& bottom, const vector<bool>& top) {
    bottom_overwritten_ = bottom;
    top_overwritten_ = top;
  }
  /// Returns the backward variant for a call outside a plan: the first of `variants` that reads no
  /// data overwritten by the layer itself (in place) or by a later one, or -1 if there is none.
  int DirectVariant(const vector<OperandVariant>& variants, const vector<Blob<Dtype>*>& bottom,
                    const vector<Blob<Dtype>*>& top) const;

 protected:
  /// The body for either device. bottom[i] == top[j] if the layer runs in place outside a plan.
  virtual void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                         const vector<Blob<Dtype>*>& top);
  virtual void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                          const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom);

  // Caffe's entry points. By default they run the bodies above. A layer that has only a CPU version
  // runs it in GPU mode too, on the CPU side of its blobs.
  virtual void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    ForwardOn(DeviceContext(), bottom, top);
  }
  virtual void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    ForwardOn(DeviceContext::Current(), bottom, top);
  }
  virtual void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                            const vector<Blob<Dtype>*>& bottom) {
    BackwardOn(DeviceContext(), top, propagate_down, bottom);
  }
  virtual void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                            const vector<Blob<Dtype>*>& bottom) {
    BackwardOn(DeviceContext::Current(), top, propagate_down, bottom);
  }

  virtual void CheckBlobCounts(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  /// Sets loss() and fills the diff with the weight, for each top that has a loss weight.
  void SetLossWeights(const vector<Blob<Dtype>*>& top);

  /// The chosen backward variant: an index into the backward variants of Traits.
  int variant() const { return run_.variant; }
  /// True in a recomputation: see LayerRun::recompute.
  bool recomputing() const { return planned_ && run_.recompute; }
  /// See LayerRun::feed.
  HostFeed* feed() const { return planned_ ? run_.feed : nullptr; }
  /// Saved buffer `index`, or null if the chosen variant does not read it. Written in forward, read
  /// in backward.
  template <typename T>
  T* SavedBytes(int index) const {
    return static_cast<T*>(run_.saved[index]);
  }
  /// Reads of forward's values by the host. Null outside Forward.
  PendingReads* reads() const { return reads_; }
  /// The name of the chosen algorithm. Empty if the operation has only one.
  const string& algorithm() const { return run_.algorithm; }
  /// Workspace of the chosen variant. Its contents are undefined.
  template <typename T>
  T* WorkspaceBytes() const {
    return static_cast<T*>(run_.workspace);
  }

  LayerParameter layer_param_;
  Phase phase_;
  vector<shared_ptr<Blob<Dtype>>> blobs_;
  vector<bool> param_propagate_down_;
  vector<Dtype> loss_;

 private:
  /// For a call outside a plan: chooses a variant and allocates its buffers from the pool.
  void PrepareDirect(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                     const vector<bool>& propagate_down, bool forward);
  /// Adds the weighted loss of the tops to `*loss`.
  void AddLoss(const vector<Blob<Dtype>*>& top, PendingReads* reads, Dtype* loss);

  LayerRun run_;
  PendingReads* reads_ = nullptr;
  bool planned_ = false;
  int continued_variant_ = -1;  ///< set by ContinueDirect, until the next forward
  bool needs_backward_ = true;
  vector<bool> bottom_overwritten_, top_overwritten_;
  vector<shared_ptr<SyncedMemory>> direct_saved_;
  shared_ptr<SyncedMemory> direct_workspace_;

  DISABLE_COPY_AND_ASSIGN(Layer);
};

/// Returns the first of `variants` that reads no overwritten data, or -1 if there is none. Missing
/// flags count as false.
int FirstUsableVariant(const vector<OperandVariant>& variants,
                       const vector<bool>& bottom_overwritten, const vector<bool>& top_overwritten);

}  // namespace caffe

#endif  // CAFFE_LAYER_H_
