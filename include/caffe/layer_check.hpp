#ifndef CAFFE_LAYER_CHECK_HPP_
#define CAFFE_LAYER_CHECK_HPP_

#include <functional>

#include "caffe/common.hpp"

namespace caffe {

class LayerParameter;

/// Says why a layer of a registered type cannot be made, as that its class is not there, in a
/// sentence with the layer's name; "" where it can.
using LayerCheck = std::function<string(const LayerParameter& layer)>;

/// For layers of `type`; at most one for each type, set before main.
void SetLayerCheck(const string& type, LayerCheck check);

/// Whether layers of `type` need more than that it is registered.
bool HasLayerCheck(const string& type);

/// What the check of the layer's type says; "" without one.
string LayerProblem(const LayerParameter& layer);

}  // namespace caffe

#endif  // CAFFE_LAYER_CHECK_HPP_
