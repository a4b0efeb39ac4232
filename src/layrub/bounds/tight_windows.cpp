#include "layrub/bounds/tight_windows.hpp"

#include <algorithm>
#include <limits>

#include "layrub/bounds/absences.hpp"
#include "layrub/bounds/making_again.hpp"
#include "layrub/bounds/passes.hpp"

namespace layrub::bounds {
namespace {

/// Windows begin and end at operations with at least this part of the largest working set,
constexpr int64_t kTightPart = 2;
/// and span at most so many of these,
constexpr size_t kLongest = 14;
/// or so many if chains are looked at, in nets with at most so many of these operations.
constexpr size_t kLongestWithChains = 5;
constexpr size_t kMostCutsWithChains = 500;

/// Prices that are tried, of the link: where something bends, and even parts of 1.
constexpr size_t kBends = 10;
constexpr int kParts = 6;

/// What costs nothing costs so much, which is less than matters, where costs are divided.
constexpr double kFree = 1e-9;

/// Seconds of work by what does it: the operations, the link up, the link down, and the link in
/// both directions together. Or prices of these, with the sum 1: no time is shorter than the
/// product of prices and the work that has to be done in it.
struct Work {
  double compute = 0;
  double up = 0;
  double down = 0;
  double both = 0;
  Work operator+(const Work& more) const {
    return {compute + more.compute, up + more.up, down + more.down, both + more.both};
  }
  double At(const Work& prices) const {
    return compute * prices.compute + up * prices.up + down * prices.down + both * prices.both;
  }
};

/// Tensors that the same operation makes again, if none of them is copied.
struct Batch {
  OpId maker = kNone;
  OpId read = kNone;  ///< the last operation that one of them returns to
  Work copies, all;   ///< of what returns for sure, and of all
  Work make;
};

/// A load that a tensor of batch `batch` returns by.
struct Shared {
  size_t batch = 0;
  Work copy;
};

/// One load of several that are possible: that of a tensor that returns, or one `alone`, with what
/// is made of it.
struct Load {
  std::vector<Shared> shared;
  std::vector<Work> alone;
};

/// How a tensor comes back after one operation and before another, in a window.
struct Arrival {
  size_t batch = 0;
  OpId after = kNone;
  OpId read = kNone;
  bool sure = false;
};

/// What a window has to do after its first operation, whatever the plan.
struct Window {
  Work fixed;  ///< operations, and what leaves
  std::vector<Batch> batches;
  std::vector<Load> loads;
};

class Windows {
 public:
  Windows(const Graph& graph, const Machine& machine, const std::vector<double>& seconds,
          int64_t room)
      : graph_(graph),
        machine_(machine),
        seconds_(seconds),
        room_(room),
        absences_(graph, room),
        makers_(ForwardMakers(graph)),
        arrivals_(graph.tensors.size()),
        loads_(graph.tensors.size()) {
    for (OpId o = 0; o <= Count(); ++o)
      computed_.push_back(o == 0 ? 0 : computed_.back() + seconds[o - 1]);
  }

  double Seconds();

 private:
  using Row = std::vector<double>;  ///< by prices

  OpId Count() const { return static_cast<OpId>(graph_.ops.size()); }
  double Bytes(TensorId t) const { return static_cast<double>(graph_.tensors[t].bytes); }
  double BothRate() const {
    return std::max({machine_.link_both, machine_.link_down, machine_.link_up});
  }
  Work Up(double bytes) const { return {0, bytes / machine_.link_up, 0, bytes / BothRate()}; }
  Work Down(double bytes) const { return {0, 0, bytes / machine_.link_down, bytes / BothRate()}; }

  std::vector<OpId> Cuts() const;
  size_t Turn(const std::vector<OpId>& cuts) const;
  std::vector<size_t> AfterTurn(const std::vector<OpId>& cuts, size_t turn) const;
  std::vector<Work> Prices() const;
  Window Look(OpId first, OpId last);
  void AddReturn(const Return& back, OpId first, Window* window);
  void AddLoad(const ForcedLoad& load, OpId first, Window* window);
  double AgainSeconds(const ForcedLoad& load, int32_t m, const Window& window) const;
  double Least(const Window& window, const Work& prices, double slack, double early) const;
  MakingAgain Reads(OpId first, OpId last) const;
  double LeastOfChains(const MakingAgain& reads, const Work& prices) const;

  const Graph& graph_;
  const Machine& machine_;
  const std::vector<double>& seconds_;
  const int64_t room_;
  const Absences absences_;
  const std::vector<OpId> makers_;                     ///< see ForwardMakers
  std::vector<double> computed_;                       ///< by operation, seconds of those before it
  std::vector<std::vector<Arrival>> arrivals_;         ///< by tensor, in the window at hand
  std::vector<std::vector<const ForcedLoad*>> loads_;  ///< by tensor, those that may be of it
  std::vector<TensorId> used_;                         ///< tensors with anything in these two
  std::vector<OpId> made_by_;  ///< operations that loads of that window count, run again
};

std::vector<OpId> Windows::Cuts() const {
  int64_t most = 0;
  for (OpId o = 0; o < Count(); ++o) most = std::max(most, absences_.WorkingSet(o));
  std::vector<OpId> cuts{0};
  for (OpId o = 1; o < Count(); ++o) {
    const bool tight = absences_.WorkingSet(o) >= most / kTightPart;
    if (tight && graph_.ops[o].kind != OpKind::kFeed) cuts.push_back(o);
  }
  cuts.push_back(Count());
  return cuts;
}

/// The last of `cuts` in the forward pass if others come before and after; else none of them.
size_t Windows::Turn(const std::vector<OpId>& cuts) const {
  const auto after = std::find_if(cuts.begin() + 1, cuts.end() - 1,
                                  [&](OpId o) { return graph_.ops[o].pass != Pass::kForward; });
  return after - cuts.begin() < 2 || after == cuts.end() - 1 ? cuts.size()
                                                             : after - cuts.begin() - 1;
}

/// Of `cuts`, the first after `turn`, and the first at which nothing that was made after `turn` is
/// needed any more.
std::vector<size_t> Windows::AfterTurn(const std::vector<OpId>& cuts, size_t turn) const {
  const auto needs = [&](OpId o) {
    const std::vector<Return>& returns = absences_.ReturnsTo(o);
    return std::any_of(returns.begin(), returns.end(), [&](const Return& back) {
      const OpId writer = absences_.Writer(back.tensor);
      return writer >= cuts[turn] && graph_.ops[writer].pass == Pass::kForward;
    });
  };
  OpId last = Count() - 1;
  while (last > cuts[turn + 1] && !needs(last)) --last;
  const auto end = std::upper_bound(cuts.begin(), cuts.end(), last);
  const auto served = static_cast<size_t>(end - cuts.begin());
  if (served <= turn + 1) return {turn + 1};
  return {turn + 1, served};
}

/// Parts of 1 for the link, and the rest for the operations: the cheapest choice changes where a
/// copy and making the tensor again cost the same. Some of these, and some between 0 and 1.
std::vector<Work> Windows::Prices() const {
  std::vector<double> parts, bends;
  for (TensorId t = 0; t < static_cast<TensorId>(graph_.tensors.size()); ++t) {
    const OpId maker = absences_.MakerAgain(t);
    const double copy = Bytes(t) / machine_.link_up;
    if (maker != kNone && copy > 0) bends.push_back(seconds_[maker] / (seconds_[maker] + copy));
  }
  std::sort(bends.begin(), bends.end());
  bends.erase(std::unique(bends.begin(), bends.end()), bends.end());
  for (size_t i = 0; i < kBends && !bends.empty(); ++i)
    parts.push_back(bends[i * (bends.size() - 1) / (kBends - 1)]);
  for (int i = 1; i <= kParts; ++i) parts.push_back(static_cast<double>(i) / kParts);
  std::vector<Work> prices{{1, 0, 0, 0}, {0, 0, 1, 0}};
  for (const double part : parts) {
    prices.push_back({1 - part, part, 0, 0});
    prices.push_back({1 - part, 0, 0, part});
  }
  return prices;
}

double Windows::Seconds() {
  if (absences_.AllFits()) return computed_.back();
  const std::vector<Work> prices = Prices();
  const std::vector<OpId> cuts = Cuts();
  constexpr double kNoWay = -std::numeric_limits<double>::max();
  const size_t turn = Turn(cuts);
  const bool chains = cuts.size() <= kMostCutsWithChains;
  std::vector<Row> until(cuts.size(), Row(prices.size(), kNoWay));
  until[0].assign(prices.size(), 0);
  for (size_t i = 0; i + 1 < cuts.size(); ++i) {
    Row& row = until[i];
    const Work slack_up = Up(static_cast<double>(absences_.Slack(cuts[i])));
    const Work slack_down = Down(static_cast<double>(absences_.Slack(cuts[i])));
    // What is late is subtracted where prices change, when the operation starts or ends.
    const auto at_any_price = [&] {
      double most = kNoWay;
      for (size_t p = 0; p < prices.size(); ++p)
        most = std::max(most, row[p] - slack_down.At(prices[p]));
      return most;
    };
    const double before = i == 0 ? kNoWay : at_any_price();
    for (const size_t j : i == turn ? AfterTurn(cuts, turn) : std::vector<size_t>{}) {
      // What moves here moves only here: nothing of it is early or late.
      const double passes = PassesSeconds(graph_, machine_, seconds_, room_, cuts[i], cuts[j]);
      const double slack = cuts[j] < Count() ? static_cast<double>(absences_.Slack(cuts[j])) : 0;
      for (size_t p = 0; p < prices.size(); ++p)
        until[j][p] = std::max(until[j][p], before + passes - Up(slack).At(prices[p]));
    }
    for (size_t p = 0; p < prices.size(); ++p) {
      row[p] =
          std::max(row[p], before - slack_up.At(prices[p])) + seconds_[cuts[i]] * prices[p].compute;
    }
    const double after = at_any_price();
    for (size_t j = i + 1; j < cuts.size() && j <= i + kLongest; ++j) {
      const Window window = Look(cuts[i], cuts[j]);
      for (size_t p = 0; p < prices.size(); ++p) {
        const double up = slack_up.At(prices[p]);
        until[j][p] = std::max({until[j][p], row[p] + Least(window, prices[p], up, 0),
                                after + Least(window, prices[p], up, up)});
      }
      if (!chains || j > i + kLongestWithChains) continue;
      const MakingAgain reads = Reads(cuts[i], cuts[j]);
      for (size_t p = 0; p < prices.size(); ++p) {
        if (prices[p].up == 0) continue;
        const double least =
            window.fixed.At(prices[p]) + LeastOfChains(reads, prices[p]) - slack_up.At(prices[p]);
        until[j][p] = std::max({until[j][p], row[p] + least, after + least});
      }
    }
  }
  return *std::max_element(until.back().begin(), until.back().end());
}

Window Windows::Look(OpId first, OpId last) {
  Window window;
  for (const TensorId t : used_) arrivals_[t].clear(), loads_[t].clear();
  used_.clear();
  made_by_.clear();
  window.fixed.compute = computed_[last] - computed_[first + 1];
  for (OpId o = first + 1; o <= std::min(last, Count() - 1); ++o) {
    for (const Return& back : absences_.ReturnsTo(o)) AddReturn(back, first, &window);
  }
  const auto slack = [&](OpId o) { return static_cast<double>(absences_.Slack(o)); };
  for (const Leave& leave : absences_.Leaves()) {
    if (leave.made >= first && leave.absent <= last)
      window.fixed = window.fixed + Down(Bytes(leave.tensor) - slack(leave.absent));
  }
  for (const ForcedLoad& load : absences_.ForcedLoads()) {
    if (load.after >= first && load.read <= last) AddLoad(load, first, &window);
  }
  return window;
}

void Windows::AddReturn(const Return& back, OpId first, Window* window) {
  const bool sure = back.absent >= first;
  if (!sure && back.touched >= first) return;
  const TensorId t = back.tensor;
  const OpId maker = absences_.MakerAgain(t);
  // Where it cannot be whole, a part of it may be. All that lacks anywhere comes after `from`, but
  // not all of it after the last operation at which something lacks.
  const OpId from = std::max(first, back.touched + 1);
  const double lacks =
      sure ? Bytes(t) - static_cast<double>(absences_.LeastSlack(from, back.read)) : 0;
  // What was made in the window has to leave first; that of which nothing is made again is counted
  // among what leaves.
  const bool leaves = maker != kNone && absences_.Writer(t) >= first && arrivals_[t].empty();
  const auto copy_of = [&](double bytes) { return leaves ? Up(bytes) + Down(bytes) : Up(bytes); };
  size_t b = 0;
  while (b < window->batches.size() &&
         (maker == kNone || window->batches[b].maker != maker || window->batches[b].read <= from))
    ++b;
  if (b == window->batches.size()) {
    window->batches.push_back({});
    window->batches[b].maker = maker;
    if (maker != kNone) window->batches[b].make.compute = seconds_[maker];
  }
  Batch& batch = window->batches[b];
  batch.read = std::max(batch.read, back.read);
  // What is there at the first operation is counted among its slack.
  batch.all = batch.all + copy_of(back.touched < first ? Bytes(t) : lacks);
  if (sure) batch.copies = batch.copies + copy_of(lacks);
  arrivals_[t].push_back({b, from, back.read, sure});
  used_.push_back(t);
}

/// Tensors that another load may have brought take no part; a load may be that of a tensor that
/// returns, if that returns alone.
void Windows::AddLoad(const ForcedLoad& forced, OpId first, Window* window) {
  Load load;
  const auto is_new = [&](TensorId t) {
    return absences_.MakerAgain(t) != kNone && absences_.Writer(t) >= first &&
           arrivals_[t].empty() && loads_[t].empty();
  };
  std::vector<double> made(forced.members.size());  // by member, seconds from it to what is read
  for (size_t i = 0; i < forced.members.size(); ++i) {
    const auto [t, makes, bytes] = forced.members[i];
    const auto least = static_cast<double>(bytes);
    for (const ForcedLoad* other : loads_[t]) {
      if (other->after < forced.read && other->read > forced.after) return;
    }
    bool alone = true;
    for (const Arrival& one : arrivals_[t]) {
      if (one.after >= forced.read || one.read <= forced.after) continue;
      // What nothing makes again comes by a load anyway.
      if (one.sure && window->batches[one.batch].maker == kNone) return;
      alone = alone && !one.sure;
      load.shared.push_back({one.batch, Up(least)});
    }
    if (makes != kNone) made[i] = made[makes] + AgainSeconds(forced, makes, *window);
    if (!alone) continue;
    Work work = Up(least);
    if (is_new(t)) work = work + Down(least);
    work.compute = made[i];
    load.alone.push_back(work);
  }
  for (const auto& [t, makes, bytes] : forced.members) {
    loads_[t].push_back(&forced);
    used_.push_back(t);
    if (makes != kNone) made_by_.push_back(absences_.Writer(forced.members[makes].tensor));
  }
  window->loads.push_back(std::move(load));
}

/// Seconds of making member `m` of a load again, where that is not yet counted: what is read itself
/// is, among what returns, and so is what others have to make again or what runs there first.
double Windows::AgainSeconds(const ForcedLoad& load, int32_t m, const Window& window) const {
  const OpId o = absences_.Writer(load.members[m].tensor);
  if (load.members[m].makes == kNone || o == kNone || o >= load.after) return 0;
  const bool counted = std::any_of(window.batches.begin(), window.batches.end(),
                                   [o](const Batch& batch) { return batch.maker == o; }) ||
                       std::find(made_by_.begin(), made_by_.end(), o) != made_by_.end();
  return counted ? 0 : seconds_[o];
}

/// At `prices`, at which the slack of the first operation costs `slack`, and what may have come
/// early `early`.
double Windows::Least(const Window& window, const Work& prices, double slack, double early) const {
  const auto cheapest = [&](const Work& copies, const Batch& batch) {
    const double copied = copies.At(prices);
    return batch.maker == kNone ? copied : std::min(copied, batch.make.At(prices));
  };
  double sure = -early, all = -slack;
  for (const Batch& batch : window.batches) {
    sure += cheapest(batch.copies, batch);
    all += cheapest(batch.all, batch);
  }
  double forced = 0;
  for (const Load& load : window.loads) {
    double least = std::numeric_limits<double>::max();
    for (const Work& alone : load.alone) least = std::min(least, alone.At(prices));
    for (const Shared& shared : load.shared) {
      const Batch& batch = window.batches[shared.batch];
      least = std::min(least, shared.copy.At(prices) - cheapest(batch.all, batch));
    }
    forced += std::max(0.0, least);
  }
  return window.fixed.At(prices) + std::max(sure, all) + forced;
}

/// What operations after `first` up to `last` read: it is among the operands of `first`, has been
/// written since, is there from before, or comes back.
MakingAgain Windows::Reads(OpId first, OpId last) const {
  std::vector<bool> there(graph_.tensors.size()), needed(graph_.tensors.size());
  for (const TensorId t : absences_.Operands(first)) there[t] = true;
  for (OpId o = first + 1; o <= std::min(last, Count() - 1); ++o) {
    for (const Return& back : absences_.ReturnsTo(o)) {
      if (!there[back.tensor]) needed[back.tensor] = true;
    }
    for (const Form& form : graph_.ops[o].forms) {
      for (const TensorId t : form.writes) there[t] = there[t] || !needed[t];
    }
  }
  std::vector<OpId> makers = makers_;
  for (size_t t = 0; t < makers.size(); ++t) {
    if (there[t] || makers[t] >= first) makers[t] = kNone;
  }
  return {graph_, seconds_, makers, needed};
}

/// The cheapest way to have all of `reads`, at prices of operations and the link up.
double Windows::LeastOfChains(const MakingAgain& reads, const Work& prices) const {
  const double byte = Up(1).At(prices);
  const Trade least = reads.At(byte / std::max(prices.compute, kFree));
  return prices.compute * least.seconds + byte * least.bytes;
}

}  // namespace

double TightWindowsSeconds(const Graph& graph, const Machine& machine,
                           const std::vector<double>& seconds, int64_t room) {
  return graph.ops.empty() ? 0 : Windows(graph, machine, seconds, room).Seconds();
}

}  // namespace layrub::bounds
