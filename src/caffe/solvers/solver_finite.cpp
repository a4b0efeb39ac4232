// Solver: what it does about values that are not finite.
#include <algorithm>
#include <cmath>

#include "caffe/planned_net.hpp"
#include "caffe/solver.hpp"

namespace caffe {

template <typename Dtype>
string Solver<Dtype>::NotFinite(bool in_blobs) const {
  const PlannedNet<Dtype>* const planned = net_->planned();
  const auto spoilt = [&](const Blob<Dtype>& blob) {
    const SyncedMemory* const memory = blob.data().get();
    if (!memory || (memory->binding() && !(planned && planned->Holds(*memory)))) return false;
    const Dtype* const values = blob.cpu_data();
    return !std::all_of(values, values + blob.count(), [](Dtype v) { return std::isfinite(v); });
  };
  for (size_t i = 0; i < net_->layers().size(); ++i) {
    const auto& params = net_->layers()[i]->blobs();
    for (size_t j = 0; j < params.size(); ++j) {
      if (spoilt(*params[j]))
        return "parameter " + std::to_string(j) + " of layer " + net_->layer_names()[i];
    }
    if (!in_blobs) continue;
    for (const int top : net_->top_ids(static_cast<int>(i))) {
      if (spoilt(*net_->blobs()[top])) return "blob " + net_->blob_names()[top];
    }
  }
  return "";
}

template <typename Dtype>
void Solver<Dtype>::StopAsNotFinite(const string& what) {
  LOG(FATAL) << "Iteration " << iter_ << ": " << what << ". Training stops, as stop_on_nan says. "
             << LastSnapshot();
}

template <typename Dtype>
void Solver<Dtype>::LookAtLoss(Dtype loss) {
  if (std::isfinite(loss) || !Caffe::root_solver() || (told_of_loss_ && !param_.stop_on_nan()))
    return;
  told_of_loss_ = true;
  const string where = NotFinite(true);
  const string what = "the loss is " + std::to_string(loss) +
                      (where.empty() ? ", and no value that can still be read tells why"
                                     : "; the first value that is not finite is in " + where);
  if (param_.stop_on_nan()) StopAsNotFinite(what);
  LOG(WARNING) << "Iteration " << iter_ << ": " << what << ". Training goes on, and snapshots hold "
               << "what comes of it. " << LastSnapshot()
               << " stop_on_nan: true (--stop_on_nan) ends the training instead.";
}

#define INSTANTIATE_FINITE(Dtype)                              \
  template string Solver<Dtype>::NotFinite(bool) const;        \
  template void Solver<Dtype>::StopAsNotFinite(const string&); \
  template void Solver<Dtype>::LookAtLoss(Dtype)
INSTANTIATE_FINITE(float);
INSTANTIATE_FINITE(double);

}  // namespace caffe
