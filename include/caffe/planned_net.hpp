#ifndef CAFFE_PLANNED_NET_HPP_
#define CAFFE_PLANNED_NET_HPP_

#include <functional>
#include <memory>
#include <vector>

#include "caffe/net.hpp"
#include "layrub/backend.hpp"
#include "layrub/executor.hpp"

namespace caffe {

struct NetGraph;

/// A net under a plan: runs the plan's operations on the net's layers, and answers reads of planned blobs. Made by
/// Net::Place; not thread safe.
template <typename Dtype>
class PlannedNet : public layrub::OpRunner, public Resolver {
 public:
  PlannedNet(Net<Dtype>* net, NetGraph graph, layrub::Plan plan, const PlacementOptions& options,
             const typename Net<Dtype>::History& history);
  ~PlannedNet() override;

  const layrub::Graph& graph() const;
  const layrub::Plan& plan() const;
  layrub::Executor& executor() { return *executor_; }

 private:
  friend class Net<Dtype>;
  struct Memory;

  /// False when a source gave another shape than planned; the net then goes on fused from layer *next.
  bool Forward(Dtype* loss, int* next);
  void Backward();
  void Update(const std::function<void(int)>& update);
  bool ShapesMatch() const;

  void Run(const layrub::Step& step) override;
  void* Resolve(int tensor, bool write) override;

  Net<Dtype>* net_;
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<layrub::Backend> backend_;
  std::unique_ptr<layrub::Executor> executor_;
};

}  // namespace caffe

#endif  // CAFFE_PLANNED_NET_HPP_
