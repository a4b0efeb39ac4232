#include "caffe/layer_check.hpp"

#include <map>
#include <utility>

#include "caffe/proto/caffe.pb.h"

namespace caffe {

namespace {

std::map<string, LayerCheck>& Checks() {
  static std::map<string, LayerCheck> checks;
  return checks;
}

}  // namespace

void SetLayerCheck(const string& type, LayerCheck check) { Checks()[type] = std::move(check); }

bool HasLayerCheck(const string& type) { return Checks().count(type) > 0; }

string LayerProblem(const LayerParameter& layer) {
  const auto found = Checks().find(layer.type());
  return found == Checks().end() ? "" : found->second(layer);
}

}  // namespace caffe
