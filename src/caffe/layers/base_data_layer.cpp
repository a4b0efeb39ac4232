#include "caffe/layers/base_data_layer.hpp"

#include <algorithm>
#include <boost/thread.hpp>

#include "caffe/util/failure.hpp"
#include "fill_top.hpp"
#include "source_traits.hpp"

namespace caffe {

template <typename Dtype>
BaseDataLayer<Dtype>::BaseDataLayer(const LayerParameter& param)
    : Layer<Dtype>(param), transform_param_(param.transform_param()) {}

template <typename Dtype>
void BaseDataLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  output_labels_ = top.size() > 1;
  data_transformer_.reset(new DataTransformer<Dtype>(transform_param_, this->phase_));
  data_transformer_->InitRand();
  DataLayerSetUp(bottom, top);
}

template <typename Dtype>
MemoryTraits BaseDataLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& /*bottom*/,
                                          const vector<Blob<Dtype>*>& top,
                                          const vector<bool>& /*propagate_down*/) const {
  return SourceTraits(top.size());
}

template <typename Dtype>
BasePrefetchingDataLayer<Dtype>::BasePrefetchingDataLayer(const LayerParameter& param)
    : BaseDataLayer<Dtype>(param),
      // While one is held by the last forward, another gives the next its shape (Reshape).
      prefetch_(std::max(2u, param.data_param().prefetch())) {
  CHECK_GT(param.data_param().prefetch(), 0u)
      << "Layer " << param.name() << ": prefetch must be at least 1.";
  for (shared_ptr<Batch<Dtype>>& batch : prefetch_) {
    batch.reset(new Batch<Dtype>());
    prefetch_free_.push(batch.get());
  }
}

template <typename Dtype>
void BasePrefetchingDataLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                                 const vector<Blob<Dtype>*>& top) {
  BaseDataLayer<Dtype>::LayerSetUp(bottom, top);
  this->data_transformer_->InitRand();
  StartInternalThread();
}

template <typename Dtype>
void BasePrefetchingDataLayer<Dtype>::InternalThreadEntry() {
  const FailureScope scope(this->layer_param_);
  try {
    while (!must_stop()) {
      Batch<Dtype>* batch = prefetch_free_.pop();
      load_batch(batch);
      prefetch_full_.push(batch);
    }
  } catch (const boost::thread_interrupted&) {
    // The wait for a free batch was ended by StopInternalThread.
  }
}

template <typename Dtype>
void BasePrefetchingDataLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& /*bottom*/,
                                              const vector<Blob<Dtype>*>& top) {
  const Batch<Dtype>* batch = prefetch_full_.peek();
  top[0]->ReshapeLike(batch->data_);
  if (this->output_labels_) top[1]->ReshapeLike(batch->label_);
}

template <typename Dtype>
void BasePrefetchingDataLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                                const vector<Blob<Dtype>*>& /*bottom*/,
                                                const vector<Blob<Dtype>*>& top) {
  HostFeed* const feed = this->feed();
  if (Batch<Dtype>* const last = prefetch_current_) {
    // By way of the feed the last forward's copies are over when the thread gets the batch.
    const auto give_back = [this, last] { prefetch_free_.push(last); };
    feed ? feed->Then(give_back) : give_back();
  }
  prefetch_current_ = prefetch_full_.pop("Waiting for data");
  const auto fill = [&context, feed, this](const Blob<Dtype>& from, Blob<Dtype>* to) {
    CHECK_EQ(from.count(), to->count())
        << "Layer " << this->layer_param_.name() << ": forward without reshape.";
    FillTop(context, feed, from, to);
  };
  fill(prefetch_current_->data_, top[0]);
  if (this->output_labels_) fill(prefetch_current_->label_, top[1]);
}

INSTANTIATE_CLASS(BaseDataLayer);
INSTANTIATE_CLASS(BasePrefetchingDataLayer);

}  // namespace caffe
