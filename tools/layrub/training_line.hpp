#ifndef TOOLS_LAYRUB_TRAINING_LINE_HPP_
#define TOOLS_LAYRUB_TRAINING_LINE_HPP_

#include <chrono>
#include <cstdint>
#include <string>

#include "caffe/net.hpp"
#include "caffe/solver.hpp"
#include "layrub/base/progress_line.hpp"

namespace layrub_tool {

/// The batch size of the net's first data layer; 0 if there is none.
int64_t BatchSize(const caffe::Net<float>& net);
/// Items in an iteration of `solvers` solvers that train together; 0 if unknown.
int64_t ItemsOfIteration(caffe::Solver<float>* solver, int solvers);
/// "images", or "items" if the first data layer does not produce images.
const char* ItemsName(const caffe::Net<float>& net);
// Parts of a progress line.
/// ", 512 images/s", with ItemsName; "" if the rate is unknown.
std::string FormatRate(const caffe::Net<float>& net, double items_per_second);
/// ", 3m20s left".
std::string FormatLeft(double seconds);
/// ", 348 of 512 MiB", or ", 348 MiB" if there is no limit.
std::string FormatUse(int64_t bytes, int64_t budget);

/// Shows the progress of training on a terminal: "iteration 120 of 1000, loss 0.4213, 512 images/s,
/// 3m20s left, 348 of 512 MiB", and during tests "testing net 0: batch 12 of 100".
class TrainingLine : public caffe::Solver<float>::Callback {
 public:
  /// `solver` must have been placed. `solvers` is the number of solvers that train together.
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
  double seconds_ = 0;               ///< spent in iterations since the text was last updated
  int iterations_ = 0;               ///< number of these iterations
  Clock::time_point begin_, start_;  ///< start of training; of the iteration
  layrub::ProgressLine line_;
};

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_TRAINING_LINE_HPP_
