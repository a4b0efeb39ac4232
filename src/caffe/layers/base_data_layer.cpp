#include "caffe/layers/base_data_layer.hpp"

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
    : BaseDataLayer<Dtype>(param), prefetch_(param.data_param().prefetch()) {
  CHECK(!prefetch_.empty()) << "Layer " << param.name() << ": prefetch must be at least 1.";
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
  Batch<Dtype>* batch = prefetch_full_.pop("Waiting for data");
  HostFeed* const feed = this->feed();
  const auto fill = [&context, feed, this](const Blob<Dtype>& from, Blob<Dtype>* to) {
    CHECK_EQ(from.count(), to->count())
        << "Layer " << this->layer_param_.name() << ": forward without reshape.";
    FillTop(context, feed, from, to);
  };
  fill(batch->data_, top[0]);
  if (this->output_labels_) fill(batch->label_, top[1]);
  // The thread waits for a free batch, and so for the copies; nobody else does.
  const auto give_back = [this, batch] { prefetch_free_.push(batch); };
  if (feed) {
    feed->Then(give_back);
  } else {
    give_back();
  }
}

INSTANTIATE_CLASS(BaseDataLayer);
INSTANTIATE_CLASS(BasePrefetchingDataLayer);

}  // namespace caffe
