#include "layrub/time_report.hpp"

#include <algorithm>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "layrub/base/bytes.hpp"
#include "layrub/json_text.hpp"
#include "layrub/number_text.hpp"

namespace layrub_tool {

namespace {

constexpr size_t kSlowest = 5;
/// Data are the bottleneck if the net waits for them for at least this part of an iteration.
/// Sources read in advance while the net computes.
constexpr double kBottleneck = 0.1;

std::string ImageRate(double rate) { return Fixed(rate, rate < 10 ? 1 : 0) + " images/s"; }

LayerTime Total(const std::vector<LayerTime>& layers) {
  LayerTime total;
  for (const LayerTime& layer : layers) {
    total.trained |= layer.trained;
    total.forward += layer.forward;
    total.backward += layer.backward;
    total.again += layer.again;
    total.hidden += layer.hidden;
    total.exposed += layer.exposed;
    total.flops += layer.flops;
    total.bytes += layer.bytes;
    total.workspace = std::max(total.workspace, layer.workspace);
  }
  return total;
}

/// `amount` per second of the layer, in 1e9/s; 0 if unknown. Amounts count what a plan would run.
/// In the TEST phase that excludes the backward pass, even if it was timed.
double Rate(double amount, const LayerTime& layer) {
  const double seconds = layer.forward + (layer.trained ? layer.backward : 0);
  return seconds > 0 ? amount / seconds / 1e9 : 0;
}

/// Seconds of the layers that wait for data.
double DataSeconds(const TimeReport& report) {
  double seconds = 0;
  for (const LayerTime& layer : report.layers) {
    if (layer.source) seconds += layer.forward;
  }
  return seconds;
}

/// The table of a report. Without a plan it has columns for rates and engines, with a plan for the
/// costs of the plan.
class Table {
 public:
  Table(std::ostream* out, const TimeReport& report) : out_(*out), report_(report) {
    total_ = Total(report.layers);
    total_.name = "total";
    seconds_ = total_.seconds() + Besides();
    decimals_ = seconds_ < 0.01 ? 3 : seconds_ < 10 ? 2 : 0;
  }

  void Write() {
    out_ << "Layers, ms of an iteration (" << (planned() ? "the median one of " : "the mean of ")
         << report_.iterations << (planned() ? ")" : "; workspace of the total: the largest)")
         << ":\n";
    Line("", "",
         planned()
             ? Cells{"forward", "backward", "again", "exposed", "time", "share", "hidden"}
             : Cells{"forward", "backward", "GFLOP/s", "GB/s", "share", "workspace", "  engine"});
    for (const LayerTime& layer : report_.layers) Row(layer, layer.seconds());
    if (planned()) {
      Besides("(updates)", report_.planned->updates);
      Besides("(moves)", report_.planned->moves);
    }
    Row(total_, seconds_);
  }

 private:
  using Cells = std::vector<std::string>;

  bool planned() const { return report_.planned.has_value(); }
  /// Seconds that belong to no layer.
  double Besides() const {
    return planned() ? report_.planned->updates + report_.planned->moves : 0;
  }
  std::string Ms(double seconds) const {
    return seconds == 0 ? "-" : Fixed(1e3 * seconds, decimals_);
  }
  static std::string RateText(double rate) {
    return rate == 0 ? "-" : Fixed(rate, rate < 10 ? 2 : rate < 1000 ? 1 : 0);
  }
  std::string Share(double seconds) const {
    return Fixed(seconds_ > 0 ? 100 * seconds / seconds_ : 0, 1) + " %";
  }

  void Row(const LayerTime& layer, double seconds) {
    const std::string backward = Ms(layer.backward);
    if (planned()) {
      Line(layer.name, layer.type,
           {Ms(layer.forward), backward, Ms(layer.again), Ms(layer.exposed), Ms(seconds),
            Share(seconds), Ms(layer.hidden)});
    } else {
      Line(layer.name, layer.type,
           {Ms(layer.forward), backward, RateText(Rate(layer.flops, layer)),
            RateText(Rate(layer.bytes, layer)), Share(seconds),
            layer.workspace > 0 ? layrub::FormatBytes(layer.workspace) : "-",
            layer.engine.empty() ? "" : "  " + layer.engine});
    }
  }

  void Besides(const std::string& name, double seconds) {
    if (seconds > 0) Line(name, "", {"", "", "", "", Ms(seconds), Share(seconds), ""});
  }

  void Line(const std::string& name, const std::string& type, const Cells& cells) {
    constexpr int kName = 21, kType = 16;
    constexpr int kPlanned[] = {9, 9, 8, 8, 9, 8, 8}, kDirect[] = {9, 9, 9, 8, 8, 10, 0};
    std::ostringstream line;
    line << "  " << std::left << std::setw(kName) << Shortened(name, kName - 1) << std::setw(kType)
         << Shortened(type, kType - 1) << std::right;
    for (size_t i = 0; i < cells.size(); ++i)
      line << std::setw(planned() ? kPlanned[i] : kDirect[i]) << cells[i];
    std::string text = line.str();
    text.erase(text.find_last_not_of(' ') + 1);
    out_ << text << "\n";
  }

  std::ostream& out_;
  const TimeReport& report_;
  LayerTime total_;
  double seconds_ = 0;
  int decimals_ = 0;
};

void PlannedPart(std::ostream& out, const TimeReport& report) {
  const PlannedTime& plan = *report.planned;
  out << "One iteration under " << plan.strategy << ": " << FormatSeconds(report.seconds)
      << " measured, " << FormatSeconds(plan.predicted) << " predicted by the model of machine "
      << plan.machine << ".\n"
      << "Device memory " << layrub::FormatBytes(plan.device_bytes) << " (keep "
      << layrub::FormatBytes(plan.keep_bytes) << "), host memory "
      << layrub::FormatBytes(plan.host_bytes);
  if (plan.spill_bytes > 0) out << ", spill file " << layrub::FormatBytes(plan.spill_bytes);
  out << ".\n";
  if (plan.stalled > 0) {
    out << "Operations waited " << FormatSeconds(plan.stalled) << " for copies, "
        << Percent(plan.stalled, report.seconds) << " of the iteration.\n";
  }
  out << "\n";
}

void Slowest(std::ostream& out, const TimeReport& report) {
  std::vector<const LayerTime*> layers;
  double total = 0;
  for (const LayerTime& layer : report.layers) {
    layers.push_back(&layer);
    total += layer.seconds();
  }
  const size_t count = std::min(kSlowest, layers.size());
  std::partial_sort(layers.begin(), layers.begin() + static_cast<std::ptrdiff_t>(count),
                    layers.end(),
                    [](const auto* a, const auto* b) { return a->seconds() > b->seconds(); });
  out << "Slowest:";
  for (size_t i = 0; i < count; ++i) {
    out << (i == 0 ? " " : ", ") << layers[i]->name << " (" << Percent(layers[i]->seconds(), total)
        << ")";
  }
  out << ".\n";
}

/// Images per second that the net would take from `source` if it never waited for data.
double TakenBySecond(const TimeReport& report, const LayerTime& source) {
  const double seconds = report.seconds - DataSeconds(report);
  return seconds > 0 ? static_cast<double>(source.images) / seconds : 0;
}

void Data(std::ostream& out, const TimeReport& report) {
  const double data = DataSeconds(report);
  double total = 0;
  for (const LayerTime& layer : report.layers) total += layer.seconds();
  if (data == 0) return;
  const bool bottleneck = data >= kBottleneck * total;
  out << "Data: " << FormatSeconds(data) << " of " << FormatSeconds(total) << " ("
      << Percent(data, total) << ") is waiting for data; "
      << (bottleneck ? "they are the bottleneck.\n" : "they are not the bottleneck.\n");
  bool slow = false;
  for (const LayerTime& layer : report.layers) {
    const double taken = TakenBySecond(report, layer);
    if (layer.loaded == 0 || taken == 0) continue;
    slow |= bottleneck && layer.loaded < taken;
    out << "Data: " << ImageRate(layer.loaded) << " decoded and transformed by "
        << Shortened(layer.name, 20) << "; the net takes " << ImageRate(taken) << ".\n";
  }
  if (slow) {
    out << "      Give the process more cores, put the data on a faster disk, or store images as "
           "small\n"
           "      as the net needs them (convert_imageset --resize_height=N --resize_width=N).\n";
  }
}

nlohmann::ordered_json OrNull(double value) {
  return value > 0 ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
}

}  // namespace

std::string ToText(const TimeReport& report) {
  std::ostringstream out;
  if (report.planned) PlannedPart(out, report);
  Table(&out, report).Write();
  out << "\n";
  Slowest(out, report);
  Data(out, report);
  return out.str();
}

std::string ToJson(const TimeReport& report) {
  nlohmann::ordered_json json = {{"net", report.net},
                                 {"iterations", report.iterations},
                                 {"seconds", report.seconds},
                                 {"data_seconds", DataSeconds(report)}};
  if (report.planned) {
    const PlannedTime& plan = *report.planned;
    json["strategy"] = plan.strategy;
    json["machine"] = plan.machine;
    json["predicted_seconds"] = plan.predicted;
    json["stalled_seconds"] = plan.stalled;
    json["update_seconds"] = plan.updates;
    json["move_seconds"] = plan.moves;
    json["device_peak_bytes"] = plan.device_bytes;
    json["keep_peak_bytes"] = plan.keep_bytes;
    json["host_peak_bytes"] = plan.host_bytes;
    json["spill_bytes"] = plan.spill_bytes;
  }
  json["layers"] = nlohmann::ordered_json::array();
  for (const LayerTime& layer : report.layers) {
    json["layers"].push_back({{"layer", layer.name},
                              {"type", layer.type},
                              {"forward_seconds", layer.forward},
                              {"backward_seconds", layer.backward},
                              {"flops", OrNull(layer.flops)},
                              {"bytes", OrNull(layer.bytes)},
                              {"workspace_bytes", layer.workspace},
                              {"engine", layer.engine}});
    if (layer.loaded > 0) {
      json["layers"].back()["loaded_images_per_second"] = layer.loaded;
      json["layers"].back()["taken_images_per_second"] = TakenBySecond(report, layer);
    }
    if (!report.planned) continue;
    json["layers"].back()["again_seconds"] = layer.again;
    json["layers"].back()["hidden_seconds"] = layer.hidden;
    json["layers"].back()["exposed_seconds"] = layer.exposed;
  }
  return JsonText(json);
}

}  // namespace layrub_tool
