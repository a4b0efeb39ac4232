#include "layrub/placement/search/homes.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>
#include <utility>

namespace layrub::placement::search {
namespace {

using cost::Homes;

/// A tensor smaller than all state that may leave, divided by this, is small.
constexpr int64_t kSmallState = 1000;
/// Parts of the state that may leave the device, but need not, that leave in each choice.
constexpr std::array<double, 4> kExtraStateFractions{0, 0.3, 0.6, 1};

/// The state that may leave the device, in the order in which it does.
std::vector<TensorId> InOrder(const Graph& graph) {
  std::vector<TensorId> order;
  int64_t all = 0;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    if (!cost::MayLeave(graph.tensors[t])) continue;
    order.push_back(static_cast<TensorId>(t));
    all += graph.tensors[t].bytes;
  }
  const auto rank = [&](TensorId t) {
    const Tensor& tensor = graph.tensors[t];
    const bool is_small = tensor.bytes < all / kSmallState;
    const int use = tensor.role == Role::kHistory             ? 0
                    : tensor.role == Role::kParameterGradient ? 1
                                                              : 2;
    return std::tuple(is_small, use, -tensor.bytes);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](TensorId a, TensorId b) { return rank(a) < rank(b); });
  return order;
}

}  // namespace

std::vector<Homes> ChooseHomes(const Graph& graph, int64_t bytes, int64_t host_bytes) {
  const std::vector<TensorId> order = InOrder(graph);
  const auto first = [&](size_t count) {
    Homes homes = cost::AllOnDevice(graph);
    for (size_t i = 0; i < count; ++i) homes[order[i]] = StateHome::kAway;
    return cost::UseInPlace(graph, std::move(homes), bytes, host_bytes);
  };
  std::vector<size_t> counts(order.size() + 1);
  std::iota(counts.begin(), counts.end(), size_t{0});
  const auto enough = std::partition_point(counts.begin(), counts.end(), [&](size_t count) {
    return cost::FloorBytes(graph, first(count)) > bytes;
  });
  if (enough == counts.end()) return {};
  std::vector<Homes> choices;
  const auto most = static_cast<double>(counts.end() - enough - 1);
  for (const double part : kExtraStateFractions) {
    Homes homes = first(*enough + static_cast<size_t>(part * most));
    if (choices.empty() || choices.back() != homes) choices.push_back(std::move(homes));
  }
  return choices;
}

}  // namespace layrub::placement::search
