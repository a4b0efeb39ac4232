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

/// How one call of a layer's body runs: which backward form was chosen, and where its buffers are.
struct LayerRun {
  int form = 0;              ///< index into MemoryTraits::backward
  std::vector<void*> saved;  ///< one per MemoryTraits::saved; null: not needed by `form`
  void* scratch = nullptr;   ///< at least the bytes of the workspace chosen
  std::string workspace;     ///< its name; empty where there is no choice
  /// A forward that has run in this pass runs again, for outputs that were dropped: the same bits
  /// and no other effect. Persistent values (running statistics) are neither read for update nor
  /// written.
  bool recompute = false;
  HostFeed* feed = nullptr;  ///< for what a source copies from the host; null: it copies as always
  /// The plan knows nothing of the layer: `form`, `saved` and `scratch` are chosen and made as for
  /// a call outside a plan.
  bool unplanned_buffers = false;
};

template <typename Dtype>
class Net;

/// The net that a layer is made of (Layer::inner_net), by the names of its blobs. Its Input layers
/// make the blobs that stand for the layer's bottoms. Parameters of the net that are blobs() of the
/// layer are the layer's; all others are its state: they live from pass to pass and do not learn.
template <typename Dtype>
struct InnerNet {
  Net<Dtype>* net = nullptr;  ///< owned by the layer; null: the layer is no net
  vector<string> bottoms;     ///< for each bottom of the layer, the blob that has its value
  vector<string> tops;        ///< for each top, the blob that has its value; none is a bottom
};

/// A node of a net. A subclass says what shapes come out (Reshape), how values and derivatives are
/// computed (Forward_cpu / Forward_gpu / Backward_cpu / Backward_gpu as in Caffe, or once for both
/// devices: ForwardOn and BackwardOn), and, to take part in memory planning, what its operations
/// touch (Traits).
///
/// Not thread safe. A body allocates nothing: its workspace is ScratchBytes and SavedBytes.
template <typename Dtype>
class Layer {
 public:
  explicit Layer(const LayerParameter& param);
  virtual ~Layer() {}

  /// Checks the number of blobs, then LayerSetUp, Reshape and the loss weights of the tops.
  void SetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  virtual void LayerSetUp(const vector<Blob<Dtype>*>& /*bottom*/,
                          const vector<Blob<Dtype>*>& /*top*/) {}
  virtual void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) = 0;

  /// Reshapes, runs the body on the current device and returns the weighted loss of the tops.
  Dtype Forward(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  /// The same, but that what the host wants to know is left to `reads`: the loss is added to
  /// `*loss`, and labels that are no class are an error, when those are looked at.
  void Forward(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
               PendingReads* reads, Dtype* loss);
  /// Runs the backward body. Parameter gradients are added to; bottom gradients are overwritten.
  void Backward(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                const vector<Blob<Dtype>*>& bottom);

  vector<shared_ptr<Blob<Dtype>>>& blobs() { return blobs_; }
  const LayerParameter& layer_param() const { return layer_param_; }
  virtual void ToProto(LayerParameter* param, bool write_diff = false);

  /// What the layer needs besides its blobs to go on, in another process, as if nothing had been
  /// between: its place in what it reads, generators of its own, values that it carries from pass
  /// to pass. As after the last pass: what was only read ahead does not count. Nothing is set where
  /// there is nothing of the kind; the field `layer` is the net's to set. Called between passes.
  virtual void SaveProgress(LayerProgress* /*progress*/) const {}
  /// Takes up what SaveProgress gave for the layer of this name, which a changed prototxt may have
  /// made another one. Called between passes. False: it does not fit, and the layer begins anew.
  virtual bool RestoreProgress(const LayerProgress& /*progress*/) { return false; }

  Dtype loss(const int top_index) const {
    return static_cast<int>(loss_.size()) > top_index ? loss_[top_index] : Dtype(0);
  }
  void set_loss(const int top_index, const Dtype value);
  virtual const char* type() const { return ""; }

  // How many blobs the layer takes; -1: any number.
  virtual int ExactNumBottomBlobs() const { return -1; }
  virtual int MinBottomBlobs() const { return -1; }
  virtual int MaxBottomBlobs() const { return -1; }
  virtual int ExactNumTopBlobs() const { return -1; }
  virtual int MinTopBlobs() const { return -1; }
  virtual int MaxTopBlobs() const { return -1; }
  virtual bool EqualNumBottomTopBlobs() const { return false; }
  /// True: the net adds anonymous tops up to the number the layer needs.
  virtual bool AutoTopBlobs() const { return false; }
  /// False: force_backward does not reach this bottom (labels).
  virtual bool AllowForceBackward(const int /*bottom_index*/) const { return true; }

  bool param_propagate_down(const int param_id) const {
    return static_cast<int>(param_propagate_down_.size()) > param_id &&
           param_propagate_down_[param_id];
  }
  void set_param_propagate_down(const int param_id, const bool value);

  /// What the layer's operations touch for these shapes. `propagate_down` tells which bottom
  /// gradients are wanted (one entry per bottom); param_propagate_down which parameter gradients.
  /// Reads shapes and parameters of the layer only.
  virtual MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                              const vector<bool>& propagate_down) const;

  /// What a plan goes by: Traits, or, where these are inherited, those of a layer that declares
  /// nothing.
  MemoryTraits PlannedTraits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                             const vector<bool>& propagate_down) const;

  /// A layer that is a net itself says so here: a plan then runs the layers of that net in its
  /// place, and neither Traits nor the body of this layer is called. Called after Reshape.
  virtual InnerNet<Dtype> inner_net() const { return InnerNet<Dtype>(); }

  /// A new layer that does what this one does and then, on its top, `next`: the same bits, with the
  /// parameters of both, this one's first, which it shares; null: there is none. Called after
  /// SetUp, with this layer's bottoms; `next` has one bottom and one top. Such a layer runs under
  /// plans only.
  virtual shared_ptr<Layer<Dtype>> FusedWith(Layer<Dtype>& /*next*/,
                                             const vector<Blob<Dtype>*>& /*bottom*/) const {
    return nullptr;
  }

  /// A source that copies by a feed may know what comes next. It does not wait for that.
  virtual NextFeed next_feed() { return NextFeed(); }

  /// Under a plan: the next call of Forward or Backward uses `run` instead of buffers of the
  /// layer's own, which are given back.
  void EnterPlan(LayerRun run) {
    run_ = std::move(run);
    planned_ = true;
    if (run_.unplanned_buffers) return;
    direct_saved_.clear();
    direct_scratch_.reset();
  }
  void LeavePlan() { planned_ = false; }
  /// A pass that began under a plan goes on without it: the next direct Backward uses `form` and a
  /// copy of what forward has saved for it (one entry per MemoryTraits::saved: address, null where
  /// nothing was saved, and bytes).
  void ContinueDirect(int form, const vector<pair<const void*, size_t>>& saved);
  /// False: no backward will follow a direct Forward, nothing is saved for one. True at first.
  void set_needs_backward(bool value) { needs_backward_ = value; }
  /// Which bottoms' and tops' data a later layer of an unplanned net overwrites (in place) before
  /// this layer's backward.
  void set_overwritten(const vector<bool>& bottom, const vector<bool>& top) {
    bottom_overwritten_ = bottom;
    top_overwritten_ = top;
  }
  /// The backward form of a call outside a plan: the first of `forms` that reads no data which the
  /// layer itself, in place, or a later one overwrites; -1 if there is none.
  int DirectForm(const vector<OperandForm>& forms, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) const;

 protected:
  /// The body for either device; bottom[i] == top[j] where the layer runs in place outside a plan.
  virtual void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                         const vector<Blob<Dtype>*>& top);
  virtual void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                          const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom);

  // Caffe's entry points. By default they run the bodies above; a layer that has only a CPU version
  // runs it on the CPU's side of its blobs in GPU mode too.
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
  /// Gives each top with a loss weight its loss() and a diff filled with it.
  void SetLossWeights(const vector<Blob<Dtype>*>& top);

  /// The backward form in force: index into the backward forms of Traits.
  int form() const { return run_.form; }
  /// True in a forward that repeats what this pass has run before: see LayerRun::recompute.
  bool recomputing() const { return planned_ && run_.recompute; }
  /// See LayerRun::feed.
  HostFeed* feed() const { return planned_ ? run_.feed : nullptr; }
  /// Saved buffer `index`, or null when the form in force does not read it. Written in forward,
  /// read in backward.
  template <typename T>
  T* SavedBytes(int index) const {
    return static_cast<T*>(run_.saved[index]);
  }
  /// For what the host wants to know of a forward; null outside Forward.
  PendingReads* reads() const { return reads_; }
  /// Which of the workspaces of the form in force was chosen: its name; empty where there is no
  /// choice.
  const string& workspace() const { return run_.workspace; }
  /// Workspace of the form in force; contents undefined.
  template <typename T>
  T* ScratchBytes() const {
    return static_cast<T*>(run_.scratch);
  }

  LayerParameter layer_param_;
  Phase phase_;
  vector<shared_ptr<Blob<Dtype>>> blobs_;
  vector<bool> param_propagate_down_;
  vector<Dtype> loss_;

 private:
  /// Chooses a form and allocates its buffers from the pool for a call outside a plan.
  void PrepareDirect(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                     const vector<bool>& propagate_down, bool forward);
  /// Adds the weighted loss of the tops to `*loss`.
  void AddLoss(const vector<Blob<Dtype>*>& top, PendingReads* reads, Dtype* loss);

  LayerRun run_;
  PendingReads* reads_ = nullptr;
  bool planned_ = false;
  int continued_form_ = -1;  ///< of ContinueDirect, until the next forward
  bool needs_backward_ = true;
  vector<bool> bottom_overwritten_, top_overwritten_;
  vector<shared_ptr<SyncedMemory>> direct_saved_;
  shared_ptr<SyncedMemory> direct_scratch_;

  DISABLE_COPY_AND_ASSIGN(Layer);
};

/// The first of `forms` that reads no overwritten data; -1 if there is none. Missing flags count as
/// false.
int FirstUsableForm(const vector<OperandForm>& forms, const vector<bool>& bottom_overwritten,
                    const vector<bool>& top_overwritten);

}  // namespace caffe

#endif  // CAFFE_LAYER_H_
