#ifndef CAFFE_PLANNED_NET_HPP_
#define CAFFE_PLANNED_NET_HPP_

#include <functional>
#include <memory>
#include <string>

#include "caffe/net.hpp"
#include "layrub/runtime/executor.hpp"

namespace caffe {

template <typename Dtype>
struct FlatNet;
struct NetGraph;
template <typename Dtype>
struct PlannedGraph;
template <typename Dtype>
class PlannedRunner;
template <typename Dtype>
class PlannedValues;

/// Which values a net that leaves its plan keeps in its public blobs: all; those that live across
/// passes; those that somebody else still refers to (the net is being destroyed); or none (they
/// cannot be read).
enum class LeftValues { kAll, kPersistent, kHeld, kNone };

/// A net under a plan. Runs the plan's operations on the net's layers and answers reads of planned
/// blobs. Made by Net::Place. Not thread safe.
///
/// An error that ends a pass destroys this object: the net is then as if it had not been placed
/// yet. If the values of the parameters are lost, the net is dead (LeaveAfterError).
///
/// It has three parts: the values and how users see them (PlannedValues), what runs the operations
/// (PlannedRunner), and how a pass continues without the plan (planned_exit.hpp).
template <typename Dtype>
class PlannedNet : public Resolver {
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
  /// The number of slices in which some layers run (PlacementOptions::slicing); 1 if none does.
  int slices() const;
  /// How often, so far, a source's values were already on the device when its forward began. If the
  /// source knows its next batch (Layer::next_feed), the batch is copied during a backward pass, if
  /// the budget leaves memory for it beside the plan.
  int64_t fed_ahead() const;
  /// How many operations a GPU has replayed so far, without calling their layers: the work that
  /// they queued in an earlier iteration was queued again, with one call for many of them.
  int64_t repeated_operations() const;
  /// A number from 1 on that is unique among the plans of the process. It changes when a GPU is
  /// about to run some operations for the first time, or as a new graph.
  int64_t newest() const;
  layrub::Executor& executor();
  const layrub::Executor& executor() const;

 private:
  friend class Net<Dtype>;

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
  void Release(LeftValues wanted);
  /// The same where errors cannot be reported.
  void ReleaseAtEnd() noexcept;
  /// To be called when an error has ended a pass; the arena is as the failed step left it. The net
  /// leaves the plan with the values that live across passes, and its next whole forward places it
  /// again. If these values cannot be read either, the net is dead, and each later pass reports so.
  /// May destroy this object.
  void LeaveAfterError() noexcept;
  /// Called before a backward of only some layers, or from derivatives that the user has written.
  /// The net leaves the plan with all values that such a backward reads. Destroys this object.
  void LeaveForBackward();
  /// Leaves the plan in the middle of a pass, with all values that the rest of the pass reads.
  /// `ran` layers of the flat net have run forward. Of the first `complete` of them, recomputes now
  /// what the plan would have recomputed later. Destroys this object.
  void LeaveInPass(int complete, int ran);
  /// Whether the user has written derivatives that a planned backward would not read. Those of net
  /// outputs do not count: they have a place in the plan.
  bool UserHasWrittenDerivatives() const;
  /// Under such a plan Backward only notes that it was called: the pass runs with the update.
  bool UpdatesWithinBackward() const;
  /// Aborts if a pass is running, that is, if the caller is one of its callbacks or layers.
  void CheckAtRest() const;
  void CheckNoBackwardDue() const;

  Place Resolve(int tensor, bool write) override;
  void Copied(int tensor, bool on_device) override;

  Net<Dtype>* const net_;
  std::unique_ptr<const PlannedGraph<Dtype>> graph_;
  std::unique_ptr<PlannedValues<Dtype>> values_;
  std::unique_ptr<PlannedRunner<Dtype>> runner_;
  bool updated_ = false;       ///< whether an update has run since the last forward
  bool backward_due_ = false;  ///< asked for; it runs with the update
  std::string dead_;           ///< why the values are lost; empty if they are not
};

}  // namespace caffe

#endif  // CAFFE_PLANNED_NET_HPP_
