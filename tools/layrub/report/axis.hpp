#ifndef TOOLS_LAYRUB_REPORT_AXIS_HPP_
#define TOOLS_LAYRUB_REPORT_AXIS_HPP_

#include <vector>

namespace layrub_tool {

/// Values along one side of a picture; logarithmic where its ends are far apart.
class Axis {
 public:
  /// From `least`, near pixel `begin`, to `most`, near `end`: there is some room on both sides.
  Axis(double least, double most, double begin, double end);

  bool log() const { return log_; }
  /// The pixel of `value`.
  double At(double value) const;
  /// The values at the ends, room included.
  double least() const { return Value(low_); }
  double most() const { return Value(high_); }

 private:
  double Scaled(double value) const;
  double Value(double scaled) const;

  bool log_;
  double begin_, end_, low_ = 0, high_ = 0;
};

/// Ticks of a logarithmic axis: powers of two, and what lies evenly between them where these are
/// few.
std::vector<double> LogTicks(const Axis& axis);
/// The multiples of `step`, of any other axis.
std::vector<double> LinearTicks(const Axis& axis, double step);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_REPORT_AXIS_HPP_
