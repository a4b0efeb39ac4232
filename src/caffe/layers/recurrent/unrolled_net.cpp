#include "unrolled_net.hpp"

namespace caffe {

LayerParameter* UnrolledNet::Add(const string& type, const string& name,
                                 const vector<string>& bottoms, const vector<string>& tops) {
  LayerParameter* layer = net_->add_layer();
  layer->set_type(type);
  layer->set_name(name);
  for (const string& bottom : bottoms) layer->add_bottom(bottom);
  for (const string& top : tops) layer->add_top(top);
  return layer;
}

void UnrolledNet::AddProduct(const string& name, const string& bottom, const string& top, int axis,
                             int outputs, const string& weights, const string& bias) {
  LayerParameter* layer = Add("InnerProduct", name, {bottom}, {top});
  AddParam(weights, layer);
  if (!bias.empty()) AddParam(bias, layer);
  const RecurrentParameter& param = layer_.recurrent_param();
  InnerProductParameter* product = layer->mutable_inner_product_param();
  product->set_axis(axis);
  product->set_num_output(outputs);
  product->set_bias_term(!bias.empty());
  *product->mutable_weight_filler() = param.weight_filler();
  *product->mutable_bias_filler() = param.bias_filler();
}

void UnrolledNet::AddParam(const string& name, LayerParameter* product) {
  ParamSpec* const spec = product->add_param();
  spec->set_name(name);
  const int index = params_.emplace(name, static_cast<int>(params_.size())).first->second;
  if (index < layer_.param_size() && layer_.param(index).has_layout())
    *spec->mutable_layout() = layer_.param(index).layout();
}

void UnrolledNet::AddStates(const vector<string>& names, const vector<BlobShape>& shapes) {
  LayerParameter* layer = Add("Input", "states", {}, names);
  for (const BlobShape& shape : shapes) *layer->mutable_input_param()->add_shape() = shape;
}

void UnrolledNet::AddInputs(const string& weights, const string& bias, int outputs,
                            bool static_input) {
  const string x = weights + "_x", static_x = weights + "_x_static";
  Add("Slice", "cont_slice", {"cont"}, Steps("cont"))->mutable_slice_param()->set_axis(0);
  AddProduct("x_transform", "x", x, 2, outputs, weights, bias);
  if (static_input) {
    AddProduct("x_static_transform", "x_static", static_x + "_preshape", 1, outputs,
               weights + "_static");
    BlobShape* shape = Add("Reshape", "x_static_reshape", {static_x + "_preshape"}, {static_x})
                           ->mutable_reshape_param()
                           ->mutable_shape();
    shape->add_dim(1);
    shape->add_dim(-1);
    shape->add_dim(outputs);
  }
  Add("Slice", "x_slice", {x}, Steps(x))->mutable_slice_param()->set_axis(0);
}

void UnrolledNet::AddStepInput(int t, const string& input_weights, const string& weights,
                               int outputs, bool static_input, const string& top) {
  const string flushed = AtStep("h_conted", t - 1), product = AtStep(weights + "_h", t - 1);
  Add("Scale", flushed, {Whole(AtStep("h", t - 1)), AtStep("cont", t)}, {flushed})
      ->mutable_scale_param()
      ->set_axis(0);
  AddProduct(AtStep("transform", t), flushed, product, 2, outputs, weights);
  LayerParameter* sum = Add("Eltwise", top, {product, AtStep(input_weights + "_x", t)}, {top});
  if (static_input) sum->add_bottom(input_weights + "_x_static");
}

void UnrolledNet::AddJoined(const vector<string>& parts, const string& top) {
  Add("Concat", top + "_concat", parts, {top})->mutable_concat_param()->set_axis(0);
}

string UnrolledNet::Whole(const string& blob) {
  if (Parts(state_, 2) == 1) return blob;
  const string whole = blob + "_whole";
  if (!whole_.insert(blob).second) return whole;
  ExchangeParameter* const exchange =
      Add("Exchange", whole, {blob}, {whole})->mutable_exchange_param();
  layrub::Layout to = state_;
  for (layrub::Level& level : to.levels) {
    if (level == layrub::Cut(2)) level = layrub::PartGradient();
  }
  *exchange->mutable_from() = ToProto(state_);
  *exchange->mutable_to() = ToProto(to);
  return whole;
}

vector<string> UnrolledNet::Steps(const string& name) const {
  vector<string> names;
  for (int t = 1; t <= steps_; ++t) names.push_back(AtStep(name, t));
  return names;
}

vector<string> UnrolledNet::WholeSteps(const string& name) {
  vector<string> names = Steps(name);
  for (string& step : names) step = Whole(step);
  return names;
}

}  // namespace caffe
