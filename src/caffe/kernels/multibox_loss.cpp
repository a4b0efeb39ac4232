#include "caffe/kernels/multibox_loss.hpp"

#include <cmath>

#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {

namespace {

/// Of the softmax of `scores`.
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
    // No exponential overflows.
    sum += (x < 0 ? 0 : x) - (c == label ? x : 0) + std::log1p(std::exp(-std::fabs(x)));
  }
  return sum;
}

/// What the offsets at `at` (of position `at` / sets) are to be.
template <typename Dtype>
LAYRUB_HOST_DEVICE void WantedOffsets(const MultiBoxLoss<Dtype>& loss, int64_t at,
                                      double (&wanted)[4]) {
  const int64_t prior = at / loss.shape.sets % loss.shape.priors;
  EncodeBox(loss.code, PriorAt(loss.priors, loss.shape.priors, prior, loss.variances),
            BoxAt(loss.truth + int64_t{loss.targets.objects[at]} * 8 + 3), wanted);
}

}  // namespace

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
                       double wanted[4];
                       WantedOffsets(l, at, wanted);
                       for (int k = 0; k < 4; ++k) {
                         const double d = std::fabs(l.offsets[at * 4 + k] - wanted[k]);
                         total += l.offset_weight * (l.squared || d < 1 ? d * d / 2 : d - 0.5);
                       }
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
          double wanted[4] = {0, 0, 0, 0};
          if (matched) WantedOffsets(l, at, wanted);
          for (int k = 0; k < 4; ++k) {
            const double d = l.offsets[at * 4 + k] - wanted[k];
            const double slope = l.squared || std::fabs(d) < 1 ? d : (d > 0) - (d < 0);
            const double gradient = matched ? scale * l.offset_weight * slope : 0;
            doffsets[at * 4 + k] = static_cast<Dtype>(gradient);
          }
        }
      });
}

#define INSTANTIATE(Dtype)                                                                        \
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
