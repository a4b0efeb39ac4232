#ifndef CAFFE_NET_PLANNED_VALUES_HPP_
#define CAFFE_NET_PLANNED_VALUES_HPP_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "caffe/planned_net.hpp"
#include "caffe/util/channel_shape.hpp"
#include "layrub/device/backend.hpp"
#include "layrub/runtime/executor.hpp"
#include "planned_graph.hpp"

namespace caffe {

/// The values of a planned net: which tensor each blob shows, and how users read and write them.
/// Owns the executor, and with it the memory.
///
/// Each version of a blob is a private blob, which the net keeps from plan to plan. The public
/// blobs of the net are bound to the newest version written. Memory that the user owns
/// (set_cpu_data) or that another net has planned (shared weights) is not moved.
template <typename Dtype>
class PlannedValues {
 public:
  using History = typename Net<Dtype>::History;

  /// Allocates the memory and moves the values there that live across passes. Bound memory asks
  /// `resolver`, which must outlive the object and pass the questions on to Resolve and Copied.
  PlannedValues(Net<Dtype>* net, const PlannedGraph<Dtype>& graph, const layrub::Plan& plan,
                const PlacementOptions& options, const History& history, Resolver* resolver);
  ~PlannedValues() { ReleaseAtEnd(); }

  layrub::Executor& executor() const { return *executor_; }
  layrub::Backend& backend() const { return *backend_; }
  const layrub::Plan& plan() const { return executor_->plan(); }
  Binding& binding(layrub::TensorId tensor) { return bindings_[tensor]; }

  /// The blobs that a flat layer is given.
  const std::vector<Blob<Dtype>*>& bottom(int layer) const { return bottom_[layer]; }
  const std::vector<Blob<Dtype>*>& top(int layer) const { return top_[layer]; }
  /// The private blob of a version, the memory of its data and diff, and its planned shape.
  Blob<Dtype>* version(int version) const { return versions_[version]; }
  const std::pair<shared_ptr<SyncedMemory>, shared_ptr<SyncedMemory>>& memory(int version) const {
    return memory_[version];
  }
  const std::vector<int>& shape(int version) const { return shapes_[version]; }
  int values_in_blocks() const;

  /// Gives the operands of `step` their addresses, or takes them away. In between, no other tensor
  /// can be accessed.
  void SetAddresses(const layrub::Step& step, bool set);
  /// Says that the current step is done without SetAddresses.
  void NoteStepDone() { done_ = executor_->current_step(); }
  /// Says that an operation failed between the calls of SetAddresses.
  void LeaveOperation() { in_operation_ = false; }
  /// Binds memory that users see to `tensor`.
  void Show(const shared_ptr<SyncedMemory>& memory, layrub::TensorId tensor);
  /// To be called before a pass.
  void BeginPass(layrub::Pass pass);
  /// Copies back values that users have written on the other side than the plan's, or in an array,
  /// and drops these copies. Must be called before the plan does anything.
  void DropCopies();
  /// Copies to or from the plan's memory, on any device.
  void CopyValue(void* to, const void* from, size_t bytes) const;
  void CopyValue(void* to, SyncedMemory* from, size_t bytes) const;

  /// The tensors that the current feed has copied on the load lane, for which the compute lane has
  /// not waited yet.
  size_t fed() const { return fed_; }
  void BeginFeed() { fed_ = 0; }
  /// Copies on the load lane to `tensor`, which the current operation writes.
  void Feed(layrub::TensorId tensor, const void* from, int64_t bytes);
  /// Copies a parameter of another net on the load lane (NetGraph::parameter_feeds).
  void FeedParameter(const layrub::Step& step);

  /// Whether `memory` is bound to this plan.
  bool Owns(const SyncedMemory& memory) const {
    return memory.binding() && memory.binding()->resolver == resolver_;
  }
  /// As PlannedNet::Holds.
  bool Holds(const SyncedMemory& memory) const;
  Resolver::Place Resolve(int tensor, bool write);
  void Copied(int tensor, bool on_device) { copied_.emplace_back(tensor, on_device); }

  /// Unbinds all memory. The wanted values are copied into it if they still exist; reading the
  /// others is an error from then on.
  void Release(LeftValues wanted);
  /// Keeps the values that somebody still refers to, or none if that fails.
  void ReleaseAtEnd() noexcept;

 private:
  /// A value in blocks as users see it: an array.
  struct Array {
    layrub::TensorId tensor;
    std::vector<Dtype> values;
    Dtype* blocks = nullptr;  ///< the value in the plan
    bool current = false;     ///< `values` equals the blocks: no step has run since
    bool written = false;     ///< users have written it; it must be copied back into the blocks
  };

  void DropUnplanned(const History& history);
  void MakePrivateBlobs();
  void BindPersistent(const History& history);
  void Adopt(const shared_ptr<SyncedMemory>& memory, layrub::TensorId tensor);
  void ReleaseHandles(LeftValues wanted);
  void UnbindAll();
  Dtype* AsArray(int tensor, Dtype* blocks, bool write);
  const void* Value(layrub::TensorId tensor) const;
  bool SetApart(layrub::TensorId derivative);
  Resolver::Place TakeInput(layrub::TensorId tensor);
  std::string PublicName(int tensor) const;
  std::string Gone(layrub::TensorId tensor) const;
  void ShowParameter(layrub::TensorId tensor, void* address);
  [[noreturn]] void FailUndeclared(const layrub::Step& step, int tensor, bool write) const;

  Net<Dtype>* const net_;
  const PlannedGraph<Dtype>& graph_;
  Resolver* const resolver_;
  const std::shared_ptr<layrub::Backend> backend_;
  std::unique_ptr<layrub::Executor> executor_;
  std::vector<Binding> bindings_;             // by tensor; addresses stay valid: never resized
  std::vector<ChannelShape> layouts_;         // by tensor
  std::vector<Array> arrays_;                 // of this pass
  std::vector<std::pair<int, bool>> copied_;  // tensors with sides; whether planned on the device
  std::vector<Blob<Dtype>*> versions_;        // by version
  std::vector<std::vector<int>> shapes_;      // by version
  std::vector<std::pair<shared_ptr<SyncedMemory>, shared_ptr<SyncedMemory>>> memory_;  // by version
  std::vector<std::vector<Blob<Dtype>*>> bottom_, top_;  // by flat layer
  std::map<shared_ptr<SyncedMemory>, layrub::TensorId>
      bound_;                       // memory outside this object that is bound to this plan
  std::vector<int> input_version_;  // by tensor: the version of its blob that users write, or -1
  bool in_operation_ = false;
  int32_t done_ = -1;  // the last operation step that has run in this pass
  size_t fed_ = 0;
  DISABLE_COPY_AND_ASSIGN(PlannedValues);
};

}  // namespace caffe

#endif  // CAFFE_NET_PLANNED_VALUES_HPP_
