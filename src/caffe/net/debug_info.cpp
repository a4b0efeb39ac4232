#include "debug_info.hpp"

#include <cmath>

namespace caffe {

namespace {

/// Returns the index into Net::params of the first parameter of a layer. Parameters are in the
/// order of layers.
template <typename Dtype>
int FirstParam(const Net<Dtype>& net, int layer) {
  size_t first = 0;
  for (int i = 0; i < layer; ++i) first += net.layers()[i]->blobs().size();
  return static_cast<int>(first);
}

/// Returns the layer of the parameter with this index.
template <typename Dtype>
int LayerOfParam(const Net<Dtype>& net, int param) {
  size_t layer = 0, end = net.layers()[0]->blobs().size();
  while (static_cast<int>(end) <= param) end += net.layers()[++layer]->blobs().size();
  return static_cast<int>(layer);
}

template <typename Dtype>
Dtype MeanData(const Blob<Dtype>& blob) {
  return blob.count() ? blob.asum_data() / blob.count() : Dtype(0);
}

template <typename Dtype>
Dtype MeanDiff(const Blob<Dtype>& blob) {
  return blob.count() ? blob.asum_diff() / blob.count() : Dtype(0);
}

}  // namespace

template <typename Dtype>
void LogForward(const Net<Dtype>& net, int layer) {
  const string line = "    [Forward] Layer " + net.layer_names()[layer];
  for (const int top : net.top_ids(layer)) {
    LOG_IF(INFO, Caffe::root_solver()) << line << ", top blob " << net.blob_names()[top]
                                       << " data: " << MeanData(*net.blobs()[top]);
  }
  const int first = FirstParam(net, layer);
  for (size_t i = 0; i < net.layers()[layer]->blobs().size(); ++i) {
    LOG_IF(INFO, Caffe::root_solver())
        << line << ", param blob " << net.param_display_names()[first + i]
        << " data: " << MeanData(*net.params()[first + i]);
  }
}

template <typename Dtype>
void LogBackward(const Net<Dtype>& net, int layer) {
  const string line = "    [Backward] Layer " + net.layer_names()[layer];
  for (size_t i = 0; i < net.bottom_vecs()[layer].size(); ++i) {
    if (!net.bottom_need_backward()[layer][i]) continue;
    LOG_IF(INFO, Caffe::root_solver())
        << line << ", bottom blob " << net.blob_names()[net.bottom_ids(layer)[i]]
        << " diff: " << MeanDiff(*net.bottom_vecs()[layer][i]);
  }
  Layer<Dtype>& of = *net.layers()[layer];
  for (size_t i = 0; i < of.blobs().size(); ++i) {
    if (!of.param_propagate_down(static_cast<int>(i))) continue;
    LOG_IF(INFO, Caffe::root_solver())
        << line << ", param blob " << i << " diff: " << MeanDiff(*of.blobs()[i]);
  }
}

template <typename Dtype>
void LogUpdate(const Net<Dtype>& net, int param) {
  const string line = "    [Update] Layer " + net.layer_names()[LayerOfParam(net, param)];
  const Blob<Dtype>& blob = *net.params()[param];
  const int owner = net.param_owners()[param];
  const string& name = net.param_display_names()[param];
  if (owner < 0) {
    LOG_IF(INFO, Caffe::root_solver()) << line << ", param " << name << " data: " << MeanData(blob)
                                       << "; diff: " << MeanDiff(blob);
  } else {
    LOG_IF(INFO, Caffe::root_solver())
        << line << ", param blob " << name << " (owned by layer "
        << net.layer_names()[LayerOfParam(net, owner)] << ", param "
        << net.param_display_names()[owner] << ") diff: " << MeanDiff(blob);
  }
}

template <typename Dtype>
void LogNorms(const Net<Dtype>& net) {
  Dtype asum_data = 0, asum_diff = 0, sumsq_data = 0, sumsq_diff = 0;
  for (const Blob<Dtype>* param : net.learnable_params()) {
    asum_data += param->asum_data();
    asum_diff += param->asum_diff();
    sumsq_data += param->sumsq_data();
    sumsq_diff += param->sumsq_diff();
  }
  LOG(ERROR) << "    [Backward] All net params (data, diff): L1 norm = (" << asum_data << ", "
             << asum_diff << "); "
             << "L2 norm = (" << std::sqrt(sumsq_data) << ", " << std::sqrt(sumsq_diff) << ")";
}

#define INSTANTIATE(Dtype)                           \
  template void LogForward(const Net<Dtype>&, int);  \
  template void LogBackward(const Net<Dtype>&, int); \
  template void LogUpdate(const Net<Dtype>&, int);   \
  template void LogNorms(const Net<Dtype>&)
INSTANTIATE(float);
INSTANTIATE(double);
#undef INSTANTIATE

}  // namespace caffe
