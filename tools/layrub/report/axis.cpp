#include "layrub/report/axis.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace layrub_tool {
namespace {

/// An axis is logarithmic if its ends differ by a larger factor.
constexpr double kWide = 3;
/// The margin at each end as a fraction of the distance between the ends, or of the value if they
/// are equal.
constexpr double kRoom = 0.05, kLeastRoom = 1e-3;
constexpr size_t kFewTicks = 5;
constexpr int kMostParts = 8;

}  // namespace

Axis::Axis(double least, double most, double begin, double end)
    : log_(most > kWide * least), begin_(begin), end_(end) {
  low_ = Scaled(least);
  high_ = Scaled(most);
  const double room = std::max(kRoom * (high_ - low_), kLeastRoom * std::abs(low_));
  low_ -= room;
  high_ += room;
}

double Axis::At(double value) const {
  return begin_ + (Scaled(value) - low_) / (high_ - low_) * (end_ - begin_);
}

double Axis::Scaled(double value) const { return log_ ? std::log2(value) : value; }
double Axis::Value(double scaled) const { return log_ ? std::exp2(scaled) : scaled; }

std::vector<double> LogTicks(const Axis& axis) {
  std::vector<double> ticks;
  for (int parts = 1; parts <= kMostParts && ticks.size() < kFewTicks; parts *= 2) {
    ticks.clear();
    const double first = std::exp2(std::floor(std::log2(axis.least())));
    for (double power = first; power < axis.most(); power *= 2) {
      for (int i = 0; i < parts; ++i) ticks.push_back(power * (1 + i / double(parts)));
    }
    const auto outside = [&](double tick) { return tick < axis.least() || tick > axis.most(); };
    ticks.erase(std::remove_if(ticks.begin(), ticks.end(), outside), ticks.end());
  }
  return ticks;
}

std::vector<double> LinearTicks(const Axis& axis, double step) {
  std::vector<double> ticks;
  for (double i = std::ceil(axis.least() / step); i * step <= axis.most(); ++i)
    ticks.push_back(i * step);
  return ticks;
}

}  // namespace layrub_tool
