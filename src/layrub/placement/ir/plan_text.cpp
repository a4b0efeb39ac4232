#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "layrub/base/text.hpp"
#include "layrub/placement/ir/line_reader.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub {

namespace {

using placement::FindName;
using placement::FromDash;
using placement::kEnd;
using placement::LineReader;
using placement::OrDash;
using placement::ReadName;

constexpr char kPlanHeader[] = "layrub-plan 5";
constexpr int kStepKinds = 6;

void AppendStep(const Graph& graph, const Step& step, std::string* text) {
  const auto tensor = [&](TensorId t) { return " " + graph.tensors[t].name; };
  const auto tier = [&] { return " " + std::string(Name(step.tier)); };
  const auto bytes = [&] {
    if (IsWhole(graph, step)) return std::string();
    return " " + std::to_string(step.begin) + " " + std::to_string(step.end);
  };
  *text += Name(step.kind);
  switch (step.kind) {
    case StepKind::kAlloc:
      *text += tier() + tensor(step.tensor) + " " + std::to_string(step.offset) + bytes();
      break;
    case StepKind::kFree:
      *text += tier() + tensor(step.tensor) + bytes();
      break;
    case StepKind::kAlias:
      *text += tensor(step.tensor) + " on" + tensor(step.on);
      break;
    case StepKind::kCopy:
      *text += " " + std::string(Name(step.from)) + tier() + tensor(step.tensor);
      if (IsMove(step)) *text += " " + std::to_string(step.offset);
      *text += bytes();
      break;
    case StepKind::kRun:
      *text += " " + graph.ops[step.op].name + " variant=" + std::to_string(step.variant) +
               " algorithm=" + std::to_string(step.algorithm) +
               (step.recompute ? " recompute" : "");
      break;
    case StepKind::kWait:
      *text += std::string(" ") + Name(step.lane) + " for " + std::to_string(step.step);
      break;
  }
  *text += "\n";
}

class PlanReader {
 public:
  PlanReader(std::string_view text, const Graph& graph) : graph_(graph), reader_(text) {
    for (size_t t = 0; t < graph.tensors.size(); ++t) {
      tensors_.emplace(graph.tensors[t].name, static_cast<TensorId>(t));
    }
    for (size_t o = 0; o < graph.ops.size(); ++o) {
      ops_.emplace(graph.ops[o].name, static_cast<OpId>(o));
    }
  }

  Result<Plan> Run() {
    if (Status status = reader_.ReadHeader(kPlanHeader); !status.ok()) return status;
    while (reader_.Next()) {
      if (Status status = ReadRecord(); !status.ok()) return status;
    }
    if (Status status = reader_.Finish(); !status.ok()) return status;
    return std::move(plan_);
  }

 private:
  using Fields = std::vector<std::string_view>;

  Status ReadRecord() {
    const Fields& fields = reader_.fields();
    if (fields[0] == "strategy") return ReadName(reader_, &plan_.strategy);
    if (fields[0] == "device_bytes") return ReadBytes(&plan_.device_bytes);
    if (fields[0] == "host_bytes") return ReadBytes(&plan_.host_bytes);
    if (fields[0] == "spill_bytes") return ReadBytes(&plan_.spill_bytes);
    if (fields[0] == "pass_end") {
      bool ok = fields.size() == 4;
      for (size_t i = 0; ok && i < 3; ++i) ok = ParseNumber(fields[i + 1], &plan_.pass_end[i]);
      return ok ? Status::Ok() : reader_.Malformed("pass_end <step> <step> <step>");
    }
    if (fields[0] == "readable") {
      plan_.readable.assign(fields.size() - 1, kNone);
      for (size_t i = 1; i < fields.size(); ++i) {
        if (Status status = FindTensor(fields[i], &plan_.readable[i - 1]); !status.ok()) {
          return status;
        }
      }
      return Status::Ok();
    }
    if (fields[0] == "home") return ReadHome();
    return ReadStep();
  }

  Status ReadHome() {
    const Fields& fields = reader_.fields();
    Home home;
    if (fields.size() != 4 || !FindName(fields[2], kTiers, &home.tier) ||
        !ParseNumber(fields[3], &home.offset)) {
      return reader_.Malformed("home <tensor> <device|host|file> <offset>");
    }
    const Status status = FindTensor(fields[1], &home.tensor);
    plan_.homes.push_back(home);
    return status;
  }

  Status ReadBytes(int64_t* bytes) {
    const Fields& fields = reader_.fields();
    if (fields.size() == 2 && ParseNumber(fields[1], bytes) && *bytes >= 0) return Status::Ok();
    return reader_.Malformed(std::string(fields[0]) + " <bytes>");
  }

  Status ReadStep() {
    const Fields& fields = reader_.fields();
    int64_t number = -1;
    if (!ParseNumber(fields[0], &number)) {
      return reader_.Error("'" + std::string(fields[0]) + "' is not a record of a plan");
    }
    if (number != static_cast<int64_t>(plan_.steps.size())) {
      return reader_.Error("step " + std::to_string(plan_.steps.size()) +
                           " is expected here, not " + std::to_string(number));
    }
    Step step;
    if (fields.size() < 2 || !FindName(fields[1], kStepKinds, &step.kind)) {
      return reader_.Error("this is no kind of step");
    }
    if (Status status = ReadStep(&step); !status.ok()) return status;
    plan_.steps.push_back(step);
    return Status::Ok();
  }

  Status ReadStep(Step* step) {
    const Fields& fields = reader_.fields();
    switch (step->kind) {
      case StepKind::kAlloc:
        if (fields.size() < 5 || !FindName(fields[2], kTiers, &step->tier) ||
            !ParseNumber(fields[4], &step->offset)) {
          return reader_.Malformed(
              "<step> alloc <device|host|file> <tensor> <offset> [<begin> <end>]");
        }
        return ReadPiece(3, 5, step);
      case StepKind::kFree:
        if (fields.size() < 4 || !FindName(fields[2], kTiers, &step->tier))
          return reader_.Malformed("<step> free <device|host|file> <tensor> [<begin> <end>]");
        return ReadPiece(3, 4, step);
      case StepKind::kAlias:
        if (fields.size() != 5 || fields[3] != "on") {
          return reader_.Malformed("<step> alias <tensor> on <tensor>");
        }
        if (Status status = FindTensor(fields[2], &step->tensor); !status.ok()) return status;
        return FindTensor(fields[4], &step->on);
      case StepKind::kCopy:
        return ReadCopy(step);
      case StepKind::kRun:
        return ReadRun(step);
      case StepKind::kWait:
        if (fields.size() != 5 || !FindName(fields[2], kLanes, &step->lane) || fields[3] != "for" ||
            !ParseNumber(fields[4], &step->step)) {
          return reader_.Malformed("<step> wait <compute|save|load|spill|fetch> for <step>");
        }
        return Status::Ok();
    }
    return Status::Ok();
  }

  Status ReadCopy(Step* step) {
    const Fields& fields = reader_.fields();
    const auto malformed = [this] {
      return reader_.Malformed(
          "<step> copy <device|host|file> <device|host|file> <tensor> [<offset>, within the "
          "device] "
          "[<begin> <end>]");
    };
    if (fields.size() < 5 || !FindName(fields[2], kTiers, &step->from) ||
        !FindName(fields[3], kTiers, &step->tier)) {
      return malformed();
    }
    if (step->from != Tier::kDevice && step->tier != Tier::kDevice)
      return reader_.Error("a copy begins or ends on the device");
    if (IsMove(*step) && (fields.size() < 6 || !ParseNumber(fields[5], &step->offset)))
      return malformed();
    if (IsOffload(*step)) step->lane = OffloadLane(step->tier);
    if (IsPrefetch(*step)) step->lane = PrefetchLane(step->from);
    return ReadPiece(4, IsMove(*step) ? 6 : 5, step);
  }

  Status ReadRun(Step* step) {
    const Fields& fields = reader_.fields();
    step->recompute = fields.size() == 6 && fields[5] == "recompute";
    if (fields.size() != (step->recompute ? 6 : 5) ||
        !ParseChoice(fields[3], "variant=", &step->variant) ||
        !ParseChoice(fields[4], "algorithm=", &step->algorithm)) {
      return reader_.Malformed("<step> run <operation> variant=<n> algorithm=<n> [recompute]");
    }
    if (Status status = FindOp(fields[2], step); !status.ok()) return status;
    if (graph_.ops[step->op].kind == OpKind::kFeed) step->lane = Lane::kLoad;
    return CheckVariant(*step);
  }

  /// Reads the tensor named by field number `name`, and its bytes from the two fields from `bytes`
  /// on. Without these two fields, the step is about the whole tensor.
  Status ReadPiece(size_t name, size_t bytes, Step* step) const {
    const Fields& fields = reader_.fields();
    if (Status status = FindTensor(fields[name], &step->tensor); !status.ok()) return status;
    const int64_t all = graph_.tensors[step->tensor].bytes;
    step->end = all;
    if (fields.size() == bytes) return Status::Ok();
    if (fields.size() != bytes + 2 || !ParseNumber(fields[bytes], &step->begin) ||
        !ParseNumber(fields[bytes + 1], &step->end)) {
      return reader_.Malformed("... <tensor> ... [<begin> <end>]");
    }
    if (step->begin >= 0 && step->begin < step->end && step->end <= all) return Status::Ok();
    return reader_.Error("tensor " + std::string(fields[name]) + " has no bytes " +
                         std::string(fields[bytes]) + " to " + std::string(fields[bytes + 1]) +
                         ", it has " + std::to_string(all));
  }

  static bool ParseChoice(std::string_view field, std::string_view key, int32_t* value) {
    return field.substr(0, key.size()) == key && ParseNumber(field.substr(key.size()), value) &&
           *value >= 0;
  }

  Status CheckVariant(const Step& step) const {
    const Op& op = graph_.ops[step.op];
    if (step.variant >= static_cast<int32_t>(op.variants.size())) {
      return reader_.Error("operation " + op.name + " has no variant " +
                           std::to_string(step.variant));
    }
    const auto algorithms = static_cast<int32_t>(op.variants[step.variant].algorithms.size());
    if (step.algorithm >= std::max(algorithms, 1)) {
      return reader_.Error("operation " + op.name + " has no algorithm " +
                           std::to_string(step.algorithm));
    }
    return Status::Ok();
  }

  Status FindTensor(std::string_view name, TensorId* id) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) {
      return reader_.Error("the graph has no tensor '" + std::string(name) + "'");
    }
    *id = found->second;
    return Status::Ok();
  }

  Status FindOp(std::string_view name, Step* step) const {
    const auto found = ops_.find(name);
    if (found == ops_.end()) {
      return reader_.Error("the graph has no operation '" + std::string(name) + "'");
    }
    step->op = found->second;
    return Status::Ok();
  }

  const Graph& graph_;
  LineReader reader_;
  Plan plan_;
  std::unordered_map<std::string_view, TensorId> tensors_;
  std::unordered_map<std::string_view, OpId> ops_;
};

}  // namespace

std::string ToText(const Plan& plan, const Graph& graph) {
  std::string text = std::string(kPlanHeader) + "\nstrategy ";
  text += OrDash(plan.strategy);
  text += "\ndevice_bytes " + std::to_string(plan.device_bytes) + "\nhost_bytes " +
          std::to_string(plan.host_bytes) + "\nspill_bytes " + std::to_string(plan.spill_bytes) +
          "\npass_end";
  for (const int32_t end : plan.pass_end) text += " " + std::to_string(end);
  text += "\nreadable";
  for (const TensorId t : plan.readable) text += " " + graph.tensors[t].name;
  text += "\n";
  for (const Home& home : plan.homes) {
    text += "home " + graph.tensors[home.tensor].name + " " + Name(home.tier) + " " +
            std::to_string(home.offset) + "\n";
  }
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    text += std::to_string(i) + " ";
    AppendStep(graph, plan.steps[i], &text);
  }
  text.append(kEnd) += "\n";
  return text;
}

Result<Plan> PlanFromText(const std::string& text, const Graph& graph) {
  return PlanReader(text, graph).Run();
}

}  // namespace layrub
