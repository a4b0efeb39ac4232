#include "layrub/training_line.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "layrub/base/bytes.hpp"

namespace layrub_tool {

namespace {

double Seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

std::string Number(const char* format, double number) {
  char text[64];
  std::snprintf(text, sizeof text, format, number);
  return text;
}

/// The first top of the first layer without bottoms; null if there is none.
const caffe::Blob<float>* FirstData(const caffe::Net<float>& net) {
  for (size_t i = 0; i < net.layers().size(); ++i) {
    if (net.bottom_vecs()[i].empty() && !net.top_vecs()[i].empty()) return net.top_vecs()[i][0];
  }
  return nullptr;
}

std::string Mebibytes(int64_t bytes) {
  const double mebibytes = static_cast<double>(bytes) / (1 << 20);
  return Number(mebibytes < 100 ? "%.1f" : "%.0f", mebibytes);
}

}  // namespace

int64_t BatchSize(const caffe::Net<float>& net) {
  const caffe::Blob<float>* const data = FirstData(net);
  return data == nullptr || data->num_axes() == 0 ? 0 : data->shape(0);
}

int64_t ItemsOfIteration(caffe::Solver<float>* solver, int solvers) {
  return BatchSize(*solver->net()) * solver->param().iter_size() * solvers;
}

const char* ItemsName(const caffe::Net<float>& net) {
  const caffe::Blob<float>* const data = FirstData(net);
  return data != nullptr && data->num_axes() == 4 ? "images" : "items";
}

std::string FormatRate(const caffe::Net<float>& net, double items_per_second) {
  if (!std::isfinite(items_per_second) || items_per_second <= 0) return "";
  return ", " + Number(items_per_second < 10 ? "%.2g" : "%.0f", items_per_second) + " " +
         ItemsName(net) + "/s";
}

std::string FormatLeft(double seconds) {
  const std::string time = layrub::FormatTimeLeft(seconds);
  return time.empty() ? "" : ", " + time + " left";
}

std::string FormatUse(int64_t bytes, int64_t budget) {
  const bool limited = budget != std::numeric_limits<int64_t>::max();
  return ", " + Mebibytes(bytes) + (limited ? " of " + Mebibytes(budget) : "") + " MiB";
}

TrainingLine::TrainingLine(caffe::Solver<float>* solver, int solvers)
    : solver_(solver), first_(solver->iter()), begin_(Clock::now()), start_(begin_) {
  if (!line_.shown()) return;
  items_ = ItemsOfIteration(solver, solvers);
  const auto options = solver->WantedPlacement();
  budget_ = options.ok() ? options.value().budget.device : layrub::Budget().device;
  solver->add_callback(this);
}

void TrainingLine::on_start() {
  start_ = Clock::now();
  if (solver_->iter() == first_) line_.Show(Text());
}

void TrainingLine::on_update_done() {
  seconds_ += Seconds(Clock::now() - start_);
  ++iterations_;
  if (!line_.Due()) return;
  line_.Show(Text());
  seconds_ = 0;
  iterations_ = 0;
}

void TrainingLine::on_test_batch(int net, int batch) {
  if (!line_.Due()) return;
  line_.Show("testing net " + std::to_string(net) + ": batch " + std::to_string(batch + 1) +
             " of " + std::to_string(solver_->param().test_iter(net)));
}

std::string TrainingLine::Text() const {
  const int iteration = solver_->iter(), last = solver_->param().max_iter();
  std::string text = "iteration " + std::to_string(iteration) + " of " + std::to_string(last);
  if (const int done = iteration - first_; done > 0) {
    text += ", loss " + Number("%.4g", solver_->smoothed_loss());
    text += FormatRate(*solver_->net(), static_cast<double>(items_ * iterations_) / seconds_);
    // The mean includes the time of tests and snapshots.
    const double each = Seconds(Clock::now() - begin_) / done;
    text += FormatLeft(each * (last - iteration));
  }
  return text + FormatUse(solver_->planned_device_bytes(), budget_);
}

}  // namespace layrub_tool
