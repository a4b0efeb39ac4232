#include "layrub/placement/tight_windows.hpp"

#include <algorithm>
#include <numeric>

#include "layrub/placement/floor.hpp"

namespace layrub {
namespace {

/// Windows begin and end at operations with at least this part of the largest working set,
constexpr int64_t kTightPart = 2;
/// and span at most so many of these.
constexpr size_t kLongest = 8;

using Tensors = std::vector<TensorId>;

bool Has(const Tensors& tensors, TensorId t) {
  return std::find(tensors.begin(), tensors.end(), t) != tensors.end();
}

void AddOnce(TensorId t, Tensors* tensors) {
  if (!Has(*tensors, t)) tensors->push_back(t);
}

/// What all plans have in common about an operation; persistent tensors left out.
struct Facts {
  Tensors operands;  ///< of any form
  Tensors reads;     ///< of all forms
  Tensors writes;    ///< of all forms
};

Tensors InAllForms(const Op& op, Tensors Form::*operands) {
  Tensors all = op.forms.front().*operands;
  std::erase_if(all, [&](TensorId t) {
    return std::any_of(op.forms.begin(), op.forms.end(),
                       [&](const Form& form) { return !Has(form.*operands, t); });
  });
  return all;
}

class Windows {
 public:
  Windows(const Graph& graph, const Machine& machine, const std::vector<double>& seconds,
          int64_t room)
      : graph_(graph),
        machine_(machine),
        seconds_(seconds),
        working_sets_(WorkingSets(graph)),
        room_(room),
        short_(IsShort()),
        maker_(graph.tensors.size(), kNone),
        last_read_(graph.tensors.size(), kNone),
        survives_(graph.tensors.size(), true),
        seen_(graph.tensors.size()),
        touched_(graph.tensors.size(), kNone) {
    for (OpId o = 0; o < Count() && short_; ++o) Look(o);
  }

  double Seconds() {
    const std::vector<OpId> cuts = Cuts();
    std::vector<double> until(cuts.size());  // by cut: the most that is known of the time before it
    for (size_t i = 0; i + 1 < cuts.size(); ++i) {
      for (size_t j = i + 1; j < cuts.size() && j <= i + kLongest; ++j)
        until[j] = std::max(until[j], until[i] + Window(cuts[i], cuts[j]));
    }
    return until.back();
  }

 private:
  OpId Count() const { return static_cast<OpId>(graph_.ops.size()); }
  double Bytes(TensorId t) const { return static_cast<double>(graph_.tensors[t].bytes); }
  int64_t Slack(OpId o) const { return std::max<int64_t>(0, room_ - working_sets_[o]); }
  bool Fits(TensorId t, OpId o) const { return graph_.tensors[t].bytes <= Slack(o); }

  bool IsShort() const {
    const int64_t all = std::accumulate(
        graph_.tensors.begin(), graph_.tensors.end(), int64_t{0},
        [](int64_t sum, const Tensor& tensor) { return sum + !tensor.persistent * tensor.bytes; });
    return room_ - *std::max_element(working_sets_.begin(), working_sets_.end()) < all;
  }

  void Look(OpId o) {
    const Op& op = graph_.ops[o];
    Facts facts{{}, InAllForms(op, &Form::reads), InAllForms(op, &Form::writes)};
    const auto persistent = [&](TensorId t) { return graph_.tensors[t].persistent; };
    for (const Form& form : op.forms) {
      for (const Tensors* some : {&form.reads, &form.writes}) {
        for (const TensorId t : *some) {
          if (!persistent(t)) AddOnce(t, &facts.operands);
        }
      }
      for (const TensorId t : form.writes) {
        if (op.repeatable && op.pass == Pass::kForward && maker_[t] == kNone) maker_[t] = o;
        // Overwritten without having been read, a value need not have been anywhere before.
        if (seen_[t] && !Has(facts.reads, t)) survives_[t] = false;
      }
    }
    std::erase_if(facts.reads, persistent);
    std::erase_if(facts.writes, persistent);
    for (const TensorId t : facts.reads) last_read_[t] = o;
    for (const TensorId t : facts.operands) seen_[t] = true;
    facts_.push_back(std::move(facts));
  }

  std::vector<OpId> Cuts() const {
    const int64_t most = *std::max_element(working_sets_.begin(), working_sets_.end());
    std::vector<OpId> cuts{0};
    for (OpId o = 1; o < Count(); ++o) {
      if (working_sets_[o] >= most / kTightPart) cuts.push_back(o);
    }
    cuts.push_back(Count());
    return cuts;
  }

  double Window(OpId first, OpId last) {
    const double computed =
        std::accumulate(seconds_.begin() + first + 1, seconds_.begin() + last, 0.0);
    if (!short_) return seconds_[first] + computed;
    FindReturns(first, last);
    double least = std::max(computed, LeaveSeconds(first, last));
    for (const double price : Prices()) least = std::max(least, Dual(price, computed, first));
    return seconds_[first] + least;
  }

  /// Tensors that the window reads, that were made before it, and that are not there for sure.
  void FindReturns(OpId first, OpId last) {
    returns_.clear();
    ++window_;
    for (const TensorId t : facts_[first].operands) touched_[t] = window_;
    for (OpId o = first + 1; o <= std::min(last, Count() - 1); ++o) {
      for (const TensorId t : facts_[o].reads) {
        if (touched_[t] != window_) returns_.push_back(t);
      }
      for (const TensorId t : facts_[o].operands) touched_[t] = window_;
    }
    std::sort(returns_.begin(), returns_.end(),
              [&](TensorId a, TensorId b) { return maker_[a] < maker_[b]; });
  }

  /// The function of the price that Dual is, concave and linear in pieces, bends where a copy and
  /// making the tensor again cost the same.
  std::vector<double> Prices() const {
    std::vector<double> prices{1};
    for (const TensorId t : returns_) {
      if (maker_[t] == kNone) continue;
      const double copy = Bytes(t) / machine_.link_up + machine_.latency;
      prices.push_back(seconds_[maker_[t]] / (seconds_[maker_[t]] + copy));
    }
    std::sort(prices.begin(), prices.end());
    prices.erase(std::unique(prices.begin(), prices.end()), prices.end());
    return prices;
  }

  /// The least seconds, in parts, of what comes back over the link, at `price` a second there, and
  /// of computing, at the rest of 1. Whatever the price, what follows `first` takes no less.
  double Dual(double price, double computed, OpId first) const {
    const double second = 1 - price;
    double sum = second * computed - price * static_cast<double>(Slack(first)) / machine_.link_up;
    for (size_t i = 0; i < returns_.size();) {
      const OpId maker = maker_[returns_[i]];
      double copies = 0;
      do {
        const TensorId t = returns_[i];
        const double latency = Fits(t, first) ? 0 : machine_.latency;
        copies += price * (Bytes(t) / machine_.link_up + latency);
      } while (++i < returns_.size() && maker != kNone && maker_[returns_[i]] == maker);
      sum += maker == kNone ? copies : std::min(copies, second * seconds_[maker]);
    }
    return sum;
  }

  /// Seconds after `first` that the link takes for what has to leave within the window, and for
  /// that and what has to come back at once.
  double LeaveSeconds(OpId first, OpId last) {
    double least = 0, computed = 0, down = 0, bytes = 0;
    for (OpId o = first + 1; o < last; ++o) computed += seconds_[o];
    const double late = last < Count() ? static_cast<double>(Slack(last)) : 0;
    ++window_;
    for (OpId o = std::min(last, Count()) - 1; o >= first; --o) {
      for (const TensorId t : facts_[o].writes) {
        if (touched_[t] == window_ || last == Count() || !HasToLeave(t, last)) continue;
        touched_[t] = window_;
        down += Bytes(t) / machine_.link_down + machine_.latency;
        bytes += Bytes(t);
        least = std::max(least, computed + down - late / machine_.link_down);
      }
      if (o > first) computed -= seconds_[o];
    }
    for (const TensorId t : returns_) {
      if (maker_[t] == kNone && !Fits(t, first)) bytes += Bytes(t);
    }
    bytes -= late + static_cast<double>(Slack(first));
    const double both = std::max({machine_.link_both, machine_.link_down, machine_.link_up});
    return std::max(least, bytes / both);
  }

  bool HasToLeave(TensorId t, OpId last) const {
    return maker_[t] == kNone && survives_[t] && last_read_[t] > last && !Fits(t, last) &&
           !Has(facts_[last].operands, t);
  }

  const Graph& graph_;
  const Machine& machine_;
  const std::vector<double>& seconds_;
  const std::vector<int64_t> working_sets_;
  const int64_t room_;
  const bool short_;              ///< an operation has less slack than all tensors take
  std::vector<Facts> facts_;      ///< by operation
  std::vector<OpId> maker_;       ///< by tensor, the operation that makes it again; kNone: none
  std::vector<OpId> last_read_;   ///< by tensor, the last operation that reads it in all its forms
  std::vector<bool> survives_;    ///< by tensor: nobody overwrites it without having read it
  std::vector<bool> seen_;        ///< by tensor: an operation so far has it as an operand
  std::vector<int32_t> touched_;  ///< by tensor: the search through a window that met it last
  int32_t window_ = 0;            ///< number of that search
  Tensors returns_;               ///< of the window at hand, by maker
};

}  // namespace

double TightWindowsSeconds(const Graph& graph, const Machine& machine,
                           const std::vector<double>& seconds, int64_t room) {
  return graph.ops.empty() ? 0 : Windows(graph, machine, seconds, room).Seconds();
}

}  // namespace layrub
