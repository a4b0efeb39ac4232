#include "layrub/bounds/recompute_costs.hpp"

#include <limits>
#include <numeric>

#include "layrub/bounds/max_flow.hpp"

namespace layrub::bounds {
namespace {

constexpr size_t kMostOps = 5000;  ///< in larger graphs, inputs count as resident
constexpr double kInfinite = std::numeric_limits<double>::infinity();

}  // namespace

RecomputeCosts::RecomputeCosts(const Graph& graph, const std::vector<double>& seconds,
                               const std::vector<OpId>& maker, const std::vector<bool>& needed)
    : graph_(graph), seconds_(seconds) {
  std::vector<int32_t> value_of(graph.tensors.size(), kNone);
  std::vector<int32_t> index_of(graph.ops.size(), kNone);
  const auto add = [&](TensorId t, bool is_needed) {
    if (value_of[t] == kNone) {
      value_of[t] = static_cast<int32_t>(values_.size());
      values_.push_back({t, kNone, is_needed});
    }
    return value_of[t];
  };
  for (size_t t = 0; t < needed.size(); ++t) {
    if (!needed[t]) continue;
    add(static_cast<TensorId>(t), true);
    bytes_ += static_cast<double>(graph.tensors[t].bytes);
  }
  for (size_t v = 0; v < values_.size(); ++v) {
    const OpId o = maker[values_[v].tensor];
    if (o == kNone || !graph.ops[o].repeatable) continue;
    if (index_of[o] == kNone) {
      index_of[o] = static_cast<int32_t>(ops_.size());
      ops_.push_back(o);
      inputs_.emplace_back();
      if (graph.ops.size() <= kMostOps) {
        for (const TensorId t : graph.ops[o].variants.front().reads) {
          if (maker[t] != kNone) inputs_.back().push_back(add(t, false));
        }
      }
    }
    values_[v].maker = index_of[o];
  }
}

double RecomputeCosts::UnrecomputableBytes() const {
  return std::accumulate(values_.begin(), values_.end(), 0.0, [&](double sum, const Value& value) {
    return value.needed && value.maker == kNone ? sum + BytesOf(value) : sum;
  });
}

Trade RecomputeCosts::At(double price) const {
  const auto first_op = static_cast<int32_t>(values_.size());
  const auto source = first_op + static_cast<int32_t>(ops_.size());
  const int32_t sink = source + 1;
  MaxFlow flow(sink + 1);
  for (int32_t v = 0; v < first_op; ++v) {
    const Value& value = values_[v];
    if (value.needed) flow.AddEdge(source, v, kInfinite);
    flow.AddEdge(v, value.maker == kNone ? sink : first_op + value.maker, price * BytesOf(value));
  }
  for (size_t i = 0; i < ops_.size(); ++i) {
    const auto op = first_op + static_cast<int32_t>(i);
    flow.AddEdge(op, sink, seconds_[ops_[i]]);
    for (const int32_t input : inputs_[i]) flow.AddEdge(op, input, kInfinite);
  }
  const double least = flow.Run(source, sink);
  Trade trade{price, 0, 0};
  for (int32_t v = 0; v < first_op; ++v) {
    const int32_t maker = values_[v].maker;
    const bool made = maker != kNone && flow.OnSourceSide(first_op + maker);
    if (flow.OnSourceSide(v) && !made) trade.bytes += BytesOf(values_[v]);
  }
  trade.seconds = least - price * trade.bytes;
  return trade;
}

}  // namespace layrub::bounds
