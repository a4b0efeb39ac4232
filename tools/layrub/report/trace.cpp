#include "layrub/report/trace.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "layrub/placement/cost/layer_costs.hpp"
#include "layrub/placement/cost/occupancy.hpp"

namespace layrub_tool {

using layrub::Graph;
using layrub::Lane;
using layrub::Op;
using layrub::OpKind;
using layrub::Plan;
using layrub::Span;
using layrub::Step;
using layrub::TensorId;
using layrub::Timeline;
using nlohmann::ordered_json;

namespace {

constexpr const char* kThreads[] = {"compute", "save", "load", "data", "spill", "fetch"};
constexpr int kData = 3;
constexpr int kWithoutFile = 4;  ///< number of threads without a spill file

int ThreadOf(Lane lane) {
  const auto number = static_cast<int>(lane);
  return number < kData ? number : number + 1;
}

/// The format counts microseconds; nanoseconds are kept as decimals. Times are rounded before they
/// are subtracted, so that an event which follows another without a pause does so in the trace,
/// too.
int64_t Nanoseconds(double seconds) { return std::llround(seconds * 1e9); }
double Microseconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1000; }

class Trace {
 public:
  Trace(const Graph& graph, const Plan& plan)
      : graph_(graph),
        plan_(plan),
        device_(Occupancy(graph, plan, layrub::Tier::kDevice)),
        host_(Occupancy(graph, plan, layrub::Tier::kHost)),
        file_(Occupancy(graph, plan, layrub::Tier::kFile)),
        makers_(graph.tensors.size(), layrub::kNone) {
    for (const auto list : {&layrub::Variant::writes, &layrub::Variant::reads}) {
      for (size_t op = 0; op < graph.ops.size(); ++op) {
        if (graph.ops[op].kind == OpKind::kUpdate) continue;
        for (const layrub::Variant& variant : graph.ops[op].variants) {
          for (const TensorId t : variant.*list) {
            if (makers_[t] == layrub::kNone) makers_[t] = static_cast<layrub::OpId>(op);
          }
        }
      }
    }
  }

  void Add(const std::string& process, const Timeline& timeline) {
    ++process_;
    AddName("process_name", 0, process);
    const bool spills = plan_.spill_bytes > 0;
    const int threads = spills ? static_cast<int>(std::size(kThreads)) : kWithoutFile;
    for (int thread = 0; thread < threads; ++thread)
      AddName("thread_name", thread, kThreads[thread]);
    int64_t device = -1, host = -1, file = spills ? -1 : 0;
    for (const Span& span : timeline.spans) {
      AddSpan(span);
      // Allocations take no time. They are counted from the next step of the compute lane on.
      if (span.lane != Lane::kCompute) continue;
      AddCounter("device bytes", span.begin, device_[span.step], &device);
      AddCounter("host bytes", span.begin, host_[span.step], &host);
      AddCounter("file bytes", span.begin, file_[span.step], &file);
    }
    if (plan_.steps.empty()) return;
    AddCounter("device bytes", timeline.seconds, device_.back(), &device);
    AddCounter("host bytes", timeline.seconds, host_.back(), &host);
    AddCounter("file bytes", timeline.seconds, file_.back(), &file);
  }

  std::string Text() && {
    const ordered_json trace = {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events_)}};
    return trace.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
  }

 private:
  void AddName(const char* what, int thread, const std::string& name) {
    events_.push_back({{"ph", "M"},
                       {"name", what},
                       {"pid", process_},
                       {"tid", thread + 1},
                       {"args", {{"name", name}}}});
  }

  void AddSpan(const Span& span) {
    const Step& step = plan_.steps[span.step];
    const bool feed = IsRun(graph_, step, layrub::OpKind::kFeed);
    const int thread = feed ? kData : ThreadOf(span.lane);
    const int64_t begin = Nanoseconds(span.begin);
    ordered_json event = {{"ph", "X"}, {"name", ""}, {"cat", Verb(graph_, step)}};
    ordered_json args;
    if (step.op != layrub::kNone) {
      const Op& op = graph_.ops[step.op];
      const layrub::Variant& variant = op.variants[step.variant];
      event["name"] = op.name;
      args = {{"layer", LayerOf(op)},
              {"bytes", feed ? layrub::CopiedBytes(graph_, step)
                             : static_cast<int64_t>(variant.bytes_moved)},
              {"step", span.step},
              {"variant", layrub::MeasuredName(variant, step.algorithm)}};
    } else {
      const layrub::OpId maker = makers_[step.tensor];
      event["name"] = graph_.tensors[step.tensor].name;
      args = {{"layer", maker == layrub::kNone ? "" : LayerOf(graph_.ops[maker])},
              {"bytes", IsMove(step) ? step.end - step.begin : layrub::CopiedBytes(graph_, step)},
              {"step", span.step}};
    }
    event["pid"] = process_;
    event["tid"] = thread + 1;
    event["ts"] = Microseconds(begin);
    event["dur"] = Microseconds(Nanoseconds(span.end) - begin);
    event["args"] = std::move(args);
    events_.push_back(std::move(event));
  }

  /// Adds a counter event unless the value is still `last`.
  void AddCounter(const char* name, double seconds, int64_t bytes, int64_t* last) {
    if (std::exchange(*last, bytes) == bytes) return;
    events_.push_back({{"ph", "C"},
                       {"name", name},
                       {"pid", process_},
                       {"ts", Microseconds(Nanoseconds(seconds))},
                       {"args", {{"value", bytes}}}});
  }

  const Graph& graph_;
  const Plan& plan_;
  const std::vector<int64_t> device_, host_, file_;  ///< live bytes, by step
  /// By tensor: the first operation that writes it, or that reads it if none does.
  std::vector<layrub::OpId> makers_;
  ordered_json events_ = ordered_json::array();
  int process_ = 0;
};

}  // namespace

std::string TraceJson(const Graph& graph, const Plan& plan, const Timeline& predicted,
                      const Timeline* measured) {
  Trace trace(graph, plan);
  trace.Add("predicted", predicted);
  if (measured != nullptr) trace.Add("measured", *measured);
  return std::move(trace).Text();
}

}  // namespace layrub_tool
