#include "caffe/filler.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "caffe/util/math_functions.hpp"
#include "caffe/util/parts.hpp"
#include "caffe/util/shape_only.hpp"

namespace caffe {

template <typename Dtype>
Dtype Filler<Dtype>::FanOf(const Blob<Dtype>& blob) const {
  const int fan_in = blob.count() / blob.shape(0);
  const int fan_out = blob.num_axes() > 1 ? blob.count() / blob.shape(1) : blob.count();
  switch (filler_param_.variance_norm()) {
    case FillerParameter::AVERAGE:
      return (fan_in + fan_out) / Dtype(2);
    case FillerParameter::FAN_OUT:
      return fan_out;
    default:
      return fan_in;
  }
}

template <typename Dtype>
void Filler<Dtype>::CheckDense(const Blob<Dtype>& blob) const {
  CHECK(blob.count()) << "A " << filler_param_.type() << " filler was given an empty blob of shape "
                      << blob.shape_string();
  CHECK_EQ(filler_param_.sparse(), -1) << "Sparsity not supported by this Filler.";
}

template <typename Dtype>
void ConstantFiller<Dtype>::Fill(Blob<Dtype>* blob) {
  this->CheckDense(*blob);
  caffe_set(blob->count(), Dtype(this->filler_param_.value()), blob->mutable_cpu_data());
}

template <typename Dtype>
void UniformFiller<Dtype>::Fill(Blob<Dtype>* blob) {
  this->CheckDense(*blob);
  CHECK(this->filler_param_.min() <= this->filler_param_.max())
      << "uniform filler: min is " << this->filler_param_.min() << " and max "
      << this->filler_param_.max() << ".";
  caffe_rng_uniform<Dtype>(blob->count(), Dtype(this->filler_param_.min()),
                           Dtype(this->filler_param_.max()), blob->mutable_cpu_data());
}

namespace {

template <typename Dtype>
void CheckGaussian(const Blob<Dtype>& blob, const FillerParameter& param) {
  CHECK(blob.count()) << "A gaussian filler was given an empty blob of shape "
                      << blob.shape_string();
  CHECK_GE(param.sparse(), -1) << "gaussian filler: sparse is -1 (dense) or a count";
  CHECK(param.std() > 0) << "gaussian filler: std must be above 0; it is " << param.std() << ".";
}

template <typename Dtype>
void CheckBilinear(const Blob<Dtype>& blob) {
  CHECK(blob.num_axes() == 4) << "bilinear filler: it fills the weights of a convolution, with 4 "
                                 "axes, and not "
                              << blob.shape_string() << ".";
  CHECK(blob.width() == blob.height())
      << "bilinear filler: the kernel must be square; its weights are " << blob.shape_string()
      << ".";
}

}  // namespace

template <typename Dtype>
void GaussianFiller<Dtype>::Fill(Blob<Dtype>* blob) {
  CheckGaussian(*blob, this->filler_param_);
  Dtype* data = blob->mutable_cpu_data();
  caffe_rng_gaussian<Dtype>(blob->count(), Dtype(this->filler_param_.mean()),
                            Dtype(this->filler_param_.std()), data);
  const int sparse = this->filler_param_.sparse();
  if (sparse < 0) return;
  CHECK_GE(blob->num_axes(), 1);
  const Dtype probability = Dtype(sparse) / Dtype(blob->shape(0));
  std::vector<int> kept(blob->count());
  caffe_rng_bernoulli(blob->count(), probability, kept.data());
  for (int i = 0; i < blob->count(); ++i) data[i] *= kept[i];
}

template <typename Dtype>
void PositiveUnitballFiller<Dtype>::Fill(Blob<Dtype>* blob) {
  this->CheckDense(*blob);
  Dtype* data = blob->mutable_cpu_data();
  caffe_rng_uniform<Dtype>(blob->count(), 0, 1, data);
  const int dim = blob->count() / blob->shape(0);
  CHECK(dim);
  for (int i = 0; i < blob->shape(0); ++i, data += dim) {
    Dtype sum = 0;
    for (int j = 0; j < dim; ++j) sum += data[j];
    for (int j = 0; j < dim; ++j) data[j] /= sum;
  }
}

template <typename Dtype>
void XavierFiller<Dtype>::Fill(Blob<Dtype>* blob) {
  this->CheckDense(*blob);
  const Dtype scale = std::sqrt(Dtype(3) / this->FanOf(*blob));
  caffe_rng_uniform<Dtype>(blob->count(), -scale, scale, blob->mutable_cpu_data());
}

template <typename Dtype>
void MSRAFiller<Dtype>::Fill(Blob<Dtype>* blob) {
  this->CheckDense(*blob);
  const Dtype std = std::sqrt(Dtype(2) / this->FanOf(*blob));
  caffe_rng_gaussian<Dtype>(blob->count(), Dtype(0), std, blob->mutable_cpu_data());
}

template <typename Dtype>
void BilinearFiller<Dtype>::Fill(Blob<Dtype>* blob) {
  CheckBilinear(*blob);
  this->CheckDense(*blob);
  const int size = blob->width();
  const int factor = (size + 1) / 2;
  const Dtype center = (size - 1) / Dtype(2 * factor);
  Dtype* data = blob->mutable_cpu_data();
  for (int i = 0; i < blob->count(); ++i) {
    const Dtype x = i % size;
    const Dtype y = (i / size) % size;
    data[i] = (1 - std::fabs(x / factor - center)) * (1 - std::fabs(y / factor - center));
  }
}

namespace {

/// Makes the checks of the filler of its type, but writes no values. It is used if only the shapes
/// of a net are needed.
template <typename Dtype>
class UntouchedFiller : public Filler<Dtype> {
 public:
  using Filler<Dtype>::Filler;
  void Fill(Blob<Dtype>* blob) override {
    const FillerParameter& param = this->filler_param_;
    if (param.type() == "gaussian") return CheckGaussian(*blob, param);
    if (param.type() == "bilinear") CheckBilinear(*blob);
    this->CheckDense(*blob);
  }
};

/// Uniform integers from min to max, for synthetic labels. Layrub's own: Caffe has no such filler.
template <typename Dtype>
class IntegerFiller : public Filler<Dtype> {
 public:
  using Filler<Dtype>::Filler;
  void Fill(Blob<Dtype>* blob) override {
    this->CheckDense(*blob);
    const Dtype min = Dtype(this->filler_param_.min()), max = Dtype(this->filler_param_.max());
    Dtype* data = blob->mutable_cpu_data();
    caffe_rng_uniform<Dtype>(blob->count(), min, max + 1, data);
    for (int i = 0; i < blob->count(); ++i) data[i] = std::min(std::floor(data[i]), max);
  }
};

template <typename Dtype>
using Maker = std::unique_ptr<Filler<Dtype>> (*)(const FillerParameter&);

template <template <typename> class Type, typename Dtype>
std::unique_ptr<Filler<Dtype>> Make(const FillerParameter& param) {
  return std::make_unique<Type<Dtype>>(param);
}

template <typename Dtype>
const std::map<string, Maker<Dtype>>& Makers() {
  static const std::map<string, Maker<Dtype>> makers = {
      {"bilinear", Make<BilinearFiller, Dtype>},
      {"constant", Make<ConstantFiller, Dtype>},
      {"gaussian", Make<GaussianFiller, Dtype>},
      {"integer", Make<IntegerFiller, Dtype>},
      {"msra", Make<MSRAFiller, Dtype>},
      {"positive_unitball", Make<PositiveUnitballFiller, Dtype>},
      {"uniform", Make<UniformFiller, Dtype>},
      {"xavier", Make<XavierFiller, Dtype>},
  };
  return makers;
}

}  // namespace

std::vector<string> FillerTypes() {
  std::vector<string> types;
  for (const auto& [type, make] : Makers<float>()) types.push_back(type);
  return types;
}

namespace {

/// For a layer of a net that is divided among devices. Draws the values of the whole parameter and
/// keeps those of this device's part, so that all devices together begin as one device would.
template <typename Dtype>
class PartFiller : public Filler<Dtype> {
 public:
  PartFiller(const FillerParameter& param, std::unique_ptr<Filler<Dtype>> whole)
      : Filler<Dtype>(param), whole_(std::move(whole)) {}
  void Fill(Blob<Dtype>* blob) override {
    const layrub::Layout* const layout = PartsScope<Dtype>::LayoutOf(blob);
    if (layout == nullptr) {
      whole_->Fill(blob);
      return;
    }
    Blob<Dtype> whole(vector<int>(layout->dims.begin(), layout->dims.end()));
    whole_->Fill(&whole);
    CopyPart(whole.cpu_data(), *layout, PartsScope<Dtype>::Rank(), blob->mutable_cpu_data());
  }

 private:
  const std::unique_ptr<Filler<Dtype>> whole_;
};

}  // namespace

template <typename Dtype>
Filler<Dtype>* GetFiller(const FillerParameter& param) {
  const auto found = Makers<Dtype>().find(param.type());
  CHECK(found != Makers<Dtype>().end()) << "Unknown filler name: " << param.type();
  std::unique_ptr<Filler<Dtype>> filler = found->second(param);
  if (ShapeOnlyScope::Active()) filler.reset(new UntouchedFiller<Dtype>(param));
  if (PartsScope<Dtype>::Active())
    filler = std::make_unique<PartFiller<Dtype>>(param, std::move(filler));
  return filler.release();
}

INSTANTIATE_CLASS(Filler);
INSTANTIATE_CLASS(ConstantFiller);
INSTANTIATE_CLASS(UniformFiller);
INSTANTIATE_CLASS(GaussianFiller);
INSTANTIATE_CLASS(PositiveUnitballFiller);
INSTANTIATE_CLASS(XavierFiller);
INSTANTIATE_CLASS(MSRAFiller);
INSTANTIATE_CLASS(BilinearFiller);
template Filler<float>* GetFiller<float>(const FillerParameter& param);
template Filler<double>* GetFiller<double>(const FillerParameter& param);

}  // namespace caffe
