#ifndef TOOLS_LAYRUB_TRAINING_LINE_HPP_
#define TOOLS_LAYRUB_TRAINING_LINE_HPP_

#include <chrono>
#include <cstdint>
#include <string>

#include "caffe/net.hpp"
#include "caffe/solver.hpp"
#include "layrub/base/progress_line.hpp"

namespace layrub_tool {

/// Items of the batch of a net's first data layer, 0 if it has none.
int64_t BatchSize(const caffe::Net<float>& net);
/// Items of an iteration of `solvers` that train together, 0 where that is not known.
int64_t ItemsOfIteration(caffe::Solver<float>* solver, int solvers);
/// What they are called: "images", or "items" where the first data layer gives no images.
const char* ItemsName(const caffe::Net<float>& net);
// Parts of a line.
/// ", 512 images/s", by ItemsName; "" of an unknown rate.
std::string FormatRate(const caffe::Net<float>& net, double items_per_second);
/// ", 3m20s left".
std::string FormatLeft(double seconds);
/// ", 348 of 512 MiB", or ", 348 MiB" where there is no limit.
std::string FormatUse(int64_t bytes, int64_t budget);

/// Shows how far training has come, on a terminal: "iteration 120 of 1000, loss 0.4213, 512
/// images/s, 3m20s left, 348 of 512 MiB", and during tests "testing net 0: batch 12 of 100".
class TrainingLine : public caffe::Solver<float>::Callback {
 public:
  /// Of a solver that has been placed. `solvers` train together.
  TrainingLine(caffe::Solver<float>* solver, int solvers);

 protected:
  void on_start() override;
  void on_gradients_ready() override {}
  void on_update_done() override;
  void on_test_batch(int net, int batch) override;

 private:
  using Clock = std::chrono::steady_clock;

  std::string Text() const;

  caffe::Solver<float>* const solver_;
  const int first_;                  ///< the iteration at which training began
  int64_t items_ = 0;                ///< of an iteration
  int64_t budget_ = 0;               ///< device bytes
  double seconds_ = 0;               ///< that iterations took since the text was made
  int iterations_ = 0;               ///< so many
  Clock::time_point begin_, start_;  ///< of training, of the iteration
  layrub::ProgressLine line_;
};

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_TRAINING_LINE_HPP_
