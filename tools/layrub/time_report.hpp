#ifndef TOOLS_LAYRUB_TIME_REPORT_HPP_
#define TOOLS_LAYRUB_TIME_REPORT_HPP_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "caffe/net.hpp"
#include "layrub/placement/ir/graph.hpp"

namespace layrub_tool {

/// How one layer spends an iteration. Times are seconds, sizes bytes; what happens not is 0.
struct LayerTime {
  std::string name;
  std::string type;
  bool source =
      false;  ///< it has no bottoms, and its tops are no parameters: its forward waits for data
  bool trained = false;  ///< `flops` and `bytes` have its backward, too
  // Of a source that loads batches ahead; 0 of any other layer.
  int64_t images = 0;  ///< of a batch
  double loaded = 0;   ///< images that it loads in a second while it loads
  double forward = 0;
  double backward = 0;
  // Of a planned iteration.
  double again = 0;    ///< running its forward again
  double hidden = 0;   ///< copies of what it makes, beside operations
  double exposed = 0;  ///< waiting for such copies
  // Of its operations: forward and, if it is trained, backward.
  double flops = 0;  ///< 0: unknown
  double bytes = 0;  ///< read and written; 0: unknown
  int64_t workspace = 0;
  std::string engine;  ///< the algorithms that were chosen, else the device

  double seconds() const { return forward + backward + again + exposed; }
};

/// An iteration under a memory plan.
struct PlannedTime {
  std::string strategy;
  std::string machine;  ///< by whose model the prediction is
  int64_t device_bytes = 0;
  int64_t host_bytes = 0;
  int64_t spill_bytes = 0;
  int64_t keep_bytes = 0;  ///< device bytes of strategy keep
  double predicted = 0;    ///< seconds of an iteration
  double stalled = 0;      ///< seconds in which operations waited for copies
  double updates = 0;      ///< seconds
  double moves = 0;        ///< seconds of copies within the device
};

/// What `layrub time` has found out.
struct TimeReport {
  std::string net;
  int iterations = 0;
  double seconds = 0;  ///< of an iteration: the mean or, of planned ones, the median
  std::vector<LayerTime> layers;
  std::optional<PlannedTime> planned;
};

/// An entry for each layer of `net`, without times of an iteration.
std::vector<LayerTime> LayersOf(const caffe::Net<float>& net);

/// Makes one entry of layers that run fused in `graph`, the net's: "bn1+scale1+relu1".
void JoinFused(const layrub::Graph& graph, std::vector<LayerTime>* layers);

/// By operation of `graph`, a net's: the index of its layer in `layers`; layrub::kNone for updates.
/// Operations of nets inside a layer are that layer's.
std::vector<int> LayersOfOperations(const layrub::Graph& graph,
                                    const std::vector<LayerTime>& layers);

/// How an operation ran: in which of its forms, with which of the form's workspaces.
struct OperandChoice {
  int32_t form = 0;
  int32_t scratch = 0;
};

/// What a layer called without a plan chooses, by operation.
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
