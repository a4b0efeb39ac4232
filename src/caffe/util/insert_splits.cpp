#include "caffe/util/insert_splits.hpp"

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

namespace caffe {

namespace {

// A top: which layer, which of its tops.
typedef std::pair<int, int> TopIndex;

// Which top each bottom reads, and how often each top is read.
struct Readers {
  std::map<TopIndex, TopIndex> writer_of_bottom;  // (layer, bottom) -> top
  std::map<TopIndex, int> readers_of_top;
};

float LossWeight(const LayerParameter& layer, int top) {
  return top < layer.loss_weight_size() ? layer.loss_weight(top) : 0;
}

bool LossFree(const LayerParameter& layer) {
  return std::all_of(layer.loss_weight().begin(), layer.loss_weight().end(),
                     [](float weight) { return weight == 0; });
}

// Such a layer has a default loss_weight of 1.
bool IsLoss(const LayerParameter& layer) {
  const string& type = layer.type();
  return type.size() >= 4 && type.compare(type.size() - 4, 4, "Loss") == 0;
}

Readers FindReaders(const NetParameter& net) {
  Readers result;
  std::map<string, TopIndex> last_writer;
  for (int i = 0; i < net.layer_size(); ++i) {
    const LayerParameter& layer = net.layer(i);
    for (int j = 0; j < layer.bottom_size(); ++j) {
      const auto writer = last_writer.find(layer.bottom(j));
      if (writer == last_writer.end()) {
        LOG(FATAL) << "Unknown bottom blob '" << layer.bottom(j) << "' (layer '" << layer.name()
                   << "', bottom index " << j << ")";
      }
      result.writer_of_bottom[{i, j}] = writer->second;
      ++result.readers_of_top[writer->second];
    }
    for (int j = 0; j < layer.top_size(); ++j) {
      last_writer[layer.top(j)] = {i, j};
      if (LossWeight(layer, j) != 0) ++result.readers_of_top[{i, j}];
    }
  }
  return result;
}

}  // namespace

void InsertSplits(const NetParameter& param, NetParameter* param_split) {
  Readers readers = FindReaders(param);
  std::map<TopIndex, int> next_split;  // number of a top's copies already assigned
  param_split->CopyFrom(param);
  param_split->clear_layer();
  for (int i = 0; i < param.layer_size(); ++i) {
    const LayerParameter& original = param.layer(i);
    LayerParameter* layer = param_split->add_layer();
    layer->CopyFrom(original);
    for (int j = 0; j < layer->bottom_size(); ++j) {
      const TopIndex top = readers.writer_of_bottom[{i, j}];
      if (readers.readers_of_top[top] > 1) {
        const string& writer = param.layer(top.first).name();
        layer->set_bottom(j,
                          SplitBlobName(writer, layer->bottom(j), top.second, next_split[top]++));
      }
    }
    bool taken = false;  // a Split layer has taken over a loss of this layer
    for (int j = 0; j < original.top_size(); ++j) {
      const int count = readers.readers_of_top[{i, j}];
      if (count <= 1) continue;
      const float loss_weight = LossWeight(original, j);
      ConfigureSplitLayer(original.name(), original.top(j), j, count, loss_weight,
                          param_split->add_layer());
      if (loss_weight != 0) {
        layer->set_loss_weight(j, 0);
        taken = true;
        next_split[{i, j}] = 1;
      }
    }
    if (taken && !IsLoss(*layer) && LossFree(*layer)) layer->clear_loss_weight();
  }
}

void ConfigureSplitLayer(const string& layer_name, const string& blob_name, const int blob_idx,
                         const int split_count, const float loss_weight,
                         LayerParameter* split_layer_param) {
  split_layer_param->Clear();
  split_layer_param->add_bottom(blob_name);
  split_layer_param->set_name(SplitLayerName(layer_name, blob_name, blob_idx));
  split_layer_param->set_type("Split");
  for (int k = 0; k < split_count; ++k) {
    split_layer_param->add_top(SplitBlobName(layer_name, blob_name, blob_idx, k));
    if (loss_weight != 0) split_layer_param->add_loss_weight(k == 0 ? loss_weight : 0);
  }
}

string SplitLayerName(const string& layer_name, const string& blob_name, const int blob_idx) {
  std::ostringstream name;
  name << blob_name << "_" << layer_name << "_" << blob_idx << "_split";
  return name.str();
}

string SplitBlobName(const string& layer_name, const string& blob_name, const int blob_idx,
                     const int split_idx) {
  std::ostringstream name;
  name << SplitLayerName(layer_name, blob_name, blob_idx) << "_" << split_idx;
  return name.str();
}

}  // namespace caffe
