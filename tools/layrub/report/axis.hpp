#ifndef TOOLS_LAYRUB_REPORT_AXIS_HPP_
#define TOOLS_LAYRUB_REPORT_AXIS_HPP_

#include <vector>

namespace layrub_tool {

/// Maps values to pixels along one side of a picture. The axis is logarithmic if its ends are far
/// apart.
class Axis {
 public:
  /// Maps `least` to a pixel near `begin` and `most` to one near `end`, with a margin at both ends.
  Axis(double least, double most, double begin, double end);

  bool log() const { return log_; }
  /// The pixel of `value`.
  double At(double value) const;
  /// The values at the ends, margins included.
  double least() const { return Value(low_); }
  double most() const { return Value(high_); }

 private:
  double Scaled(double value) const;
  double Value(double scaled) const;

  bool log_;
  double begin_, end_, low_ = 0, high_ = 0;
};

/// Ticks of a logarithmic axis: powers of two, and if these are few, evenly spaced values between
/// them.
std::vector<double> LogTicks(const Axis& axis);
/// Ticks of a linear axis: the multiples of `step`.
std::vector<double> LinearTicks(const Axis& axis, double step);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_REPORT_AXIS_HPP_
