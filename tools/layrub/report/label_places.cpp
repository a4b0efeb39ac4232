#include "layrub/report/label_places.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace layrub_tool {
namespace {

constexpr double kDistances[] = {9, 14, 20, 28, 38, 50, 66, 84, 108};  // pixels
constexpr int kDirections = 16;
constexpr int kRounds = 4;
// Costs of a place. A pixel of distance to the point costs 1.
constexpr double kLabel = 20;  ///< a square pixel of overlap with another label or a mark
constexpr double kCurve = 1;   ///< a square pixel of overlap with a curve
constexpr double kMargin = 2;  ///< pixels between labels

double Overlap(const Box& a, const Box& b) {
  const double width = std::min(a.x + a.width, b.x + b.width) - std::max(a.x, b.x);
  const double height = std::min(a.y + a.height, b.y + b.height) - std::max(a.y, b.y);
  return std::max(width, 0.0) * std::max(height, 0.0);
}

double Overlap(const Box& box, const std::vector<Box>& others) {
  double sum = 0;
  for (const Box& other : others) sum += Overlap(box, other);
  return sum;
}

Box Wider(const Box& box) {
  return {box.x - kMargin, box.y - kMargin, box.width + 2 * kMargin, box.height + 2 * kMargin};
}

/// The label's box in the given direction, with the side or corner nearest to the point at
/// `distance` from it.
Box At(const Label& label, double distance, int direction) {
  const double angle = 2 * M_PI * direction / kDirections;
  const double x = std::cos(angle), y = std::sin(angle);
  return {label.x + distance * x + (x - 1) / 2 * label.width,
          label.y + distance * y + (y - 1) / 2 * label.height, label.width, label.height};
}

bool Inside(const Box& box, const Box& bounds) {
  return box.x >= bounds.x && box.y >= bounds.y && box.x + box.width <= bounds.x + bounds.width &&
         box.y + box.height <= bounds.y + bounds.height;
}

}  // namespace

std::vector<Box> PlaceLabels(const std::vector<Label>& labels, const std::vector<Box>& marks,
                             const std::vector<Box>& curves, const Box& bounds) {
  std::vector<Box> places(labels.size());
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < labels.size(); ++i) {
      double least = std::numeric_limits<double>::infinity();
      Box best = At(labels[i], kDistances[0], 0);
      for (const double distance : kDistances) {
        for (int direction = 0; direction < kDirections; ++direction) {
          const Box box = At(labels[i], distance, direction);
          if (!Inside(box, bounds)) continue;
          double cost = distance + kLabel * Overlap(box, marks) + kCurve * Overlap(box, curves);
          for (size_t other = 0; other < labels.size(); ++other) {
            const bool placed = round > 0 || other < i;
            if (other != i && placed) cost += kLabel * Overlap(Wider(box), places[other]);
          }
          if (cost >= least) continue;
          least = cost;
          best = box;
        }
      }
      places[i] = best;
    }
  }
  return places;
}

}  // namespace layrub_tool
