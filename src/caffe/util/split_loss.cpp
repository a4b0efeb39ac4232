#include "caffe/util/split_loss.hpp"

namespace caffe {

string LossesOf(const LayerParameter& loss) { return loss.top(0) + "/losses"; }

vector<LayerParameter> SplitLoss(const LayerParameter& loss) {
  if (loss.type() != "SoftmaxWithLoss" || loss.top_size() != 1) return {};
  LayerParameter losses = loss, total = loss;
  losses.set_type("SoftmaxLosses");
  losses.clear_loss_weight();
  losses.set_top(0, LossesOf(loss));
  total.set_type("LossTotal");
  total.set_name(loss.name() + "/total");
  total.set_bottom(0, LossesOf(loss));
  if (!loss.loss_param().has_ignore_label()) total.mutable_bottom()->RemoveLast();
  if (total.propagate_down_size() > total.bottom_size())
    total.mutable_propagate_down()->Truncate(total.bottom_size());
  return {losses, total};
}

void SplitLosses(NetParameter* net) {
  NetParameter split;
  split.CopyFrom(*net);
  split.clear_layer();
  for (const LayerParameter& layer : net->layer()) {
    const vector<LayerParameter> layers = SplitLoss(layer);
    if (layers.empty()) *split.add_layer() = layer;
    for (const LayerParameter& part : layers) *split.add_layer() = part;
  }
  net->Swap(&split);
}

}  // namespace caffe
