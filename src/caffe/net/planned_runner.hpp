#ifndef CAFFE_NET_PLANNED_RUNNER_HPP_
#define CAFFE_NET_PLANNED_RUNNER_HPP_

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "planned_feeds.hpp"
#include "planned_values.hpp"

namespace caffe {

template <typename Dtype>
class PlannedCaptures;

/// Runs the operations of a planned net: calls the layer of each, with the callbacks of the net.
///
/// A layer without traits gets the public blobs, which borrow the memory of its versions while it
/// runs. If a layer is a net itself (Layer::inner_net), that net's layers run instead, each as an
/// operation of the plan.
template <typename Dtype>
class PlannedRunner : public layrub::OpRunner {
 public:
  /// Thrown to leave a forward when a layer's tops have other shapes than planned.
  struct ShapeChange {
    int layer;                   ///< of the flat net
    vector<vector<int>> shapes;  ///< of its tops
    vector<vector<Dtype>> tops;  ///< their data
  };

  PlannedRunner(Net<Dtype>* net, const PlannedGraph<Dtype>& graph, PlannedValues<Dtype>* values,
                const PlacementOptions& options);
  ~PlannedRunner() override;

  /// Run a pass. A pass may end with an exception of a layer; call Abandon then.
  void Forward(PendingReads* reads, Dtype* loss);
  /// `update` updates a parameter; null if the pass has no updates.
  void Backward(const std::function<void(int)>* update);
  void Update(const std::function<void(int)>& update);
  /// Discards work that a failed pass has put off.
  void Abandon() noexcept;

  const PlannedFeeds<Dtype>& feeds() const { return feeds_; }
  const PlannedCaptures<Dtype>& captures() const { return *captures_; }

  void Run(const layrub::Step& step) override;
  void Finish() override;

 private:
  class OpScope;
  class Loan;

  void RunForward(int layer, const layrub::Step& step);
  void RunBackward(int layer, const layrub::Step& step);
  void RunFeed(int layer, const layrub::Step& step);
  void ShowWritten(const layrub::Step& step);
  void WriteZeroGradients();
  void LeaveIfReshaped(int layer);
  void SkipBackwardTo(int layer);
  static void Call(const std::vector<typename Net<Dtype>::Callback*>& callbacks, int from, int to);

  // Layers that change the memory of the blobs that they are given (planned_user_layers.cpp).
  void Settle(int version, Blob<Dtype>* blob);
  void ClearDerivatives(const layrub::Step& step);
  void NoteSharedDiffs(int layer);
  void ShareDiffs(int layer);

  Net<Dtype>* const net_;
  const PlannedGraph<Dtype>& graph_;
  PlannedValues<Dtype>* const values_;
  layrub::Executor* const executor_;
  layrub::Backend* const backend_;
  const std::unique_ptr<PlannedCaptures<Dtype>> captures_;
  PlannedFeeds<Dtype> feeds_;
  // By flat layer: memory that the forward of a layer without traits made its operands' diffs
  // share.
  std::vector<std::map<Blob<Dtype>*, shared_ptr<SyncedMemory>>> shared_diffs_;
  const std::function<void(int)>* update_ = nullptr;
  PendingReads* reads_ = nullptr;  // of the current forward, which adds its loss to `loss_`
  Dtype* loss_ = nullptr;
  int backward_at_ = 0;  // the layer of the net whose backward began last
  DISABLE_COPY_AND_ASSIGN(PlannedRunner);
};

}  // namespace caffe

#endif  // CAFFE_NET_PLANNED_RUNNER_HPP_
