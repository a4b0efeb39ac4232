#include "layrub/placement/strategies/loads.hpp"

#include <algorithm>

#include "layrub/placement/aliases.hpp"

namespace layrub {
namespace {

/// The variant of `form` that is faster than all others within `bytes`; `current` if that is known
/// to be as fast, or its speed is unknown.
int32_t FastestScratch(const Graph& graph, const Form& form, int32_t current, int64_t bytes) {
  int32_t best = current;
  for (int32_t i = 0; i < static_cast<int32_t>(form.scratch.size()); ++i) {
    const Scratch& variant = form.scratch[i];
    const bool faster = variant.seconds > 0 && variant.seconds < form.scratch[best].seconds;
    if (variant.deterministic && faster && ScratchBytes(graph, form, i) <= bytes) best = i;
  }
  return best;
}

}  // namespace

std::vector<int64_t> Loads(const Lifetimes& lives, size_t runs) {
  std::vector<int64_t> change(runs + 1);
  for (const Residence& residence : lives.residences) {
    // A tensor that lies on another has its range to itself from the next run on.
    const RunId begin = residence.on != kNone ? residence.begin + 1 : std::max(residence.begin, 0);
    const RunId end = std::min(residence.end + 1, static_cast<RunId>(runs));
    if (begin >= end) continue;
    change[begin] += residence.bytes;
    change[end] -= residence.bytes;
  }
  for (size_t r = 1; r < change.size(); ++r) change[r] += change[r - 1];
  change.pop_back();
  return change;
}

void TakeFastestScratch(const Graph& graph, int64_t bytes, Decision* decision) {
  const Result<Lifetimes> lives = FindLifetimes(graph, *decision);
  if (!lives.ok()) return;
  const std::vector<int64_t> loads = Loads(lives.value(), decision->runs.size());
  const auto form_of = [&](const Run& run) -> const Form& {
    return graph.ops[run.op].forms[run.form];
  };
  std::vector<int64_t> left(graph.ops.size(), bytes);
  for (size_t r = 0; r < loads.size(); ++r) {
    const Run& run = decision->runs[r];
    const int64_t others = loads[r] - ScratchBytes(graph, form_of(run), run.scratch);
    left[run.op] = std::min(left[run.op], bytes - others);
  }
  for (Run& run : decision->runs) {
    run.scratch = FastestScratch(graph, form_of(run), run.scratch, left[run.op]);
  }
}

}  // namespace layrub
