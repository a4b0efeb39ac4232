#ifndef CAFFE_LAYERS_RECURRENT_UNROLLED_NET_HPP_
#define CAFFE_LAYERS_RECURRENT_UNROLLED_NET_HPP_

#include <string>
#include <vector>

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// Writes the unrolled nets of recurrent layers (RecurrentLayer::FillUnrolledNet) layer by layer.
/// The blob of step t is named <name>_t, for t = 1 .. steps; step 0 is the state before the first.
class UnrolledNet {
 public:
  UnrolledNet(const RecurrentParameter& param, int steps, NetParameter* net)
      : param_(param), steps_(steps), net_(net) {}

  LayerParameter* Add(const string& type, const string& name, const vector<string>& bottoms,
                      const vector<string>& tops);
  /// Adds a learned linear map of the axes from `axis` on, without bias if `bias` is empty.
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
  /// Adds `top`, the blobs <part>_1 .. <part>_steps joined.
  void AddJoined(const string& part, const string& top);

 private:
  vector<string> Steps(const string& name) const;

  const RecurrentParameter& param_;
  const int steps_;
  NetParameter* const net_;
};

/// "h", 3 -> "h_3"
inline string AtStep(const string& name, int t) { return name + "_" + std::to_string(t); }

}  // namespace caffe

#endif  // CAFFE_LAYERS_RECURRENT_UNROLLED_NET_HPP_
