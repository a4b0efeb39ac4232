#ifndef LAYRUB_BOUNDS_MAKING_AGAIN_HPP_
#define LAYRUB_BOUNDS_MAKING_AGAIN_HPP_

#include <cstdint>
#include <vector>

#include "layrub/placement/ir/graph.hpp"

namespace layrub::bounds {

/// Of what is needed, `bytes` are there or come over the link; the rest is made again in `seconds`.
/// No choice has a smaller sum of `seconds` and `price` times `bytes`.
struct Trade {
  double price = 0;  ///< seconds a byte
  double seconds = 0;
  double bytes = 0;
};

/// What making tensors again takes from one moment on, at which forward operations have run. A
/// tensor that is needed is there, comes over the link, or is made again by the operation that made
/// it, for which all that this reads is needed in the same sense. What is made again, or there,
/// once serves all that need it. For a price of bytes, the cheapest choice is a minimum cut:
/// between what is needed (source) and what is not (sink), cut at tensors (bytes) and operations
/// (seconds).
class MakingAgain {
 public:
  /// By operation, the `seconds` that it takes; by tensor, its `maker`, a forward operation (kNone:
  /// the tensor is there), and whether it is `needed`, which those with a maker may be. Keeps
  /// references to `graph` and `seconds`. Of a graph with more than 5,000 operations, what making
  /// again reads counts as there, so that cuts take a time that grows with the number of tensors
  /// alone.
  MakingAgain(const Graph& graph, const std::vector<double>& seconds,
              const std::vector<OpId>& maker, const std::vector<bool>& needed);

  /// Bytes of all that is needed.
  double Bytes() const { return bytes_; }
  /// Of these, the bytes of what nothing makes again.
  double LastingBytes() const;
  /// The cheapest choice at `price` > 0.
  Trade At(double price) const;

 private:
  /// A tensor that is needed for its own sake or for another.
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
  std::vector<OpId> ops_;                     ///< that may run again
  std::vector<std::vector<int32_t>> inputs_;  ///< by index into ops_, indices into values_
  double bytes_ = 0;
};

}  // namespace layrub::bounds

#endif  // LAYRUB_BOUNDS_MAKING_AGAIN_HPP_
