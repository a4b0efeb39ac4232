#include "caffe/layers/recurrent_layer.hpp"

#include <algorithm>

#include "caffe/device_group.hpp"
#include "caffe/util/inner_names.hpp"
#include "caffe/util/layout_proto.hpp"
#include "caffe/util/math_functions.hpp"
#include "caffe/util/parts.hpp"

namespace caffe {
namespace {

const char kStateType[] = "RecurrentState";
constexpr int kMostSteps = 1 << 15;  ///< each takes about 50 KiB besides its blobs

/// The name under which the state layers at both ends of the net share the blob of a state.
string StateName(const string& input) { return input + "_state"; }

void AddState(const string& input, LayerParameter* layer) {
  ParamSpec* spec = layer->add_param();
  spec->set_name(StateName(input));
  spec->set_lr_mult(0);
  spec->set_decay_mult(0);
}

template <typename Dtype>
void AddInput(const string& name, const Blob<Dtype>& like, LayerParameter* inputs) {
  inputs->add_top(name);
  BlobShape* shape = inputs->mutable_input_param()->add_shape();
  for (int dim : like.shape()) shape->add_dim(dim);
}

}  // namespace

template <typename Dtype>
int RecurrentLayer<Dtype>::ExposedStates() const {
  if (!this->layer_param_.recurrent_param().expose_hidden()) return 0;
  vector<string> states;
  RecurrentInputBlobNames(&states);
  return static_cast<int>(states.size());
}

template <typename Dtype>
BlobShape RecurrentLayer<Dtype>::StateShape() const {
  BlobShape shape;
  shape.add_dim(1);
  shape.add_dim(N_);
  shape.add_dim(this->layer_param_.recurrent_param().num_output());
  return shape;
}

template <typename Dtype>
void RecurrentLayer<Dtype>::CheckShapes(const Blobs& bottom) const {
  const string& name = this->layer_param_.name();
  CHECK_GE(bottom[0]->num_axes(), 2)
      << "Layer " << name
      << ": bottom 0 must have at least 2 axes, steps and streams, but has shape "
      << bottom[0]->shape_string() << ".";
  CHECK(bottom[1]->num_axes() == 2 && bottom[1]->shape(0) == bottom[0]->shape(0) &&
        bottom[1]->shape(1) == bottom[0]->shape(1))
      << "Layer " << name << ": bottom 1, the continuation indicators, must be "
      << bottom[0]->shape(0) << " x " << bottom[0]->shape(1)
      << " like the first axes of bottom 0, not " << bottom[1]->shape_string() << ".";
  CHECK(!static_input_ || (bottom[2]->num_axes() > 0 && bottom[2]->shape(0) == bottom[0]->shape(1)))
      << "Layer " << name
      << ": bottom 2, the static input, must begin with axis N = " << bottom[0]->shape(1)
      << ", but has shape " << bottom[2]->shape_string() << ".";
}

template <typename Dtype>
void RecurrentLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& top) {
  const RecurrentParameter& param = this->layer_param_.recurrent_param();
  const string& name = this->layer_param_.name();
  CHECK_GT(param.num_output(), 0u) << "Layer " << name << ": num_output must be positive.";
  for (const Blob<Dtype>* blob : top) {
    CHECK(std::find(bottom.begin(), bottom.end(), blob) == bottom.end())
        << "Layer " << name << ": " << this->type() << " cannot run in place.";
  }
  expose_hidden_ = param.expose_hidden();
  static_input_ = static_cast<int>(bottom.size()) > 2 + ExposedStates();
  CheckShapes(bottom);
  T_ = bottom[0]->shape(0);
  N_ = bottom[0]->shape(1);
  CHECK_LE(T_, kMostSteps) << "Layer " << name << ": too many time steps to unroll; cut the "
                           << "sequences into shorter ones, which cont can continue.";
  unrolled_net_.reset(new Net<Dtype>(CompleteNet(bottom)));
  unrolled_net_->set_debug_info(param.debug_info());
  states_.clear();
  for (const auto& layer : unrolled_net_->layers()) {
    if (layer->type() == string(kStateType)) states_.push_back(layer.get());
  }
  TakeParameters();
}

template <typename Dtype>
NetParameter RecurrentLayer<Dtype>::CompleteNet(const Blobs& bottom) {
  NetParameter net;
  net.set_name(this->layer_param_.name());
  net.mutable_state()->set_phase(this->phase_);
  // The surrounding net decides which gradients are wanted.
  net.set_force_backward(true);
  LayerParameter* inputs = net.add_layer();
  inputs->set_name("inputs");
  inputs->set_type("Input");
  bottom_names_ = {"x", "cont"};
  if (static_input_) bottom_names_.push_back("x_static");
  for (size_t i = 0; i < bottom_names_.size(); ++i) AddInput(bottom_names_[i], *bottom[i], inputs);
  FillUnrolledNet(&net);
  OutputBlobNames(&top_names_);
  if (expose_hidden_) {
    vector<string> given, taken;
    RecurrentInputBlobNames(&given);
    RecurrentOutputBlobNames(&taken);
    bottom_names_.insert(bottom_names_.end(), given.begin(), given.end());
    top_names_.insert(top_names_.end(), taken.begin(), taken.end());
  } else {
    KeepStates(&net);
  }
  for (string& top : top_names_) top = Given(top, &net);
  for (LayerParameter& layer : *net.mutable_layer())
    layer.set_name(InnerLayerName(this->layer_param_.name(), layer.name()));
  return net;
}

/// Keeps the states from pass to pass: turns the Input layers that give them into layers that
/// remember them, and adds one that stores their values after the last step.
template <typename Dtype>
void RecurrentLayer<Dtype>::KeepStates(NetParameter* net) const {
  vector<string> given, taken;
  vector<BlobShape> shapes;
  RecurrentInputBlobNames(&given);
  RecurrentOutputBlobNames(&taken);
  RecurrentInputShapes(&shapes);
  for (LayerParameter& layer : *net->mutable_layer()) {
    const auto is_state = [&](const string& top) {
      return std::find(given.begin(), given.end(), top) != given.end();
    };
    if (layer.type() != "Input" || !std::any_of(layer.top().begin(), layer.top().end(), is_state))
      continue;
    layer.set_type(kStateType);
    layer.clear_input_param();
    for (const string& top : layer.top()) {
      const size_t state = std::find(given.begin(), given.end(), top) - given.begin();
      CHECK_LT(state, given.size()) << "Layer " << this->layer_param_.name() << ": blob '" << top
                                    << "' is not a state; it needs an Input layer of its own.";
      *layer.mutable_input_param()->add_shape() = shapes[state];
      AddState(top, &layer);
    }
  }
  LayerParameter* end = net->add_layer();
  end->set_name("states_end");
  end->set_type(kStateType);
  for (size_t i = 0; i < given.size(); ++i) {
    end->add_bottom(taken[i]);
    AddState(given[i], end);
  }
}

/// Returns the name of a blob with the value of `blob` that no inner layer reads, so that gradients
/// from inside and outside add up. Adds a Split if needed.
template <typename Dtype>
string RecurrentLayer<Dtype>::Given(const string& blob, NetParameter* net) const {
  const bool read =
      std::any_of(net->layer().begin(), net->layer().end(), [&](const LayerParameter& layer) {
        return std::find(layer.bottom().begin(), layer.bottom().end(), blob) !=
               layer.bottom().end();
      });
  if (!read) return blob;
  LayerParameter* split = net->add_layer();
  split->set_name(blob + "_out");
  split->set_type("Split");
  split->add_bottom(blob);
  split->add_top(blob + "_out");
  return split->top(0);
}

/// Makes the learnable parameters of the unrolled net the blobs of this layer. Copies the values
/// that the layer was created with, if any.
template <typename Dtype>
void RecurrentLayer<Dtype>::TakeParameters() {
  vector<shared_ptr<Blob<Dtype>>> stored;
  stored.swap(this->blobs_);
  for (size_t i = 0; i < unrolled_net_->params().size(); ++i) {
    const shared_ptr<Blob<Dtype>>& param = unrolled_net_->params()[i];
    const bool state = std::any_of(states_.begin(), states_.end(), [&](Layer<Dtype>* layer) {
      return std::count(layer->blobs().begin(), layer->blobs().end(), param) > 0;
    });
    if (unrolled_net_->param_owners()[i] < 0 && !state) this->blobs_.push_back(param);
  }
  this->param_propagate_down_.resize(this->blobs_.size(), true);
  if (stored.empty()) return;
  const string& name = this->layer_param_.name();
  CHECK_EQ(stored.size(), this->blobs_.size())
      << "Layer " << name << ": Incorrect number of weight blobs.";
  for (size_t i = 0; i < stored.size(); ++i) {
    CHECK(stored[i]->shape() == this->blobs_[i]->shape())
        << "Layer " << name << ": blob " << i << " has shape " << stored[i]->shape_string()
        << " where " << this->blobs_[i]->shape_string() << " is needed.";
    this->blobs_[i]->CopyFrom(*stored[i]);
  }
}

/// Lets the unrolled net share this layer's blobs, whose memory may have changed, and learn what
/// this layer learns.
template <typename Dtype>
void RecurrentLayer<Dtype>::ShareBlobsAndFlags() const {
  unrolled_net_->ShareWeights();
  size_t param = 0;
  for (const auto& layer : unrolled_net_->layers()) {
    for (size_t i = 0; i < layer->blobs().size(); ++i, ++param) {
      const int owner = unrolled_net_->param_owners()[param];
      const auto& blob = unrolled_net_->params()[owner < 0 ? param : owner];
      const auto mine = std::find(this->blobs_.begin(), this->blobs_.end(), blob);
      if (mine == this->blobs_.end()) continue;
      layer->set_param_propagate_down(i, this->param_propagate_down(mine - this->blobs_.begin()));
    }
  }
}

template <typename Dtype>
InnerNet<Dtype> RecurrentLayer<Dtype>::inner_net() const {
  ShareBlobsAndFlags();
  InnerNet<Dtype> inner;
  inner.net = unrolled_net_.get();
  inner.bottoms = bottom_names_;
  inner.tops = top_names_;
  return inner;
}

template <typename Dtype>
vector<Blob<Dtype>*> RecurrentLayer<Dtype>::InnerBlobs(const vector<string>& names) const {
  Blobs blobs;
  for (const string& name : names) {
    CHECK(unrolled_net_->has_blob(name)) << "Layer " << this->layer_param_.name()
                                         << ": its unrolled net has no blob '" << name << "'.";
    blobs.push_back(unrolled_net_->blob_by_name(name).get());
  }
  return blobs;
}

template <typename Dtype>
void RecurrentLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  const string& name = this->layer_param_.name();
  CheckShapes(bottom);
  CHECK_EQ(bottom[0]->shape(0), T_) << "Layer " << name << " was set up for " << T_ << " steps.";
  N_ = bottom[0]->shape(1);
  const Blobs inputs = InnerBlobs(bottom_names_);
  CHECK_EQ(bottom[0]->count(2), inputs[0]->count(2))
      << "Layer " << name << ": bottom 0 has another number of features than at set-up.";
  CHECK(!static_input_ || bottom[2]->count(1) == inputs[2]->count(1))
      << "Layer " << name
      << ": bottom 2, the static input, has another number of features than at set-up.";
  vector<BlobShape> state_shapes;
  RecurrentInputShapes(&state_shapes);
  bool changed = false;
  for (size_t i = 0; i < bottom.size(); ++i) {
    const size_t first_state = 2 + static_input_;
    if (i >= first_state) {
      const Blob<Dtype> state(vector<int>(state_shapes[i - first_state].dim().begin(),
                                          state_shapes[i - first_state].dim().end()));
      CHECK(bottom[i]->shape() == state.shape())
          << "Layer " << name << ": bottom " << i << ", a hidden state, must have shape "
          << state.shape_string() << ", not " << bottom[i]->shape_string() << ".";
    }
    changed |= inputs[i]->shape() != bottom[i]->shape();
    inputs[i]->ReshapeLike(*bottom[i]);
  }
  if (changed) {
    ReshapeStates();
    unrolled_net_->Reshape();
  }
  const Blobs outputs = InnerBlobs(top_names_);
  for (size_t i = 0; i < top.size(); ++i) top[i]->ReshapeLike(*outputs[i]);
}

template <typename Dtype>
void RecurrentLayer<Dtype>::ReshapeStates() {
  vector<string> names;
  vector<BlobShape> shapes;
  RecurrentInputBlobNames(&names);
  RecurrentInputShapes(&shapes);
  bool changed = false;
  for (Layer<Dtype>* layer : states_) {
    for (size_t i = 0; i < layer->blobs().size(); ++i) {
      for (size_t k = 0; k < names.size(); ++k) {
        if (layer->layer_param().param(i).name() != StateName(names[k])) continue;
        const vector<int> before = layer->blobs()[i]->shape();
        layer->blobs()[i]->Reshape(shapes[k]);
        changed |= layer->blobs()[i]->shape() != before;
      }
    }
  }
  unrolled_net_->ShareWeights();
  if (changed) Reset();
}

template <typename Dtype>
void RecurrentLayer<Dtype>::Reset() {
  for (Blob<Dtype>* state : States())
    caffe_set(state->count(), Dtype(0), state->mutable_cpu_data());
}

template <typename Dtype>
vector<Blob<Dtype>*> RecurrentLayer<Dtype>::States() const {
  Blobs states;
  for (Layer<Dtype>* layer : states_) {
    if (layer->layer_param().top_size() == 0) continue;  // shares the blobs of the others
    for (const auto& blob : layer->blobs()) states.push_back(blob.get());
  }
  return states;
}

template <typename Dtype>
void RecurrentLayer<Dtype>::SaveProgress(LayerProgress* progress) const {
  for (const Blob<Dtype>* state : States()) state->ToProto(progress->add_value());
}

template <typename Dtype>
bool RecurrentLayer<Dtype>::RestoreProgress(const LayerProgress& progress) {
  const Blobs states = States();
  const layrub::Layout layout = StateLayout(this->layer_param_);
  const layrub::Communicator* const group = DeviceGroupScope::Current();
  const bool divided = !layout.levels.empty() && group != nullptr;
  vector<Blob<Dtype>> saved(states.size());
  bool fits = progress.value_size() == static_cast<int>(states.size());
  for (size_t i = 0; fits && i < states.size(); ++i) {
    saved[i].Reshape(divided ? vector<int>(layout.dims.begin(), layout.dims.end())
                             : states[i]->shape());
    fits = saved[i].ShapeEquals(progress.value(static_cast<int>(i)));
  }
  if (!fits) Reset();
  for (size_t i = 0; fits && i < states.size(); ++i) {
    saved[i].FromProto(progress.value(static_cast<int>(i)), false);
    if (divided) {
      CopyPart(saved[i].cpu_data(), layout, group->rank(), states[i]->mutable_cpu_data());
    } else {
      states[i]->CopyFrom(saved[i]);
    }
  }
  return fits;
}

// Calls outside a plan: the inner blobs are views of the bottoms and tops, unless an inner layer
// has made them views of other blobs.

template <typename Dtype>
void RecurrentLayer<Dtype>::ForwardOn(const DeviceContext& /*context*/,
                                      const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  ShareBlobsAndFlags();
  const Blobs inputs = InnerBlobs(bottom_names_), outputs = InnerBlobs(top_names_);
  for (size_t i = 0; i < bottom.size(); ++i) inputs[i]->ShareData(*bottom[i]);
  for (size_t i = 0; i < top.size(); ++i) outputs[i]->ShareData(*top[i]);
  unrolled_net_->Forward();
  for (size_t i = 0; i < top.size(); ++i) {
    if (outputs[i]->data() != top[i]->data()) top[i]->CopyFrom(*outputs[i]);
  }
}

template <typename Dtype>
void RecurrentLayer<Dtype>::BackwardOn(const DeviceContext& /*context*/,
                                       const vector<Blob<Dtype>*>& top,
                                       const vector<bool>& propagate_down,
                                       const vector<Blob<Dtype>*>& bottom) {
  CHECK(!propagate_down[1]) << "Layer " << this->layer_param_.name()
                            << ": Cannot backpropagate to sequence indicators.";
  ShareBlobsAndFlags();
  const Blobs inputs = InnerBlobs(bottom_names_), outputs = InnerBlobs(top_names_);
  for (size_t i = 0; i < top.size(); ++i) outputs[i]->ShareDiff(*top[i]);
  for (size_t i = 0; i < bottom.size(); ++i) {
    inputs[i]->ShareData(*bottom[i]);
    if (propagate_down[i]) inputs[i]->ShareDiff(*bottom[i]);
  }
  unrolled_net_->Backward();
  for (size_t i = 0; i < bottom.size(); ++i) {
    if (propagate_down[i] && inputs[i]->diff() != bottom[i]->diff())
      bottom[i]->CopyFrom(*inputs[i], true);
  }
}

INSTANTIATE_CLASS(RecurrentLayer);

}  // namespace caffe
