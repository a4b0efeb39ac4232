#include "caffe/kernels/detection/box_lists.hpp"

#include <algorithm>

namespace caffe {
namespace kernels {

std::vector<BoxMatch> MatchBoxes(const std::vector<BoundingBox>& boxes,
                                 const std::vector<bool>& left_out,
                                 const std::vector<BoundingBox>& objects, bool each_box,
                                 double threshold) {
  struct Pair {
    size_t box, object;
    double overlap;
  };
  std::vector<BoxMatch> matches(boxes.size());
  std::vector<Pair> pairs;
  for (size_t b = 0; b < boxes.size(); ++b) {
    if (!left_out.empty() && left_out[b]) continue;
    for (size_t o = 0; o < objects.size(); ++o) {
      const double overlap = Overlap(boxes[b], objects[o]);
      if (!(overlap > 1e-6)) continue;
      pairs.push_back({b, o, overlap});
      matches[b].overlap = std::max(matches[b].overlap, overlap);
    }
  }
  std::vector<bool> matched(objects.size());
  for (size_t round = 0; round < objects.size(); ++round) {
    const Pair* best = nullptr;
    for (const Pair& pair : pairs) {
      if (matches[pair.box].object >= 0 || matched[pair.object]) continue;
      if (best == nullptr || pair.overlap > best->overlap) best = &pair;
    }
    if (best == nullptr) break;
    matches[best->box].object = static_cast<int>(best->object);
    matched[best->object] = true;
  }
  if (!each_box) return matches;
  for (const Pair& pair : pairs) {
    BoxMatch& match = matches[pair.box];
    if (match.object < 0 && pair.overlap >= threshold && pair.overlap == match.overlap)
      match.object = static_cast<int>(pair.object);
  }
  return matches;
}

std::vector<int> Suppress(const std::vector<BoundingBox>& boxes, const std::vector<double>& scores,
                          const Suppression& how) {
  std::vector<int> order;
  for (size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] > how.least_score) order.push_back(static_cast<int>(i));
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return scores[a] > scores[b]; });
  if (how.top_k >= 0 && order.size() > static_cast<size_t>(how.top_k)) order.resize(how.top_k);
  std::vector<int> kept;
  double threshold = how.threshold;
  for (const int candidate : order) {
    const bool hidden = std::any_of(kept.begin(), kept.end(), [&](int better) {
      return Overlap(boxes[candidate], boxes[better]) > threshold;
    });
    if (hidden) continue;
    kept.push_back(candidate);
    if (threshold > 0.5) threshold *= how.eta;
  }
  return kept;
}

double AveragePrecision(std::vector<Finding> findings, int objects, PrecisionMean mean) {
  if (objects <= 0 || findings.empty()) return 0;
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.score > b.score; });
  std::vector<double> precision, recall;
  int found = 0;
  for (const Finding& finding : findings) {
    found += finding.is_true;
    precision.push_back(found / (static_cast<double>(precision.size()) + 1));
    recall.push_back(found / static_cast<double>(objects));
  }
  if (mean != PrecisionMean::kIntegral) {
    // Replaces each precision by the greatest at its recall or more; recall grows along the list.
    for (size_t i = precision.size() - 1; i > 0; --i)
      precision[i - 1] = std::max(precision[i - 1], precision[i]);
  }
  double sum = 0;
  if (mean == PrecisionMean::k11Point) {
    for (int tenth = 0; tenth <= 10; ++tenth) {
      const auto at = std::lower_bound(recall.begin(), recall.end(), tenth / 10.0);
      if (at != recall.end()) sum += precision[at - recall.begin()];
    }
    return sum / 11;
  }
  for (size_t i = 0; i < precision.size(); ++i)
    sum += precision[i] * (recall[i] - (i > 0 ? recall[i - 1] : 0));
  return sum;
}

}  // namespace kernels
}  // namespace caffe
