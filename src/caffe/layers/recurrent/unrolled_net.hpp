#ifndef CAFFE_LAYERS_RECURRENT_UNROLLED_NET_HPP_
#define CAFFE_LAYERS_RECURRENT_UNROLLED_NET_HPP_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/util/layout_proto.hpp"
#include "layrub/partition/layout.hpp"

namespace caffe {

/// Writes the unrolled nets of recurrent layers (RecurrentLayer::FillUnrolledNet) layer by layer.
/// The blob of step t is named <name>_t, for t = 1 .. steps; step 0 is the state before the first.
/// If the units of the layer are divided among devices, each device's net has some of them.
class UnrolledNet {
 public:
  UnrolledNet(const LayerParameter& layer, int steps, NetParameter* net)
      : layer_(layer), steps_(steps), net_(net), state_(StateLayout(layer)) {}

  LayerParameter* Add(const string& type, const string& name, const vector<string>& bottoms,
                      const vector<string>& tops);
  /// Adds a learned linear map of the axes from `axis` on, without bias if `bias` is empty. The
  /// parameters are blobs of the recurrent layer, in the order in which they are first named.
  void AddProduct(const string& name, const string& bottom, const string& top, int axis,
                  int outputs, const string& weights, const string& bias = "");
  /// Adds the states before the first step, one Input top for each of `names`.
  void AddStates(const vector<string>& names, const vector<BlobShape>& shapes);
  /// Adds the indicators of each step, cont_t, and its input, <weights>_x_t: the bottom x times
  /// `weights`, plus `bias`. One product computes the inputs of all steps. With a static input,
  /// also adds <weights>_x_static: 1 x N x outputs.
  void AddInputs(const string& weights, const string& bias, int outputs, bool static_input);
  /// Adds `top`, the sum of the inputs of step `t`: its input, the static input, and the hidden
  /// values h_(t-1) times `weights`, which are zero where a sequence begins.
  void AddStepInput(int t, const string& input_weights, const string& weights, int outputs,
                    bool static_input, const string& top);
  /// Adds `top`, the blobs `parts` joined along the steps.
  void AddJoined(const vector<string>& parts, const string& top);
  /// Returns the name of a blob with all units of `blob`, which is 1 x N x num_output. Adds an
  /// exchange with the other devices if that is needed and not there yet.
  string Whole(const string& blob);
  /// <name>_1 .. <name>_steps
  vector<string> Steps(const string& name) const;
  /// As Steps, but blobs with all units.
  vector<string> WholeSteps(const string& name);

 private:
  void AddParam(const string& name, LayerParameter* product);

  const LayerParameter& layer_;
  const int steps_;
  NetParameter* const net_;
  const layrub::Layout state_;
  std::map<string, int> params_;  ///< by name: the index of the recurrent layer's blob
  std::set<string> whole_;        ///< blobs that have been exchanged
};

/// "h", 3 -> "h_3"
inline string AtStep(const string& name, int t) { return name + "_" + std::to_string(t); }

}  // namespace caffe

#endif  // CAFFE_LAYERS_RECURRENT_UNROLLED_NET_HPP_
