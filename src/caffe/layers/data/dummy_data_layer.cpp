#include "caffe/layers/dummy_data_layer.hpp"

#include <algorithm>

#include "caffe/kernels/shape/copy.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/data/fill_top.hpp"
#include "caffe/layers/data/own_items.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/util/math_functions.hpp"

namespace caffe {
namespace {

constexpr uint64_t kOnlyBatch = 1;  ///< NextFeed number of the only batch, with `refill: false`

/// Value `top` of a field that is given once or once for each of `tops`. Aborts for other numbers
/// of values.
template <typename Field>
int Pick(const Field& field, const char* name, int top, int tops, const string& layer) {
  CHECK(field.size() == 1 || field.size() == tops)
      << "Layer " << layer << ": must specify '" << name << "' once, or once per top (" << tops
      << "), not " << field.size() << " times.";
  const uint32_t value = field.Get(field.size() > 1 ? top : 0);
  CHECK_LE(value, static_cast<uint32_t>(INT_MAX)) << "Layer " << layer << ": '" << name << "'";
  return static_cast<int>(value);
}

}  // namespace

template <typename Dtype>
vector<int> DummyDataLayer<Dtype>::TopShape(size_t top, size_t tops) const {
  const DummyDataParameter& param = this->layer_param_.dummy_data_param();
  const string& name = this->layer_param_.name();
  const int i = static_cast<int>(top), n = static_cast<int>(tops);
  const bool legacy =
      param.num_size() || param.channels_size() || param.height_size() || param.width_size();
  if (legacy) {
    CHECK_EQ(param.shape_size(), 0)
        << "Layer " << name << ": both 'shape' and the older num, channels, height, width given.";
    return {Pick(param.num(), "num", i, n, name), Pick(param.channels(), "channels", i, n, name),
            Pick(param.height(), "height", i, n, name), Pick(param.width(), "width", i, n, name)};
  }
  CHECK(param.shape_size() == 1 || param.shape_size() == n)
      << "Layer " << name << ": must specify 'shape' once, or once per top (" << n << "), not "
      << param.shape_size() << " times.";
  Blob<Dtype> blob;
  blob.Reshape(param.shape(param.shape_size() > 1 ? i : 0));
  return blob.shape();
}

template <typename Dtype>
void DummyDataLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& /*bottom*/,
                                       const vector<Blob<Dtype>*>& top) {
  const DummyDataParameter& param = this->layer_param_.dummy_data_param();
  const int tops = static_cast<int>(top.size());
  const int fillers = param.data_filler_size();
  CHECK(fillers <= 1 || fillers == tops)
      << "Layer " << this->layer_param_.name() << ": number of data fillers must be 0, 1 or "
      << tops << " (the number of tops), not " << fillers << ".";
  const OwnItems own(this->layer_param_);
  first_.clear();
  sources_.clear();
  for (int i = 0; i < std::max(1, fillers); ++i) {
    const FillerParameter filler = fillers > 0 ? param.data_filler(i) : FillerParameter();
    sources_.push_back({shared_ptr<Filler<Dtype>>(GetFiller<Dtype>(filler)),
                        filler.type() == "constant", static_cast<Dtype>(filler.value())});
  }
  for (int i = 0; i < tops; ++i) {
    top[i]->Reshape(own.Shape(TopShape(i, tops)));
    first_.push_back(own.First(top[i]->count() * own.parts()));
    // Constants can be read before the first forward, as in Caffe. Zeros need not be written.
    const bool zeros = fillers == 0 || param.data_filler(fillers > 1 ? i : 0).value() == 0;
    if (SourceOf(i).constant && !zeros) SourceOf(i).filler->Fill(top[i]);
    CHECK(SourceOf(i).constant || top[i]->count() > 0)
        << "Layer " << this->layer_param_.name() << ": its filler was given an empty blob of shape "
        << top[i]->shape_string();
  }
  // With a seed drawn here, the values depend neither on which forward comes first nor on a resumed
  // random stream.
  if (!param.refill()) seed_ = caffe_rng_rand();
  batch_.clear();
}

template <typename Dtype>
MemoryTraits DummyDataLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& /*bottom*/,
                                           const vector<Blob<Dtype>*>& top,
                                           const vector<bool>& /*propagate_down*/) const {
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerived(*this);
  traits.repeatable = std::all_of(sources_.begin(), sources_.end(),
                                  [](const Source& source) { return source.constant; });
  traits.fed = !this->layer_param_.dummy_data_param().refill();
  for (size_t i = 0; i < top.size(); ++i) traits.forward.writes.push_back(TopData(i));
  return traits;
}

template <typename Dtype>
void DummyDataLayer<Dtype>::FillBatch(const vector<Blob<Dtype>*>& top) {
  struct OwnStream {
    explicit OwnStream(unsigned int seed) { Caffe::rng_stream() = Caffe::RNG(seed); }
    ~OwnStream() { Caffe::rng_stream() = before; }
    const Caffe::RNG before{Caffe::rng_stream()};
  } const stream(seed_);
  for (size_t i = 0; i < top.size(); ++i) {
    batch_.emplace_back(new Blob<Dtype>(TopShape(i, top.size())));
    SourceOf(i).filler->Fill(batch_.back().get());
  }
}

template <typename Dtype>
NextFeed DummyDataLayer<Dtype>::next_feed() {
  if (batch_.empty()) return {};
  NextFeed next{kOnlyBatch, {}};
  const int64_t parts = OwnItems(this->layer_param_).parts();
  for (size_t i = 0; i < batch_.size(); ++i) {
    next.tops.push_back({batch_[i]->cpu_data() + first_[i],
                         static_cast<size_t>(batch_[i]->count() / parts) * sizeof(Dtype)});
  }
  return next;
}

template <typename Dtype>
void DummyDataLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                      const vector<Blob<Dtype>*>& /*bottom*/,
                                      const vector<Blob<Dtype>*>& top) {
  if (!this->layer_param_.dummy_data_param().refill()) {
    if (batch_.empty()) FillBatch(top);
    if (this->feed()) this->feed()->Tell(kOnlyBatch);
    for (size_t i = 0; i < top.size(); ++i) {
      FillTop(context, this->feed(), *batch_[i], top[i], first_[i]);
    }
    return;
  }
  for (size_t i = 0; i < top.size(); ++i) {
    const Source& source = SourceOf(i);
    if (source.constant) {
      kernels::Fill(context, top[i]->count(), source.value, MutableData(context, top[i]));
    } else if (this->layer_param_.has_layout()) {
      Blob<Dtype> whole(TopShape(i, top.size()));
      source.filler->Fill(&whole);
      FillTop(context, nullptr, whole, top[i], first_[i]);
    } else {
      source.filler->Fill(top[i]);
    }
  }
}

INSTANTIATE_CLASS(DummyDataLayer);
REGISTER_LAYER_CLASS(DummyData);
REGISTER_LAYER_AXES(DummyData, SourceRule);

}  // namespace caffe
