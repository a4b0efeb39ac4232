#include "not_finite.hpp"

#include <algorithm>
#include <cmath>

#include "caffe/planned_net.hpp"

namespace caffe {

template <typename Dtype>
string FirstNotFinite(const Net<Dtype>& net, bool in_blobs) {
  const PlannedNet<Dtype>* const planned = net.planned();
  const auto spoilt = [&](const Blob<Dtype>& blob) {
    const SyncedMemory* const memory = blob.data().get();
    if (!memory || (memory->binding() && !(planned && planned->Holds(*memory)))) return false;
    const Dtype* const values = blob.cpu_data();
    return !std::all_of(values, values + blob.count(), [](Dtype v) { return std::isfinite(v); });
  };
  for (size_t i = 0; i < net.layers().size(); ++i) {
    const auto& params = net.layers()[i]->blobs();
    for (size_t j = 0; j < params.size(); ++j) {
      if (spoilt(*params[j]))
        return "parameter " + std::to_string(j) + " of layer " + net.layer_names()[i];
    }
    if (!in_blobs) continue;
    for (const int top : net.top_ids(static_cast<int>(i))) {
      if (spoilt(*net.blobs()[top])) return "blob " + net.blob_names()[top];
    }
  }
  return "";
}

void StopAsNotFinite(int iteration, const string& what, const string& last_snapshot) {
  LOG(FATAL) << "Iteration " << iteration << ": " << what << ". Training stops because "
             << "stop_on_nan is set. " << last_snapshot;
}

template string FirstNotFinite(const Net<float>&, bool);
template string FirstNotFinite(const Net<double>&, bool);

}  // namespace caffe
