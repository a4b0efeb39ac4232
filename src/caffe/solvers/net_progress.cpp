#include "net_progress.hpp"

#include <set>
#include <utility>

namespace caffe {

namespace {

/// Returns an empty message if the layer saves nothing.
template <typename Dtype>
LayerProgress ProgressOf(const Layer<Dtype>& layer) {
  LayerProgress progress;
  layer.SaveProgress(&progress);
  return progress;
}

bool IsEmpty(const LayerProgress& progress) { return progress.ByteSizeLong() == 0; }

}  // namespace

template <typename Dtype>
NetProgress ProgressOf(const Net<Dtype>& net) {
  NetProgress progress;
  for (size_t i = 0; i < net.layers().size(); ++i) {
    LayerProgress of_layer = ProgressOf(*net.layers()[i]);
    if (IsEmpty(of_layer)) continue;
    of_layer.set_layer(net.layer_names()[i]);
    *progress.add_layer() = std::move(of_layer);
  }
  return progress;
}

template <typename Dtype>
void RestoreProgress(const NetProgress& progress, const string& what, Net<Dtype>* net) {
  const bool logs = Caffe::root_solver();
  set<string> known;
  for (const LayerProgress& saved : progress.layer()) {
    known.insert(saved.layer());
    if (!net->has_layer(saved.layer())) {
      LOG_IF(WARNING, logs) << what << "the net no longer has layer '" << saved.layer()
                            << "': its saved state is ignored.";
    } else if (!net->layer_by_name(saved.layer())->RestoreProgress(saved)) {
      LOG_IF(WARNING, logs) << what << "the saved state does not fit layer '" << saved.layer()
                            << "': it starts from the beginning.";
    }
  }
  for (size_t i = 0; i < net->layers().size(); ++i) {
    const string& name = net->layer_names()[i];
    if (known.count(name) > 0 || IsEmpty(ProgressOf(*net->layers()[i]))) continue;
    LOG_IF(WARNING, logs) << what << "there is no saved state of layer '" << name
                          << "': it starts from the beginning.";
  }
}

template NetProgress ProgressOf(const Net<float>&);
template NetProgress ProgressOf(const Net<double>&);
template void RestoreProgress(const NetProgress&, const string&, Net<float>*);
template void RestoreProgress(const NetProgress&, const string&, Net<double>*);

}  // namespace caffe
