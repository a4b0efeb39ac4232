#include "caffe/kernels/detection/multibox_loss.hpp"

#include <cmath>

#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {

namespace {

/// The softmax of `scores` is exp(score - max) / sum.
struct ScoreTerms {
  double max;
  double sum;
};

template <typename Dtype>
LAYRUB_HOST_DEVICE ScoreTerms TermsOf(const Dtype* scores, int64_t classes) {
  ScoreTerms terms = {static_cast<double>(scores[0]), 0};
  for (int64_t c = 1; c < classes; ++c) terms.max = scores[c] > terms.max ? scores[c] : terms.max;
  for (int64_t c = 0; c < classes; ++c) terms.sum += std::exp(scores[c] - terms.max);
  return terms;
}

template <typename Dtype>
LAYRUB_HOST_DEVICE double ClassLoss(const Dtype* scores, int64_t classes, bool logistic,
                                    int64_t label) {
  if (!logistic) {
    const ScoreTerms terms = TermsOf(scores, classes);
    return terms.max + std::log(terms.sum) - scores[label];
  }
  double sum = 0;
  for (int64_t c = 0; c < classes; ++c) {
    const double x = scores[c];
    // In this form the exponential does not overflow.
    sum += (x < 0 ? 0 : x) - (c == label ? x : 0) + std::log1p(std::exp(-std::fabs(x)));
  }
  return sum;
}

/// Computes the differences between the offsets at `at` (position `at` / sets), which must have an
/// object, and their targets.
template <typename Dtype>
LAYRUB_HOST_DEVICE void FindDistances(const MultiBoxLoss<Dtype>& loss, int64_t at,
                                      double (&distances)[4]) {
  const Prior prior = PriorAt(loss.priors, loss.shape.priors,
                              at / loss.shape.sets % loss.shape.priors, loss.variances);
  const Dtype* const offsets = loss.offsets + at * 4;
  double wanted[4];
  EncodeBox(loss.code, prior, BoxAt(loss.truth + int64_t{loss.targets.objects[at]} * 8 + 3),
            wanted);
  bool counts[4] = {true, true, true, true};
  if (loss.inside)
    FindSidesInside(loss.decoded ? DecodeBox(loss.code, prior, offsets) : prior.box, counts);
  for (int k = 0; k < 4; ++k) distances[k] = counts[k] ? offsets[k] - wanted[k] : 0;
}

}  // namespace

template <typename Dtype>
double MultiBoxClassLoss(const Dtype* scores, int64_t classes, bool logistic, int64_t label) {
  return ClassLoss(scores, classes, logistic, label);
}

template <typename Dtype>
void MultiBoxClassLosses(const DeviceContext& context, const MultiBoxShape& shape, bool logistic,
                         int label, const Dtype* scores, Dtype* losses) {
  const int64_t classes = shape.classes;
  ParallelForHeavy(context, shape.positions(), classes, [=] LAYRUB_HOST_DEVICE(int64_t position) {
    losses[position] =
        static_cast<Dtype>(ClassLoss(scores + position * classes, classes, logistic, label));
  });
}

template <typename Dtype>
void MultiBoxLossForward(const DeviceContext& context, const MultiBoxLoss<Dtype>& loss,
                         Dtype* losses, Dtype* sum) {
  const MultiBoxLoss<Dtype> l = loss;
  const int64_t classes = l.shape.classes, sets = l.shape.sets;
  ParallelForHeavy(context, l.shape.positions(), classes + sets,
                   [=] LAYRUB_HOST_DEVICE(int64_t position) {
                     double total = 0;
                     const int label = l.targets.labels[position];
                     if (label >= 0)
                       total = ClassLoss(l.scores + position * classes, classes, l.logistic, label);
                     for (int64_t at = position * sets; at < (position + 1) * sets; ++at) {
                       if (l.targets.objects[at] < 0) continue;
                       double distances[4];
                       FindDistances(l, at, distances);
                       for (double d : distances)
                         total += l.offset_weight * OffsetLoss(d, l.squared);
                     }
                     losses[position] = static_cast<Dtype>(total);
                   });
  ParallelReduce<double>(
      context, 1, l.shape.positions(),
      [=] LAYRUB_HOST_DEVICE(int64_t, int64_t i) -> double { return losses[i]; },
      [=] LAYRUB_HOST_DEVICE(int64_t, double total) {
        sum[0] = static_cast<Dtype>(total / l.targets.divisor[0]);
      });
}

template <typename Dtype>
void MultiBoxLossBackward(const DeviceContext& context, const MultiBoxLoss<Dtype>& loss,
                          const Dtype* weight, Dtype* doffsets, Dtype* dscores) {
  const MultiBoxLoss<Dtype> l = loss;
  const int64_t classes = l.shape.classes, sets = l.shape.sets;
  ParallelForHeavy(
      context, l.shape.positions(), classes + sets, [=] LAYRUB_HOST_DEVICE(int64_t position) {
        const double scale = weight[0] / l.targets.divisor[0];
        const int label = l.targets.labels[position];
        if (dscores != nullptr) {
          const Dtype* x = l.scores + position * classes;
          const bool softmax = label >= 0 && !l.logistic;
          const ScoreTerms terms = softmax ? TermsOf(x, classes) : ScoreTerms{0, 1};
          for (int64_t c = 0; c < classes; ++c) {
            const double score = x[c];
            const double probability =
                l.logistic ? 1 / (1 + std::exp(-score)) : std::exp(score - terms.max) / terms.sum;
            const double gradient = label < 0 ? 0 : scale * (probability - (c == label));
            dscores[position * classes + c] = static_cast<Dtype>(gradient);
          }
        }
        for (int64_t at = position * sets; at < (position + 1) * sets; ++at) {
          if (doffsets == nullptr) break;
          const bool matched = l.targets.objects[at] >= 0;
          double distances[4] = {0, 0, 0, 0};
          if (matched) FindDistances(l, at, distances);
          for (int k = 0; k < 4; ++k) {
            const double d = distances[k];
            const double slope = l.squared || std::fabs(d) < 1 ? d : (d > 0) - (d < 0);
            const double gradient = matched ? scale * l.offset_weight * slope : 0;
            doffsets[at * 4 + k] = static_cast<Dtype>(gradient);
          }
        }
      });
}

#define INSTANTIATE(Dtype)                                                                        \
  template double MultiBoxClassLoss<Dtype>(const Dtype*, int64_t, bool, int64_t);                 \
  template void MultiBoxClassLosses<Dtype>(const DeviceContext&, const MultiBoxShape&, bool, int, \
                                           const Dtype*, Dtype*);                                 \
  template void MultiBoxLossForward<Dtype>(const DeviceContext&, const MultiBoxLoss<Dtype>&,      \
                                           Dtype*, Dtype*);                                       \
  template void MultiBoxLossBackward<Dtype>(const DeviceContext&, const MultiBoxLoss<Dtype>&,     \
                                            const Dtype*, Dtype*, Dtype*)
INSTANTIATE(float);
INSTANTIATE(double);
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
