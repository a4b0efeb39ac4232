#include "caffe/util/upgrade_proto.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <map>
#include <string>
#include <vector>

#include "caffe/util/failure.hpp"

namespace caffe {

using google::protobuf::FieldDescriptor;

namespace {

// Runs one upgrade of `what`, between Caffe's two log lines, which users and scripts know; `done`
// is the text of the second. A fatal message in between names the file.
template <typename Upgrade>
bool LoggedUpgrade(const string& what, const string& done, const string& param_file,
                   const Upgrade& upgrade) {
  const FailureScope scope(CurrentFile{param_file});
  LOG(INFO) << "Attempting to upgrade " << what << ": " << param_file;
  if (upgrade()) {
    LOG(INFO) << "Successfully upgraded " << done;
    return true;
  }
  LOG(ERROR) << "Warning: had one or more problems upgrading " << what
             << " (see above); continuing anyway.";
  return false;
}

}  // namespace

bool NetNeedsUpgrade(const NetParameter& net_param) {
  return NetNeedsV0ToV1Upgrade(net_param) || NetNeedsV1ToV2Upgrade(net_param) ||
         NetNeedsDataUpgrade(net_param) || NetNeedsInputUpgrade(net_param) ||
         NetNeedsBatchNormUpgrade(net_param);
}

namespace {

/// Moves transform_param, which forks write inside data_param, to the layer. Fields that the layer
/// sets itself take precedence.
void MoveInnerTransformations(NetParameter* net_param) {
  for (LayerParameter& layer : *net_param->mutable_layer()) {
    if (!layer.data_param().has_transform_param()) continue;
    TransformationParameter moved = layer.data_param().transform_param();
    layer.mutable_data_param()->clear_transform_param();
    moved.MergeFrom(layer.transform_param());
    layer.mutable_transform_param()->Swap(&moved);
  }
}

}  // namespace

bool UpgradeNetAsNeeded(const string& param_file, NetParameter* param) {
  bool complete = true;
  if (NetNeedsV0ToV1Upgrade(*param)) {
    complete &=
        LoggedUpgrade("input file specified using deprecated V0LayerParameter",
                      "file specified using deprecated V0LayerParameter", param_file, [param] {
                        NetParameter original;
                        original.Swap(param);
                        return UpgradeV0Net(original, param);
                      });
  }
  if (NetNeedsDataUpgrade(*param)) {
    complete &= LoggedUpgrade("input file specified using deprecated transformation parameters",
                              "file specified using deprecated data transformation parameters.",
                              param_file, [param] {
                                UpgradeNetDataTransformation(param);
                                return true;
                              });
  }
  if (NetNeedsV1ToV2Upgrade(*param)) {
    complete &=
        LoggedUpgrade("input file specified using deprecated V1LayerParameter",
                      "file specified using deprecated V1LayerParameter", param_file, [param] {
                        NetParameter original;
                        original.Swap(param);
                        return UpgradeV1Net(original, param);
                      });
  }
  if (NetNeedsInputUpgrade(*param)) {
    complete &= LoggedUpgrade("input file specified using deprecated input fields",
                              "file specified using deprecated input fields.", param_file, [param] {
                                UpgradeNetInput(param);
                                return true;
                              });
  }
  if (NetNeedsBatchNormUpgrade(*param)) {
    complete &= LoggedUpgrade("batch norm layers using deprecated params",
                              "batch norm layers using deprecated params.", param_file, [param] {
                                UpgradeNetBatchNorm(param);
                                return true;
                              });
  }
  MoveInnerTransformations(param);
  return complete;
}

namespace {

// For the messages that once held the transformation: data_param, image_data_param,
// window_data_param.
template <typename Param>
bool HoldsTransformation(const Param& param) {
  return param.has_scale() || param.has_mean_file() || param.has_crop_size() || param.has_mirror();
}

template <typename Param>
void MoveTransformation(Param* param, TransformationParameter* target) {
  if (param->has_scale()) target->set_scale(param->scale());
  if (param->has_mean_file()) target->set_mean_file(param->mean_file());
  if (param->has_crop_size()) target->set_crop_size(param->crop_size());
  if (param->has_mirror()) target->set_mirror(param->mirror());
  param->clear_scale();
  param->clear_mean_file();
  param->clear_crop_size();
  param->clear_mirror();
}

bool HoldsTransformation(const V1LayerParameter& layer) {
  switch (layer.type()) {
    case V1LayerParameter::DATA:
      return HoldsTransformation(layer.data_param());
    case V1LayerParameter::IMAGE_DATA:
      return HoldsTransformation(layer.image_data_param());
    case V1LayerParameter::WINDOW_DATA:
      return HoldsTransformation(layer.window_data_param());
    default:
      return false;
  }
}

}  // namespace

bool NetNeedsDataUpgrade(const NetParameter& net_param) {
  for (const V1LayerParameter& layer : net_param.layers()) {
    if (HoldsTransformation(layer)) return true;
  }
  return false;
}

void UpgradeNetDataTransformation(NetParameter* net_param) {
  for (V1LayerParameter& layer : *net_param->mutable_layers()) {
    if (!HoldsTransformation(layer)) continue;
    TransformationParameter* target = layer.mutable_transform_param();
    switch (layer.type()) {
      case V1LayerParameter::DATA:
        MoveTransformation(layer.mutable_data_param(), target);
        break;
      case V1LayerParameter::IMAGE_DATA:
        MoveTransformation(layer.mutable_image_data_param(), target);
        break;
      default:
        MoveTransformation(layer.mutable_window_data_param(), target);
    }
  }
}

bool NetNeedsV1ToV2Upgrade(const NetParameter& net_param) { return net_param.layers_size() > 0; }

bool UpgradeV1Net(const NetParameter& v1_net_param, NetParameter* net_param) {
  bool complete = true;
  if (v1_net_param.layer_size() > 0) {
    LOG(ERROR) << "The net has both 'layers' (old) and 'layer' fields; the "
               << v1_net_param.layer_size() << " 'layer' fields are ignored by the upgrade.";
    complete = false;
  }
  net_param->CopyFrom(v1_net_param);
  net_param->clear_layers();
  net_param->clear_layer();
  for (int i = 0; i < v1_net_param.layers_size(); ++i) {
    if (!UpgradeV1LayerParameter(v1_net_param.layers(i), net_param->add_layer())) {
      LOG(ERROR) << "Upgrade of input layer " << i << " failed.";
      complete = false;
    }
  }
  return complete;
}

namespace {

ParamSpec* ParamAt(LayerParameter* layer, int index) {
  while (layer->param_size() <= index) layer->add_param();
  return layer->mutable_param(index);
}

// Converts V1's parallel lists to V2's ParamSpec for each blob.
void UpgradeParamSpecs(const V1LayerParameter& v1, LayerParameter* layer) {
  for (int i = 0; i < v1.param_size(); ++i) ParamAt(layer, i)->set_name(v1.param(i));
  for (int i = 0; i < v1.blob_share_mode_size(); ++i) {
    const bool strict = v1.blob_share_mode(i) == V1LayerParameter::STRICT;
    ParamAt(layer, i)->set_share_mode(strict ? ParamSpec::STRICT : ParamSpec::PERMISSIVE);
  }
  for (int i = 0; i < v1.blobs_lr_size(); ++i) ParamAt(layer, i)->set_lr_mult(v1.blobs_lr(i));
  for (int i = 0; i < v1.weight_decay_size(); ++i)
    ParamAt(layer, i)->set_decay_mult(v1.weight_decay(i));
}

// convolution_param, data_param, ...: the same messages under the same names.
void CopyTypeParams(const V1LayerParameter& v1, LayerParameter* layer) {
  std::vector<const FieldDescriptor*> fields;
  v1.GetReflection()->ListFields(v1, &fields);
  for (const FieldDescriptor* field : fields) {
    const FieldDescriptor* target = layer->GetDescriptor()->FindFieldByName(field->name());
    if (field->is_repeated() || field->message_type() == nullptr || target == nullptr) continue;
    layer->GetReflection()
        ->MutableMessage(layer, target)
        ->CopyFrom(v1.GetReflection()->GetMessage(v1, field));
  }
}

}  // namespace

bool UpgradeV1LayerParameter(const V1LayerParameter& v1_layer_param, LayerParameter* layer_param) {
  layer_param->Clear();
  *layer_param->mutable_bottom() = v1_layer_param.bottom();
  *layer_param->mutable_top() = v1_layer_param.top();
  if (v1_layer_param.has_name()) layer_param->set_name(v1_layer_param.name());
  *layer_param->mutable_include() = v1_layer_param.include();
  *layer_param->mutable_exclude() = v1_layer_param.exclude();
  if (v1_layer_param.has_type()) layer_param->set_type(UpgradeV1LayerType(v1_layer_param.type()));
  *layer_param->mutable_blobs() = v1_layer_param.blobs();
  *layer_param->mutable_loss_weight() = v1_layer_param.loss_weight();
  UpgradeParamSpecs(v1_layer_param, layer_param);
  CopyTypeParams(v1_layer_param, layer_param);
  if (v1_layer_param.has_layer()) {
    LOG(ERROR) << "Layer '" << v1_layer_param.layer().name()
               << "' is of the V0 format, which this step ignores.";
    return false;
  }
  return true;
}

const char* UpgradeV1LayerType(const V1LayerParameter_LayerType type) {
  static const std::map<int, const char*> names = {
      {V1LayerParameter::NONE, ""},
      {V1LayerParameter::ABSVAL, "AbsVal"},
      {V1LayerParameter::ACCURACY, "Accuracy"},
      {V1LayerParameter::ARGMAX, "ArgMax"},
      {V1LayerParameter::BNLL, "BNLL"},
      {V1LayerParameter::CONCAT, "Concat"},
      {V1LayerParameter::CONTRASTIVE_LOSS, "ContrastiveLoss"},
      {V1LayerParameter::CONVOLUTION, "Convolution"},
      {V1LayerParameter::DATA, "Data"},
      {V1LayerParameter::DECONVOLUTION, "Deconvolution"},
      {V1LayerParameter::DROPOUT, "Dropout"},
      {V1LayerParameter::DUMMY_DATA, "DummyData"},
      {V1LayerParameter::ELTWISE, "Eltwise"},
      {V1LayerParameter::EUCLIDEAN_LOSS, "EuclideanLoss"},
      {V1LayerParameter::EXP, "Exp"},
      {V1LayerParameter::FLATTEN, "Flatten"},
      {V1LayerParameter::HDF5_DATA, "HDF5Data"},
      {V1LayerParameter::HDF5_OUTPUT, "HDF5Output"},
      {V1LayerParameter::HINGE_LOSS, "HingeLoss"},
      {V1LayerParameter::IM2COL, "Im2col"},
      {V1LayerParameter::IMAGE_DATA, "ImageData"},
      {V1LayerParameter::INFOGAIN_LOSS, "InfogainLoss"},
      {V1LayerParameter::INNER_PRODUCT, "InnerProduct"},
      {V1LayerParameter::LRN, "LRN"},
      {V1LayerParameter::MEMORY_DATA, "MemoryData"},
      {V1LayerParameter::MULTINOMIAL_LOGISTIC_LOSS, "MultinomialLogisticLoss"},
      {V1LayerParameter::MVN, "MVN"},
      {V1LayerParameter::POOLING, "Pooling"},
      {V1LayerParameter::POWER, "Power"},
      {V1LayerParameter::RELU, "ReLU"},
      {V1LayerParameter::SIGMOID, "Sigmoid"},
      {V1LayerParameter::SIGMOID_CROSS_ENTROPY_LOSS, "SigmoidCrossEntropyLoss"},
      {V1LayerParameter::SILENCE, "Silence"},
      {V1LayerParameter::SLICE, "Slice"},
      {V1LayerParameter::SOFTMAX, "Softmax"},
      {V1LayerParameter::SOFTMAX_LOSS, "SoftmaxWithLoss"},
      {V1LayerParameter::SPLIT, "Split"},
      {V1LayerParameter::TANH, "TanH"},
      {V1LayerParameter::THRESHOLD, "Threshold"},
      {V1LayerParameter::WINDOW_DATA, "WindowData"},
  };
  const auto found = names.find(type);
  if (found == names.end())
    LOG(FATAL) << "Unknown V1LayerParameter layer type: " << static_cast<int>(type);
  return found->second;
}

bool NetNeedsInputUpgrade(const NetParameter& net_param) { return net_param.input_size() > 0; }

void UpgradeNetInput(NetParameter* net_param) {
  const bool has_shape = net_param->input_shape_size() > 0;
  const bool has_dim = net_param->input_dim_size() > 0;
  if (has_shape || has_dim) {
    if (has_shape) {
      CHECK_EQ(net_param->input_shape_size(), net_param->input_size())
          << "Each input needs an input_shape.";
    } else {
      CHECK_EQ(net_param->input_dim_size(), 4 * net_param->input_size())
          << "Each input needs four of input_dim.";
    }
    LayerParameter* layer = net_param->add_layer();
    layer->set_name("input");
    layer->set_type("Input");
    for (int i = 0; i < net_param->input_size(); ++i) {
      layer->add_top(net_param->input(i));
      BlobShape* shape = layer->mutable_input_param()->add_shape();
      if (has_shape) {
        shape->CopyFrom(net_param->input_shape(i));
      } else {
        for (int j = 4 * i; j < 4 * (i + 1); ++j) shape->add_dim(net_param->input_dim(j));
      }
    }
    for (int i = net_param->layer_size() - 1; i > 0; --i)
      net_param->mutable_layer()->SwapElements(i, i - 1);
  }
  net_param->clear_input();
  net_param->clear_input_shape();
  net_param->clear_input_dim();
}

namespace {

bool IsLearnedBatchNorm(const LayerParameter& layer) {
  if (layer.type() != "BatchNorm" || layer.param_size() != 3) return false;
  for (const ParamSpec& param : layer.param()) {
    if (param.lr_mult() != 0 || param.decay_mult() != 0) return true;
  }
  return false;
}

}  // namespace

bool NetNeedsBatchNormUpgrade(const NetParameter& net_param) {
  for (const LayerParameter& layer : net_param.layer()) {
    if (IsLearnedBatchNorm(layer)) return true;
  }
  return false;
}

void UpgradeNetBatchNorm(NetParameter* net_param) {
  for (LayerParameter& layer : *net_param->mutable_layer()) {
    if (!IsLearnedBatchNorm(layer)) continue;
    for (ParamSpec& param : *layer.mutable_param()) {
      param.set_lr_mult(0);
      param.set_decay_mult(0);
    }
  }
}

bool SolverNeedsTypeUpgrade(const SolverParameter& solver_param) {
  return solver_param.has_solver_type();
}

bool UpgradeSolverType(SolverParameter* solver_param) {
  CHECK(!solver_param->has_solver_type() || !solver_param->has_type())
      << "Failed to upgrade solver: old solver_type field (enum) and new type field (string) "
         "cannot be both specified.";
  if (!solver_param->has_solver_type()) return false;
  static const std::map<int, const char*> names = {
      {SolverParameter::SGD, "SGD"},           {SolverParameter::NESTEROV, "Nesterov"},
      {SolverParameter::ADAGRAD, "AdaGrad"},   {SolverParameter::RMSPROP, "RMSProp"},
      {SolverParameter::ADADELTA, "AdaDelta"}, {SolverParameter::ADAM, "Adam"},
  };
  solver_param->set_type(names.at(solver_param->solver_type()));
  solver_param->clear_solver_type();
  return true;
}

bool UpgradeSolverAsNeeded(const string& param_file, SolverParameter* param) {
  if (!SolverNeedsTypeUpgrade(*param)) return true;
  return LoggedUpgrade(
      "input file specified using deprecated 'solver_type' field (enum)",
      "file specified using deprecated 'solver_type' field (enum) to 'type' field (string).",
      param_file, [param] { return UpgradeSolverType(param); });
}

}  // namespace caffe
