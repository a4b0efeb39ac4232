#ifndef TOOLS_LAYRUB_TIME_REPORT_HPP_
#define TOOLS_LAYRUB_TIME_REPORT_HPP_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "caffe/net.hpp"
#include "layrub/placement/ir/graph.hpp"

namespace layrub_tool {

/// The times of one layer in an iteration. Times are seconds, sizes bytes; 0 if there is nothing to
/// time.
struct LayerTime {
  std::string name;
  std::string type;
  bool source =
      false;  ///< it has no bottoms and its tops are not parameters: its forward waits for data
  bool trained = false;  ///< `flops` and `bytes` include its backward
  // Of a source that loads batches in advance; else 0.
  int64_t images = 0;  ///< of a batch
  double loaded = 0;   ///< images that it loads per second of loading
  double forward = 0;
  double backward = 0;
  // Of a planned iteration.
  double again = 0;    ///< recomputing its forward
  double hidden = 0;   ///< copies of its tensors that overlap operations
  double exposed = 0;  ///< waits of operations for such copies
  // Of its operations: forward and, if it is trained, backward.
  double flops = 0;  ///< 0: unknown
  double bytes = 0;  ///< read and written; 0: unknown
  int64_t workspace = 0;
  std::string engine;  ///< the chosen algorithms, or else the device

  double seconds() const { return forward + backward + again + exposed; }
};

/// An iteration under a memory plan.
struct PlannedTime {
  std::string strategy;
  std::string machine;  ///< the machine that the prediction is for
  int64_t device_bytes = 0;
  int64_t host_bytes = 0;
  int64_t spill_bytes = 0;
  int64_t keep_bytes = 0;  ///< device bytes of strategy keep
  double predicted = 0;    ///< seconds of an iteration
  double stalled = 0;      ///< seconds in which operations waited for copies
  double updates = 0;      ///< seconds
  double moves = 0;        ///< seconds of copies within the device
};

/// The results of `layrub time`.
struct TimeReport {
  std::string net;
  int iterations = 0;
  double seconds = 0;  ///< of an iteration: the mean or, under a plan, the median
  std::vector<LayerTime> layers;
  std::optional<PlannedTime> planned;
};

/// An entry for each layer of `net`, with all times 0.
std::vector<LayerTime> LayersOf(const caffe::Net<float>& net);

/// Joins the entries of layers that are fused in `graph`, the graph of their net:
/// "bn1+scale1+relu1".
void JoinFused(const layrub::Graph& graph, std::vector<LayerTime>* layers);

/// For each operation of `graph`, the index of its layer in `layers`; layrub::kNone for updates.
/// Operations of a net inside a layer belong to that layer.
std::vector<int> LayersOfOperations(const layrub::Graph& graph,
                                    const std::vector<LayerTime>& layers);

/// Which variant of an operation ran, and with which of the variant's algorithms.
struct OperandChoice {
  int32_t variant = 0;
  int32_t algorithm = 0;
};

/// For each operation, the choice of a layer that runs without a plan.
std::vector<OperandChoice> DirectChoices(const layrub::Graph& graph);

/// Adds flops, bytes, workspaces and engines to `layers`.
void AddOperations(const layrub::Graph& graph, const std::vector<OperandChoice>& choices,
                   std::vector<LayerTime>* layers);

/// For people: a row for each layer, in the order of the net, then what takes longest.
std::string ToText(const TimeReport& report);
/// For programs: the keys are documented in docs/will-it-fit.md.
std::string ToJson(const TimeReport& report);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_TIME_REPORT_HPP_
