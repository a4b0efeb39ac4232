#ifndef CAFFE_SOLVERS_SOLVER_PLACEMENT_HPP_
#define CAFFE_SOLVERS_SOLVER_PLACEMENT_HPP_

#include <vector>

#include "caffe/solver.hpp"

namespace caffe {

/// Makes the memory plans for the nets of a solver, and makes them once more after the first
/// iterations have been measured. See Solver for functions of the same name.
template <typename Dtype>
class SolverPlacement {
 public:
  /// `solver` must outlive this object.
  explicit SolverPlacement(Solver<Dtype>* solver) : solver_(solver) {}

  /// Sets the train net's own options. The solver's options override them field by field.
  void set_net_placement(const PlacementParameter& placement) { net_placement_ = placement; }
  PlacementOptions* mutable_extra() { return &extra_; }
  const layrub::Machine& machine() const { return extra_.machine; }
  layrub::Result<PlacementOptions> Wanted() const;
  layrub::Result<SolverGraphs> Graphs(const PlacementOptions& options);

  layrub::Status Place();
  /// Places the nets unless they are placed. Aborts if that fails.
  void EnsurePlaced();
  int64_t planned_device_bytes() const { return planned_device_bytes_; }
  int64_t measured_device_bytes() const;
  /// To be called after each iteration. Records it if measuring; after enough iterations, plans
  /// again.
  void EndIteration() {
    if (measuring_) RecordIteration();
  }

 private:
  layrub::Status PlaceNets(PlacementOptions options);
  void RecordIteration();
  void PlanAgain();
  void Log() const;
  Net<Dtype>& train_net() const { return *solver_->net(); }

  Solver<Dtype>* const solver_;
  PlacementParameter net_placement_;
  PlacementOptions extra_;
  /// The bytes of the device that plans may use, as PlacementOptions::agree_on_bytes said.
  int64_t agreed_ = layrub::Budget().device;
  bool placed_ = false;
  bool share_memory_ = false;  ///< the test nets run in memory of the train net
  int64_t planned_device_bytes_ = 0;
  int64_t keep_bytes_ = 0;  ///< that the train net takes if everything stays
  bool measuring_ = false;  ///< iterations are recorded, to plan again
  bool measured_ = false;   ///< measuring is complete
  std::vector<layrub::Timeline> recorded_;
  layrub::Graph recorded_graph_;  ///< of the timelines in recorded_
  layrub::Plan recorded_plan_;    ///< likewise
};

}  // namespace caffe

#endif  // CAFFE_SOLVERS_SOLVER_PLACEMENT_HPP_
