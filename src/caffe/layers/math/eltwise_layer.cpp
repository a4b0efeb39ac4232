#include "caffe/layers/eltwise_layer.hpp"

#include <algorithm>
#include <typeinfo>

#include "caffe/kernels/activation/activation.hpp"
#include "caffe/kernels/math/eltwise.hpp"
#include "caffe/kernels/packed_codes.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/layers/relu_layer.hpp"

namespace caffe {

namespace {

bool Contains(const vector<Operand>& operands, const Operand& operand) {
  return std::find(operands.begin(), operands.end(), operand) != operands.end();
}

}  // namespace

template <typename Dtype>
void EltwiseLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& /*top*/) {
  const EltwiseParameter& param = this->layer_param_.eltwise_param();
  const int bottoms = static_cast<int>(bottom.size());
  op_ = param.operation();
  stable_prod_grad_ = param.stable_prod_grad();
  CHECK(param.coeff_size() == 0 || param.coeff_size() == bottoms)
      << "Layer " << this->layer_param_.name() << ": Eltwise takes one coefficient per bottom, "
      << bottoms << " here, not " << param.coeff_size() << ".";
  CHECK(!(op_ == EltwiseParameter_EltwiseOp_PROD && param.coeff_size()))
      << "Layer " << this->layer_param_.name()
      << ": Eltwise takes coefficients for sums only, not for products.";
  CHECK(op_ != EltwiseParameter_EltwiseOp_MAX || bottoms <= 256)
      << "Layer " << this->layer_param_.name() << ": a maximum of " << bottoms
      << " bottoms; at most 256 are supported.";
  coeffs_.assign(bottoms, Dtype(1));
  std::copy(param.coeff().begin(), param.coeff().end(), coeffs_.begin());
}

template <typename Dtype>
void EltwiseLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                  const vector<Blob<Dtype>*>& top) {
  for (size_t i = 1; i < bottom.size(); ++i) {
    CHECK(bottom[i]->shape() == bottom[0]->shape())
        << "Layer " << this->layer_param_.name() << ": bottom 0 has shape "
        << bottom[0]->shape_string() << ", but bottom " << i << " has shape "
        << bottom[i]->shape_string() << ".";
    CHECK(bottom[i] != top[0]) << "Layer " << this->layer_param_.name()
                               << ": Eltwise can run in place on bottom 0 only, not on bottom " << i
                               << ".";
  }
  top[0]->ReshapeLike(*bottom[0]);
}

template <typename Dtype>
shared_ptr<Layer<Dtype>> EltwiseLayer<Dtype>::FusedWith(
    Layer<Dtype>& next, const vector<Blob<Dtype>*>& /*bottom*/) const {
  const bool fuses = op_ == EltwiseParameter_EltwiseOp_SUM && !has_relu_ &&
                     typeid(*this) == typeid(EltwiseLayer) &&
                     typeid(next) == typeid(ReLULayer<Dtype>);
  if (!fuses) return nullptr;
  shared_ptr<EltwiseLayer> fused(new EltwiseLayer(this->layer_param_));
  fused->op_ = op_;
  fused->coeffs_ = coeffs_;
  fused->stable_prod_grad_ = stable_prod_grad_;
  fused->has_relu_ = true;
  fused->negative_slope_ = static_cast<ReLULayer<Dtype>&>(next).Slope();
  return fused;
}

template <typename Dtype>
vector<Operand> EltwiseLayer<Dtype>::Factors(int i, int bottoms, const Operand& sign) const {
  switch (op_) {
    case EltwiseParameter_EltwiseOp_SUM:
      if (has_relu_) return {TopDiff(0), sign};
      return {TopDiff(0)};
    case EltwiseParameter_EltwiseOp_MAX:
      return {TopDiff(0), Saved(0)};
    case EltwiseParameter_EltwiseOp_PROD:
      break;
  }
  if (!stable_prod_grad_) return {TopDiff(0), TopData(0), BottomData(i)};
  vector<Operand> factors;
  for (int k = 0; k < bottoms; ++k) {
    if (k != i) factors.push_back(BottomData(k));
  }
  factors.push_back(TopDiff(0));
  return factors;
}

template <typename Dtype>
OperandVariant EltwiseLayer<Dtype>::BackwardVariant(const vector<bool>& propagate_down,
                                                    const Operand& sign) const {
  const int bottoms = static_cast<int>(propagate_down.size());
  OperandVariant variant;
  variant.name = !has_relu_           ? EltwiseParameter_EltwiseOp_Name(op_)
                 : sign == TopData(0) ? "y"
                                      : "mask";
  vector<vector<Operand>> factors(bottoms);
  for (int i = 0; i < bottoms; ++i) {
    if (!propagate_down[i]) continue;
    factors[i] = Factors(i, bottoms, sign);
    variant.writes.push_back(BottomDiff(i));
    for (const Operand& factor : factors[i]) {
      if (!Contains(variant.reads, factor)) variant.reads.push_back(factor);
    }
  }
  // Derivatives are computed from the last bottom to the first. One may alias an operand if it does
  // not need that after its first write, and no later derivative needs it.
  for (int i = 0; i < bottoms; ++i) {
    if (!propagate_down[i]) continue;
    for (const Operand& operand : variant.reads) {
      const auto begin = factors[i].begin();
      const auto found = std::find(begin, factors[i].end(), operand);
      bool needed = found != factors[i].end() && found - begin >= 2;
      for (int later = 0; later < i; ++later) needed |= Contains(factors[later], operand);
      if (!needed && operand.kind != Operand::kSaved) {
        variant.may_alias.push_back({BottomDiff(i), operand});
      }
    }
  }
  return variant;
}

template <typename Dtype>
MemoryTraits EltwiseLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                         const vector<Blob<Dtype>*>& /*top*/,
                                         const vector<bool>& propagate_down) const {
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerived(*this);
  traits.capturable = traits.takes_blocks = traits.sliceable = true;
  if (op_ == EltwiseParameter_EltwiseOp_MAX) traits.saved = {{"index", bottom[0]->count()}};
  if (has_relu_) traits.saved = {{"mask", kernels::PackedBytes(bottom[0]->count(), 1)}};
  for (size_t i = 0; i < bottom.size(); ++i) traits.forward.reads.push_back(BottomData(i));
  traits.forward.writes = {TopData(0)};
  // The top is written after the first two bottoms have been read.
  traits.forward.may_alias = {{TopData(0), BottomData(0)}, {TopData(0), BottomData(1)}};
  if (std::none_of(propagate_down.begin(), propagate_down.end(), [](bool down) { return down; }))
    return traits;
  if (has_relu_ && TopHasReluSign())
    traits.backward.push_back(BackwardVariant(propagate_down, TopData(0)));
  traits.backward.push_back(BackwardVariant(propagate_down, Saved(0)));
  return traits;
}

template <typename Dtype>
void EltwiseLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                    const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  const int n = top[0]->count();
  const int bottoms = static_cast<int>(bottom.size());
  const Dtype* a = Data(context, *bottom[0]);
  const Dtype* b = Data(context, *bottom[1]);
  Dtype* y = MutableData(context, top[0]);
  if (op_ == EltwiseParameter_EltwiseOp_SUM) {
    const auto add = [&](int k, Dtype factor, const Dtype* sum) {
      const Dtype* x = Data(context, *bottom[k]);
      if (has_relu_ && k == bottoms - 1) {
        kernels::RectifiedSum(context, n, factor, sum, coeffs_[k], x, negative_slope_, y,
                              this->template SavedBytes<uint8_t>(0));
      } else {
        kernels::WeightedSum(context, n, factor, sum, coeffs_[k], x, y);
      }
    };
    add(1, coeffs_[0], a);
    for (int k = 2; k < bottoms; ++k) add(k, Dtype(1), y);
  } else if (op_ == EltwiseParameter_EltwiseOp_PROD) {
    kernels::Product(context, n, a, b, y);
    for (int k = 2; k < bottoms; ++k) {
      kernels::Product(context, n, y, Data(context, *bottom[k]), y);
    }
  } else {
    uint8_t* index = this->template SavedBytes<uint8_t>(0);
    kernels::Maximum(context, n, a, b, y, index);
    for (int k = 2; k < bottoms; ++k) {
      kernels::MaximumWith(context, n, k, Data(context, *bottom[k]), y, index);
    }
  }
}

template <typename Dtype>
void EltwiseLayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                     const vector<bool>& propagate_down,
                                     const vector<Blob<Dtype>*>& bottom) {
  const int n = top[0]->count();
  const int bottoms = static_cast<int>(bottom.size());
  for (int i = bottoms - 1; i >= 0; --i) {
    if (!propagate_down[i]) continue;
    const Dtype* dy = Diff(context, *top[0]);
    Dtype* dx = MutableDiff(context, bottom[i]);
    if (has_relu_) {
      if (TopHasReluSign() && this->variant() == 0) {
        kernels::ReluBackward(context, n, negative_slope_, Data(context, *top[0]), dy, dx);
      } else {
        kernels::ReluBackwardFromMask(context, n, negative_slope_,
                                      this->template SavedBytes<uint8_t>(0), dy, dx);
      }
      if (coeffs_[i] != 1) kernels::Scaled(context, n, coeffs_[i], dx, dx);
    } else if (op_ == EltwiseParameter_EltwiseOp_SUM) {
      kernels::Scaled(context, n, coeffs_[i], dy, dx);
    } else if (op_ == EltwiseParameter_EltwiseOp_MAX) {
      const uint8_t* index = this->template SavedBytes<uint8_t>(0);
      kernels::MaximumBackward(context, n, i, index, dy, dx);
    } else if (!stable_prod_grad_) {
      kernels::QuotientTimes(context, n, Data(context, *top[0]), Data(context, *bottom[i]), dy, dx);
    } else {
      // The other bottoms in order, then dy.
      const Dtype* product = nullptr;
      for (int k = 0; k <= bottoms; ++k) {
        if (k == i) continue;
        const Dtype* factor = k < bottoms ? Data(context, *bottom[k]) : dy;
        if (product) kernels::Product(context, n, product, factor, dx);
        product = product ? dx : factor;
      }
    }
  }
}

INSTANTIATE_CLASS(EltwiseLayer);
REGISTER_LAYER_CLASS(Eltwise);
REGISTER_LAYER_AXES(Eltwise, EveryDimension);

}  // namespace caffe
