#ifndef LAYRUB_BOUNDS_RECOMPUTE_COSTS_HPP_
#define LAYRUB_BOUNDS_RECOMPUTE_COSTS_HPP_

#include <cstdint>
#include <vector>

#include "layrub/placement/ir/graph.hpp"

namespace layrub::bounds {

/// One choice of what to recompute. Of the needed tensors, `bytes` are resident or come over the
/// link; the rest is recomputed in `seconds`. No choice has a smaller sum of `seconds` and `price`
/// times `bytes`.
struct Trade {
  double price = 0;  ///< seconds a byte
  double seconds = 0;
  double bytes = 0;
};

/// Costs of recomputing tensors from one moment on, at which forward operations have run. A tensor
/// that is needed is resident, comes over the link, or is recomputed by the operation that wrote
/// it; what this operation reads is then needed in the same sense. A tensor that is recomputed
/// once, or resident, serves all that need it. For a price of bytes, the cheapest choice is a
/// minimum cut between what is needed (source) and what is not (sink), through tensors (bytes) and
/// operations (seconds).
class RecomputeCosts {
 public:
  /// `seconds` has the time of each operation. For each tensor, `maker` is the forward operation
  /// that writes it (kNone: it is resident) and `needed` whether it is needed, which only tensors
  /// with a maker may be. Keeps references to `graph` and `seconds`. In a graph with more than
  /// 5,000 operations, what recomputations read counts as resident, so that the time of a cut grows
  /// only with the number of tensors.
  RecomputeCosts(const Graph& graph, const std::vector<double>& seconds,
                 const std::vector<OpId>& maker, const std::vector<bool>& needed);

  /// Bytes of all needed tensors.
  double Bytes() const { return bytes_; }
  /// Bytes of the needed tensors that cannot be recomputed.
  double UnrecomputableBytes() const;
  /// The cheapest choice at `price` > 0.
  Trade At(double price) const;

 private:
  /// A tensor that is needed, by itself or for a recomputation.
  struct Value {
    TensorId tensor = kNone;
    int32_t maker = kNone;  ///< index into ops_
    bool needed = false;
  };

  double BytesOf(const Value& value) const {
    return static_cast<double>(graph_.tensors[value.tensor].bytes);
  }

  const Graph& graph_;
  const std::vector<double>& seconds_;
  std::vector<Value> values_;
  std::vector<OpId> ops_;                     ///< that may be recomputed
  std::vector<std::vector<int32_t>> inputs_;  ///< by index into ops_, indices into values_
  double bytes_ = 0;
};

}  // namespace layrub::bounds

#endif  // LAYRUB_BOUNDS_RECOMPUTE_COSTS_HPP_
