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

/// A net under a plan: runs the plan's operations on the net's layers and answers reads of planned
/// blobs. Made by Net::Place. Not thread safe.
///
/// An error that ends a pass leaves the net without this object, as if it had not been placed yet,
/// or, if the values of the parameters cannot be had any more, dead (LeaveAfterError).
///
/// Each version of a blob is a private blob, which the net keeps from plan to plan; the public
/// blobs of the net are bound to the newest version written. A layer without traits is given the
/// public blobs, which are lent the memory of its versions for as long as it is at work. A layer
/// that is a net itself (Layer::inner_net) does not run: its layers do, each an operation of the
/// plan. Memory that the user owns (set_cpu_data), or that another net has planned (shared
/// weights), stays where it is.
template <typename Dtype>
class PlannedNet : public layrub::OpRunner, public Resolver {
 public:
  PlannedNet(Net<Dtype>* net, FlatNet<Dtype> flat, NetGraph graph, layrub::Plan plan,
             const PlacementOptions& options, const typename Net<Dtype>::History& history);
  ~PlannedNet() override;

  const Net<Dtype>& net() const { return *net_; }
  const layrub::Graph& graph() const;
  const layrub::Plan& plan() const;
  /// Between passes and in callbacks: whether `memory`, which is planned, can be read; not if its
  /// value was given up or it is of another plan.
  bool Holds(const SyncedMemory& memory) const;
  /// How many values have their channels in blocks (Blob::channel_block): each layer in place makes
  /// one.
  int values_in_blocks() const;
  /// Some state is at home off the device (layrub::Home).
  bool offloads_state() const;
  /// How many values of sources have been on the device when their forward came, so far: the next
  /// batch of a source that knows it (Layer::next_feed) goes there beside a backward pass, where
  /// the budget leaves memory for it beside the plan.
  int64_t fed_ahead() const;
  /// How many operations a GPU has done so far without their layers being asked: what they had
  /// queued in an iteration before was queued again, with one call for many of them.
  int64_t repeated_operations() const;
  /// A number that no other plan of the process has, from 1 on. It becomes another one when a GPU
  /// is about to do some operations for the first time, or as a new graph.
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
  /// Whose values a net that leaves its plan wants to have in its public blobs: all; those that
  /// live across passes; (the net is being destroyed) what somebody else holds on to; or (that
  /// cannot be had) none.
  enum class Wanted { kAll, kPersistent, kHeld, kNone };

  /// Adds the loss to *loss, as `reads` are looked at. Returns the number of layers that have run:
  /// all, or, when a source gave another shape than planned, those up to it; the net has then left
  /// the plan and goes on unplanned.
  int Forward(PendingReads* reads, Dtype* loss);
  void Backward();
  void Update(const std::function<void(int)>& update);
  /// False when the user gave an input blob another shape, or wants to see blobs between layers
  /// that run fused.
  bool IsUpToDate() const;
  /// Gives all bound memory back. What is wanted is copied into it if it is still there; reading
  /// the rest is an error from then on.
  void Release(Wanted wanted);
  /// The same where nobody can be told of an error.
  void ReleaseAtEnd() noexcept;
  void ReleaseHandles(Wanted wanted);
  /// To be called when an error has ended a pass: the arena is as the step that failed has left it.
  /// The net leaves the plan with what lives across passes, and its next whole forward places it
  /// again. Where that cannot be had either, the net is dead: each pass says so. May destroy this
  /// object.
  void LeaveAfterError() noexcept;

  void Run(const layrub::Step& step) override;
  void Finish() override;
  /// Ends in an error where a pass is running: the caller is one of its callbacks or layers.
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
  void SetAddresses(const layrub::Step& step, bool set);
  void LeaveIfReshaped(int layer);
  int GoOnWithoutPlan(const ShapeChange& change);
  /// Before a backward of some layers, or one from derivatives that the user has written: the net
  /// leaves the plan with all that such a backward reads. Destroys this object.
  void LeaveForBackward();
  void LeaveInPass(int complete, int ran);
  bool KeepsAllBlobs() const;
  bool UserHasWrittenDerivatives() const;
  bool SetApart(layrub::TensorId derivative);
  std::vector<int> LayersToRunAgain(int last);
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
  std::string dead_;  ///< why the values are lost; empty: they are not
};

}  // namespace caffe

#endif  // CAFFE_PLANNED_NET_HPP_
