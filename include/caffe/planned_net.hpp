#ifndef CAFFE_PLANNED_NET_HPP_
#define CAFFE_PLANNED_NET_HPP_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "caffe/net.hpp"
#include "layrub/device/backend.hpp"
#include "layrub/runtime/executor.hpp"

namespace caffe {

template <typename Dtype>
struct FlatNet;
struct NetGraph;

/// A net under a plan. Runs the plan's operations on the net's layers and answers reads of planned
/// blobs. Made by Net::Place. Not thread safe.
///
/// An error that ends a pass destroys this object: the net is then as if it had not been placed
/// yet. If the values of the parameters are lost, the net is dead (LeaveAfterError).
///
/// Each version of a blob is a private blob, which the net keeps from plan to plan. The public
/// blobs of the net are bound to the newest version written. A layer without traits gets the public
/// blobs, which borrow the memory of its versions while it runs. If a layer is a net itself
/// (Layer::inner_net), that net's layers run instead, each as an operation of the plan. Memory that
/// the user owns (set_cpu_data) or that another net has planned (shared weights) is not moved.
template <typename Dtype>
class PlannedNet : public layrub::OpRunner, public Resolver {
 public:
  PlannedNet(Net<Dtype>* net, FlatNet<Dtype> flat, NetGraph graph, layrub::Plan plan,
             const PlacementOptions& options, const typename Net<Dtype>::History& history);
  ~PlannedNet() override;

  const Net<Dtype>& net() const { return *net_; }
  const layrub::Graph& graph() const;
  const layrub::Plan& plan() const;
  /// Whether `memory`, which is planned, can be read now. For use between passes and in callbacks.
  /// False if its value was dropped or it belongs to another plan.
  bool Holds(const SyncedMemory& memory) const;
  /// The number of values that have channel blocks (Blob::channel_block). Each in-place layer adds
  /// one.
  int values_in_blocks() const;
  /// Whether the home of some state is off the device (layrub::Home).
  bool offloads_state() const;
  /// How often, so far, a source's values were already on the device when its forward began. If the
  /// source knows its next batch (Layer::next_feed), the batch is copied during a backward pass, if
  /// the budget leaves memory for it beside the plan.
  int64_t fed_ahead() const;
  /// How many operations a GPU has replayed so far, without calling their layers: the work that
  /// they queued in an earlier iteration was queued again, with one call for many of them.
  int64_t repeated_operations() const;
  /// A number from 1 on that is unique among the plans of the process. It changes when a GPU is
  /// about to run some operations for the first time, or as a new graph.
  int64_t newest() const { return newest_; }
  layrub::Executor& executor() { return *executor_; }
  const layrub::Executor& executor() const { return *executor_; }

 private:
  friend class Net<Dtype>;
  struct Memory;
  struct ShapeChange;
  struct Source;
  class Captures;
  class LoadLane;
  class OpScope;
  class Loan;
  /// Which values a net that leaves its plan keeps in its public blobs: all; those that live across
  /// passes; those that somebody else still refers to (the net is being destroyed); or none (they
  /// cannot be read).
  enum class Wanted { kAll, kPersistent, kHeld, kNone };

  /// Runs the forward and adds the loss to *loss when `reads` are looked at. Returns the number of
  /// layers that ran: all, or, if a source's shape differs from the planned one, those up to it. In
  /// that case the net has left the plan and continues unplanned.
  int Forward(PendingReads* reads, Dtype* loss);
  void Backward();
  void Update(const std::function<void(int)>& update);
  /// False if the user changed the shape of an input blob, or wants to see blobs between fused
  /// layers.
  bool IsUpToDate() const;
  /// Unbinds all memory. The wanted values are copied into it if they still exist; reading the
  /// others is an error from then on.
  void Release(Wanted wanted);
  /// The same where errors cannot be reported.
  void ReleaseAtEnd() noexcept;
  void ReleaseHandles(Wanted wanted);
  /// To be called when an error has ended a pass; the arena is as the failed step left it. The net
  /// leaves the plan with the values that live across passes, and its next whole forward places it
  /// again. If these values cannot be read either, the net is dead, and each later pass reports so.
  /// May destroy this object.
  void LeaveAfterError() noexcept;

  void Run(const layrub::Step& step) override;
  void Finish() override;
  /// Aborts if a pass is running, that is, if the caller is one of its callbacks or layers.
  void CheckAtRest() const;
  Place Resolve(int tensor, bool write) override;
  void Copied(int tensor, bool on_device) override;

  void DropUnplanned(const typename Net<Dtype>::History& history);
  void MakePrivateBlobs();
  void FindEnds();
  void BindPersistent(const typename Net<Dtype>::History& history);
  void Adopt(const shared_ptr<SyncedMemory>& memory, layrub::TensorId tensor);
  void Show(const shared_ptr<SyncedMemory>& memory, layrub::TensorId tensor);
  void WriteZeroGradients();
  bool UpdatesWithinBackward() const;
  void CheckNoBackwardDue() const;
  void RunBackwardPass();
  void SetAddresses(const layrub::Step& step, bool set);
  void LeaveIfReshaped(int layer);
  int ContinueWithoutPlan(const ShapeChange& change);
  /// Called before a backward of only some layers, or from derivatives that the user has written.
  /// The net leaves the plan with all values that such a backward reads. Destroys this object.
  void LeaveForBackward();
  void LeaveInPass(int complete, int ran);
  bool KeepsAllBlobs() const;
  bool UserHasWrittenDerivatives() const;
  bool SetApart(layrub::TensorId derivative);
  std::vector<int> LayersToRecompute(int last);
  static bool IsDropped(const Net<Dtype>& net, const SyncedMemory& memory);
  void Settle(int version, Blob<Dtype>* blob);
  void ClearDerivatives(const layrub::Step& step);
  void NoteSharedDiffs(int layer);
  void ShareDiffs(int layer);
  void RunForward(int layer, const layrub::Step& step);
  void RunBackward(int layer, const layrub::Step& step);
  void ShowWritten(const layrub::Step& step);
  static void Call(const std::vector<typename Net<Dtype>::Callback*>& callbacks, int from, int to);
  void SkipBackwardTo(int layer);
  std::string PublicName(int tensor) const;
  std::string Gone(layrub::TensorId tensor) const;
  void RunFeed(int layer, const layrub::Step& step);
  void FindSources(const PlacementOptions& options);
  void FeedAhead();
  bool MakeRoom(const NextFeed& next, Source* source);
  void DropAhead(Source* source);
  bool CopyFromAhead(int layer, uint64_t number, const NextFeed::Values& values, void* to);
  Place TakeInput(layrub::TensorId tensor);
  void DropCopies();
  Dtype* AsArray(int tensor, Dtype* blocks, bool write);
  const void* Value(layrub::TensorId tensor) const;
  void CopyValue(void* to, const void* from, size_t bytes) const;
  void CopyValue(void* to, SyncedMemory* from, size_t bytes) const;

  Net<Dtype>* net_;
  int64_t newest_;
  std::unique_ptr<Memory> memory_;
  std::shared_ptr<layrub::Backend> backend_;
  std::unique_ptr<layrub::Executor> executor_;
  std::unique_ptr<Captures> captures_;
  std::string dead_;  ///< why the values are lost; empty if they are not
};

}  // namespace caffe

#endif  // CAFFE_PLANNED_NET_HPP_
