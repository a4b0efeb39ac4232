// The text that `layrub plan` prints.
#include <algorithm>
#include <cmath>
#include <iomanip>
#include <limits>
#include <numeric>
#include <sstream>

#include "layrub/base/bytes.hpp"
#include "layrub/number_text.hpp"
#include "layrub/plan_report.hpp"

namespace layrub_tool {

using layrub::FormatBytes;
using layrub::Graph;
using layrub::LayerCost;
using layrub::Role;

namespace {

constexpr size_t kLineWidth = 98;
constexpr size_t kLayerRows = 14;
constexpr size_t kLayerName = 22;
constexpr size_t kReadableNames = 6;
constexpr size_t kAnswerColumn = 20;
/// Times that differ by less count as equal.
constexpr double kSameTime = 1.01;
constexpr int64_t kNoBudget = std::numeric_limits<int64_t>::max();

const char* RoleText(Role role) {
  switch (role) {
    case Role::kParameter:
      return "parameters";
    case Role::kParameterGradient:
      return "their gradients";
    case Role::kHistory:
      return "solver history";
    case Role::kActivation:
      return "activations";
    case Role::kActivationGradient:
      return "their gradients";
    case Role::kSaved:
      return "saved for backward";
    case Role::kWorkspace:
      return "workspace";
    case Role::kUser:
      return "inputs";
  }
  return "";
}

/// Breaks `text`, which starts in column `column`, at spaces; later lines start in `indent`.
std::string Wrap(const std::string& text, size_t column, size_t indent) {
  std::istringstream words(text);
  std::string result, word;
  while (words >> word) {
    if (!result.empty() && column + 1 + word.size() > kLineWidth) {
      result += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!result.empty()) {
      result += " ";
      ++column;
    }
    result += word;
    column += word.size();
  }
  return result;
}

/// "  name      value   note".
void Row(std::ostream& out, const std::string& name, const std::string& value,
         const std::string& note = "") {
  out << "  " << std::left << std::setw(20) << name << std::right << std::setw(12) << value
      << (note.empty() ? "" : "   " + note) << "\n";
}

void Summary(std::ostream& out, const PlanReport& report) {
  const int64_t bytes = report.plan().device_bytes;
  const bool tests = !report.nets.tests.empty();
  Row(out, "device memory", FormatBytes(bytes), tests ? "for the training net" : "");
  if (tests) {
    Row(out, "with test nets", FormatBytes(report.nets.device_bytes),
        report.nets.share_memory ? "which run in memory of the training net"
                                 : "which have memory of their own");
  }
  Row(out, "all kept (keep)", FormatBytes(report.keep_peak_bytes),
      bytes == report.keep_peak_bytes
          ? ""
          : "this plan takes " + Percent(bytes, report.keep_peak_bytes) + " of that");
  const bool state_stays = report.state_floor_bytes == report.floor_bytes;
  Row(out, "floor", FormatBytes(report.floor_bytes),
      state_stays ? "no plan takes less"
                  : "the least if weights and history stay and layers run whole");
  if (!state_stays)
    Row(out, "state floor", FormatBytes(report.state_floor_bytes), "no plan takes less");
  Row(out, "host memory",
      report.plan().host_bytes == 0 ? "none" : FormatBytes(report.plan().host_bytes));
  if (report.plan().spill_bytes > 0)
    Row(out, "spill file", FormatBytes(report.plan().spill_bytes),
        "what does not fit into --host_memory");
  if (const int slices = report.nets.train.slicing.parts; slices > 1)
    Row(out, "slices", std::to_string(slices), "some layers run for a part of the batch at a time");
  if (report.nets.train.transient_gradients) {
    Row(out, "gradients", "not kept", "each parameter is updated within the backward pass");
  } else if (report.limited() && report.plan().device_bytes < report.keep_peak_bytes &&
             !report.why_gradients_stay.empty()) {
    Row(out, "gradients", "kept", report.why_gradients_stay);
  }
  Row(out, "one iteration", FormatSeconds(report.seconds),
      Fixed(report.seconds / report.keep_seconds, 2) + " x keep's, by the model of machine " +
          report.options.machine.name);
  if (report.stalled > 0) Row(out, "  waiting", FormatSeconds(report.stalled), "for copies");
  if (report.moved_bytes > 0) {
    Row(out, "  moving", FormatBytes(report.moved_bytes),
        "within the device, to make free bytes contiguous");
  }
  if (report.recomputed_ops > 0) {
    Row(out, "  recomputing", FormatSeconds(report.recomputed_seconds),
        std::to_string(report.recomputed_ops) + " forward operations, " +
            Fixed(report.recomputed_flops / 1e9, 2) + " GFLOP");
  }
}

void Breakdown(std::ostream& out, const Graph& graph, const PlanReport& report) {
  if (report.peak.op == layrub::kNone) return;
  const int64_t total = report.plan().device_bytes;
  out << "\nThe peak is at " << graph.ops[report.peak.op].name << ":\n";
  const auto part = [&](const std::string& name, int64_t bytes) {
    if (bytes == 0) return;
    const double share = static_cast<double>(bytes) / static_cast<double>(total);
    std::ostringstream note;
    note << std::setw(4) << Percent(share, 1);
    if (const auto bar = static_cast<size_t>(std::lround(40 * share)); bar > 0)
      note << "  " << std::string(bar, '#');
    Row(out, name, FormatBytes(bytes), note.str());
  };
  for (size_t role = 0; role < report.peak.by_role.size(); ++role)
    part(RoleText(static_cast<Role>(role)), report.peak.by_role[role]);
  part("unused", report.peak.unused);
}

/// The table of layers: sizes in one unit, times in ms.
class LayerTable {
 public:
  LayerTable(std::ostream* out, const std::vector<LayerCost>& layers)
      : out_(*out), layers_(layers) {
    for (const LayerCost& layer : layers_) total_ += layer;
    small_ = total_.bytes() < int64_t{10} << 20;
  }

  void Write(bool all) {
    if (total_.bytes() == 0) return;
    const std::vector<size_t> shown = Chosen(all);
    out_ << "\nLayers, " << (small_ ? "KiB" : "MiB")
         << " and ms of an iteration (added = exposed + recomputing):\n";
    Line("",
         {"kept", "aliased", "offloaded", "recomputed", "traffic", "hidden", "exposed", "added"});
    LayerCost rest = total_;
    for (const size_t i : shown) {
      Line(layers_[i].layer, Cells(layers_[i]));
      rest = Less(rest, layers_[i]);
    }
    if (const size_t more = layers_.size() - shown.size(); more > 0) {
      Line("... and " + std::to_string(more) + " more", Cells(rest));
    }
    Line("total", Cells(total_));
    if (shown.size() < CountWithCosts()) out_ << "  --all_layers shows them all.\n";
  }

 private:
  bool HasCosts(const LayerCost& cost) const { return cost.bytes() > 0 || cost.added() > 0; }
  size_t CountWithCosts() const {
    return std::count_if(layers_.begin(), layers_.end(),
                         [this](const LayerCost& cost) { return HasCosts(cost); });
  }

  /// The layers that matter most for memory and time, in the order of the net.
  std::vector<size_t> Chosen(bool all) const {
    std::vector<size_t> chosen;
    for (size_t i = 0; i < layers_.size(); ++i) {
      if (HasCosts(layers_[i])) chosen.push_back(i);
    }
    if (all || chosen.size() <= kLayerRows) return chosen;
    const auto weight = [this](size_t i) {
      const LayerCost& cost = layers_[i];
      return static_cast<double>(cost.bytes()) / static_cast<double>(total_.bytes()) +
             (total_.added() > 0 ? cost.added() / total_.added() : 0);
    };
    std::stable_sort(chosen.begin(), chosen.end(),
                     [&](size_t a, size_t b) { return weight(a) > weight(b); });
    chosen.resize(kLayerRows);
    std::sort(chosen.begin(), chosen.end());
    return chosen;
  }

  static LayerCost Less(LayerCost cost, LayerCost part) {
    for (int64_t LayerCost::*field : {&LayerCost::kept, &LayerCost::aliased, &LayerCost::offloaded,
                                      &LayerCost::recomputed, &LayerCost::traffic}) {
      part.*field = -(part.*field);
    }
    for (double LayerCost::*field : {&LayerCost::copying, &LayerCost::exposed, &LayerCost::again})
      part.*field = -(part.*field);
    return cost += part;
  }

  std::string Bytes(int64_t bytes) const {
    return bytes == 0 ? "-" : Fixed(static_cast<double>(bytes) / (small_ ? 1 << 10 : 1 << 20), 1);
  }
  std::string Ms(double seconds) const {
    const double most = total_.copying + total_.again;
    const int decimals = most < 1 ? 2 : most < 100 ? 1 : 0;
    const double ms = 1e3 * seconds;
    return ms < 0.5 * std::pow(10, -decimals) ? "-" : Fixed(ms, decimals);
  }
  std::vector<std::string> Cells(const LayerCost& cost) const {
    return {Bytes(cost.kept),    Bytes(cost.aliased), Bytes(cost.offloaded), Bytes(cost.recomputed),
            Bytes(cost.traffic), Ms(cost.hidden()),   Ms(cost.exposed),      Ms(cost.added())};
  }

  void Line(const std::string& name, const std::vector<std::string>& cells) {
    constexpr int kColumns[] = {9, 9, 10, 11, 9, 9, 9, 8};
    out_ << "  " << std::left << std::setw(kLayerName) << Shortened(name, kLayerName) << std::right;
    for (size_t i = 0; i < cells.size(); ++i) out_ << std::setw(kColumns[i]) << cells[i];
    out_ << "\n";
  }

  std::ostream& out_;
  const std::vector<LayerCost>& layers_;
  LayerCost total_;
  bool small_ = false;
};

std::string Flags(const std::string& strategy, int64_t bytes) {
  return "--placement=" + strategy + " --device_memory=" + std::to_string(bytes);
}

/// What would help if no plan of the strategy fits.
std::string AdviceToFit(const PlanReport& report) {
  const Alternative* fastest = nullptr;
  const Alternative* smallest = nullptr;
  for (const Alternative& other : report.alternatives) {
    if (other.seconds && (!fastest || *other.seconds < *fastest->seconds)) fastest = &other;
    if (other.smallest_bytes && (!smallest || *other.smallest_bytes < *smallest->smallest_bytes))
      smallest = &other;
  }
  if (fastest) {
    return "--placement=" + fastest->strategy + " fits, at " +
           Fixed(*fastest->seconds / report.keep_seconds, 2) + " x keep's time";
  }
  if (smallest && *smallest->smallest_bytes < report.smallest_bytes.value_or(kNoBudget))
    return Flags(smallest->strategy, *smallest->smallest_bytes) + " is the least of all strategies";
  const std::string budget = report.smallest_bytes
                                 ? "--device_memory=" + std::to_string(*report.smallest_bytes)
                                 : "--host_memory=" + std::to_string(report.plan().host_bytes);
  if (report.largest_batch.value_or(0) == 0) return budget + ", or a smaller batch or net";
  return budget + " or --batch=" + std::to_string(*report.largest_batch);
}

std::string AdviceToBeFaster(const PlanReport& report) {
  const Alternative* fastest = nullptr;
  for (const Alternative& other : report.alternatives) {
    if (other.seconds && (!fastest || *other.seconds < *fastest->seconds)) fastest = &other;
  }
  if (fastest && *fastest->seconds * kSameTime < report.seconds) {
    return "--placement=" + fastest->strategy + " fits too, and an iteration takes " +
           FormatSeconds(report.seconds - *fastest->seconds) + " less";
  }
  if (report.seconds > report.keep_seconds * kSameTime) {
    const int64_t capacity = report.options.machine.capacity;
    const bool possible = capacity == 0 || report.keep_budget_bytes <= capacity;
    return (possible ? Flags("keep", report.keep_budget_bytes)
                     : "nothing in this machine's memory: keep, which needs " +
                           FormatBytes(report.keep_budget_bytes) + ",") +
           " would save the " + FormatSeconds(report.seconds - report.keep_seconds) +
           " that this plan costs";
  }
  return "nothing: the plan is about as fast as keep";
}

std::string Readable(const PlanReport& report) {
  const size_t count = report.readable.size();
  if (static_cast<int>(count) == report.blobs)
    return "all " + std::to_string(report.blobs) + " blobs";
  std::string names;
  for (size_t i = 0; i < std::min(count, kReadableNames); ++i)
    names += (i == 0 ? "" : ", ") + report.readable[i];
  if (count > kReadableNames) names += " and " + std::to_string(count - kReadableNames) + " more";
  return (names.empty() ? "none" : names) + ", of " + std::to_string(report.blobs) +
         " blobs; placement { keep: \"NAME\" } adds one";
}

/// A note for machines with device memory of their own: a budget must hold more than the plans.
std::string BudgetNote(const PlanReport& report) {
  if (report.options.machine.capacity == 0) return "";
  return "; on a GPU add what its context and libraries take, which 'layrub train' says";
}

std::string SmallestBudget(const PlanReport& report) {
  if (report.smallest_not_searched)
    return "--smallest_budget looks for it; it takes as long as this plan did";
  if (!report.smallest_bytes)
    return std::string("none is known with this --host_memory") +
           (report.options.budget.spill > 0 ? " and --spill_memory" : "");
  return "--device_memory=" + std::to_string(*report.smallest_bytes) + " (" +
         FormatBytes(*report.smallest_bytes) + ")" + BudgetNote(report);
}

std::string LargestBatchText(const PlanReport& report) {
  if (report.batch_not_searched)
    return "--largest_batch looks for it; it takes many plans of this net";
  if (!report.largest_batch) return "the net's own: no --batch changes it";
  if (*report.largest_batch == 0) return "none: not even one item fits into the budget";
  return "--batch=" + std::to_string(*report.largest_batch) + " in this budget";
}

/// False if the net has parameters to train but no backward operations. True in the TEST phase, in
/// which there is nothing to train.
bool Trains(const Graph& graph) {
  const bool trained = std::any_of(graph.tensors.begin(), graph.tensors.end(), [](const auto& t) {
    return t.role == Role::kParameterGradient;
  });
  return !trained || std::any_of(graph.ops.begin(), graph.ops.end(),
                                 [](const auto& op) { return op.pass == layrub::Pass::kBackward; });
}

void Answers(std::ostream& out, const Graph& graph, const PlanReport& report) {
  const auto answer = [&out](const std::string& name, const std::string& text) {
    std::string line = "  " + name;
    line.resize(kAnswerColumn, ' ');
    out << line << Wrap(text, kAnswerColumn, kAnswerColumn) << "\n";
  };
  out << "\n";
  answer("smallest budget", SmallestBudget(report));
  if (report.limited() && !report.divided) answer("largest batch", LargestBatchText(report));
  if (!Trains(graph)) {
    answer("note",
           "this net has no loss, so training does not change it; --phase=TEST plans for "
           "inference");
  }
  answer("would help", report.fits.ok() ? AdviceToBeFaster(report) : AdviceToFit(report));
  answer("readable", Readable(report));
}

}  // namespace

std::string VerdictText(const PlanReport& report) {
  const std::string need =
      report.plan().strategy + " needs " + FormatBytes(report.nets.device_bytes);
  if (!report.fits.ok()) return "Does not fit: " + report.fits.message + ".";
  if (!report.limited()) return need + " device memory.";
  return "Fits: " + need + " of " + FormatBytes(report.options.budget.device) + " device memory.";
}

std::string ToText(const Graph& graph, const PlanReport& report, bool all_layers) {
  std::ostringstream out;
  out << Wrap(VerdictText(report), 0, 2) << "\n\n";
  if (!report.fits.ok())
    out << "The plan of " << report.plan().strategy << " that takes the least:\n";
  Summary(out, report);
  Breakdown(out, graph, report);
  LayerTable(&out, report.layers).Write(all_layers);
  Answers(out, graph, report);
  return out.str();
}

}  // namespace layrub_tool
