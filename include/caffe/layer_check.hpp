#ifndef CAFFE_LAYER_CHECK_HPP_
#define CAFFE_LAYER_CHECK_HPP_

#include <functional>

#include "caffe/common.hpp"

namespace caffe {

class LayerParameter;

/// Returns a sentence, with the layer's name, that says why a layer of a registered type cannot be
/// made (its Python class is missing, for example), or "" if it can.
using LayerCheck = std::function<string(const LayerParameter& layer)>;

/// Sets the check for layers of `type`: at most one for each type, before main.
void SetLayerCheck(const string& type, LayerCheck check);

/// Whether layers of `type` have a check.
bool HasLayerCheck(const string& type);

/// The result of the check for the layer's type, or "" if it has none.
string LayerProblem(const LayerParameter& layer);

}  // namespace caffe

#endif  // CAFFE_LAYER_CHECK_HPP_
