// V0 nets: one message holds the options of every layer type.
#include <google/protobuf/descriptor.h>

#include <map>
#include <string>
#include <vector>

#include "caffe/util/upgrade_proto.hpp"

namespace caffe {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

namespace {

// Where a field of V0LayerParameter went: for layers of type `v0_type` ("" = any), to `field` of
// the message `param` of V1LayerParameter ("" = of V1LayerParameter itself).
struct Move {
  const char* v0_field;
  const char* v0_type;
  const char* param;
  const char* field;
};

const Move kMoves[] = {
    {"name", "", "", "name"},
    {"blobs", "", "", "blobs"},
    {"blobs_lr", "", "", "blobs_lr"},
    {"weight_decay", "", "", "weight_decay"},
    {"num_output", "conv", "convolution_param", "num_output"},
    {"num_output", "innerproduct", "inner_product_param", "num_output"},
    {"biasterm", "conv", "convolution_param", "bias_term"},
    {"biasterm", "innerproduct", "inner_product_param", "bias_term"},
    {"weight_filler", "conv", "convolution_param", "weight_filler"},
    {"weight_filler", "innerproduct", "inner_product_param", "weight_filler"},
    {"bias_filler", "conv", "convolution_param", "bias_filler"},
    {"bias_filler", "innerproduct", "inner_product_param", "bias_filler"},
    {"pad", "conv", "convolution_param", "pad"},
    {"pad", "pool", "pooling_param", "pad"},
    {"kernelsize", "conv", "convolution_param", "kernel_size"},
    {"kernelsize", "pool", "pooling_param", "kernel_size"},
    {"group", "conv", "convolution_param", "group"},
    {"stride", "conv", "convolution_param", "stride"},
    {"stride", "pool", "pooling_param", "stride"},
    {"pool", "pool", "pooling_param", "pool"},
    {"dropout_ratio", "dropout", "dropout_param", "dropout_ratio"},
    {"local_size", "lrn", "lrn_param", "local_size"},
    {"alpha", "lrn", "lrn_param", "alpha"},
    {"beta", "lrn", "lrn_param", "beta"},
    {"k", "lrn", "lrn_param", "k"},
    {"source", "data", "data_param", "source"},
    {"source", "hdf5_data", "hdf5_data_param", "source"},
    {"source", "images", "image_data_param", "source"},
    {"source", "window_data", "window_data_param", "source"},
    {"source", "infogain_loss", "infogain_loss_param", "source"},
    {"scale", "", "transform_param", "scale"},
    {"meanfile", "", "transform_param", "mean_file"},
    {"batchsize", "data", "data_param", "batch_size"},
    {"batchsize", "hdf5_data", "hdf5_data_param", "batch_size"},
    {"batchsize", "images", "image_data_param", "batch_size"},
    {"batchsize", "window_data", "window_data_param", "batch_size"},
    {"cropsize", "", "transform_param", "crop_size"},
    {"mirror", "", "transform_param", "mirror"},
    {"rand_skip", "data", "data_param", "rand_skip"},
    {"rand_skip", "images", "image_data_param", "rand_skip"},
    {"shuffle_images", "images", "image_data_param", "shuffle"},
    {"new_height", "images", "image_data_param", "new_height"},
    {"new_width", "images", "image_data_param", "new_width"},
    {"concat_dim", "concat", "concat_param", "concat_dim"},
    {"det_fg_threshold", "window_data", "window_data_param", "fg_threshold"},
    {"det_bg_threshold", "window_data", "window_data_param", "bg_threshold"},
    {"det_fg_fraction", "window_data", "window_data_param", "fg_fraction"},
    {"det_context_pad", "window_data", "window_data_param", "context_pad"},
    {"det_crop_mode", "window_data", "window_data_param", "crop_mode"},
    {"hdf5_output_param", "hdf5_output", "", "hdf5_output_param"},
};

const Move* FindMove(const string& v0_field, const string& v0_type) {
  for (const Move& move : kMoves) {
    if (v0_field == move.v0_field && (*move.v0_type == '\0' || v0_type == move.v0_type))
      return &move;
  }
  return nullptr;
}

const FieldDescriptor& FieldOf(const Message& message, const string& name) {
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name);
  CHECK(field != nullptr) << message.GetDescriptor()->full_name() << " has no field " << name;
  return *field;
}

// The readers and writers that protobuf's reflection has for one type; `Get` and `Set` take a
// field, `GetAt` also an index.
#define COPY_VALUES(Type)                                                                    \
  for (int i = 0; i < count; ++i) {                                                          \
    const auto value = from_field.is_repeated() ? in.GetRepeated##Type(from, &from_field, i) \
                                                : in.Get##Type(from, &from_field);           \
    if (to_field.is_repeated()) {                                                            \
      out.Add##Type(to, &to_field, value);                                                   \
    } else {                                                                                 \
      out.Set##Type(to, &to_field, value);                                                   \
    }                                                                                        \
  }                                                                                          \
  return

// Copies a field's value or values; a single value may go to a repeated field, and numbers to
// another width.
void CopyField(const Message& from, const FieldDescriptor& from_field, Message* to,
               const FieldDescriptor& to_field) {
  const Reflection& in = *from.GetReflection();
  const Reflection& out = *to->GetReflection();
  const int count = from_field.is_repeated() ? in.FieldSize(from, &from_field) : 1;
  switch (to_field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_FLOAT:
      COPY_VALUES(Float);
    case FieldDescriptor::CPPTYPE_BOOL:
      COPY_VALUES(Bool);
    case FieldDescriptor::CPPTYPE_STRING:
      COPY_VALUES(String);
    case FieldDescriptor::CPPTYPE_UINT32:
      if (from_field.cpp_type() == FieldDescriptor::CPPTYPE_INT32) {
        out.SetUInt32(to, &to_field, static_cast<uint32_t>(in.GetInt32(from, &from_field)));
        return;
      }
      COPY_VALUES(UInt32);
    case FieldDescriptor::CPPTYPE_ENUM:
      out.SetEnumValue(to, &to_field, in.GetEnumValue(from, &from_field));
      return;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      for (int i = 0; i < count; ++i) {
        const Message& value = from_field.is_repeated()
                                   ? in.GetRepeatedMessage(from, &from_field, i)
                                   : in.GetMessage(from, &from_field);
        (to_field.is_repeated() ? out.AddMessage(to, &to_field) : out.MutableMessage(to, &to_field))
            ->CopyFrom(value);
      }
      return;
    default:
      LOG(FATAL) << "No V0 field becomes " << to_field.full_name();
  }
}

#undef COPY_VALUES

bool IsPadding(const V1LayerParameter& layer) { return layer.layer().type() == "padding"; }

// Removes a padding layer: its reader, a convolution or pooling layer, reads the padding layer's
// bottom and pads itself.
void AbsorbPadding(const V1LayerParameter& padding, V1LayerParameter* reader) {
  const string& type = reader->layer().type();
  CHECK(type == "conv" || type == "pool")
      << "Layer '" << reader->layer().name() << "' of type " << type
      << " reads a padding layer; only conv and pool can.";
  CHECK_EQ(reader->bottom_size(), 1)
      << "Layer '" << reader->layer().name() << "' takes a single blob as input.";
  CHECK_EQ(padding.bottom_size(), 1)
      << "Padding layer '" << padding.layer().name() << "' takes a single blob.";
  CHECK_EQ(padding.top_size(), 1) << "Padding layer '" << padding.layer().name()
                                  << "' produces a single blob.";
  reader->mutable_layer()->set_pad(padding.layer().pad());
  reader->set_bottom(0, padding.bottom(0));
}

}  // namespace

bool NetNeedsV0ToV1Upgrade(const NetParameter& net_param) {
  for (const V1LayerParameter& layer : net_param.layers()) {
    if (layer.has_layer()) return true;
  }
  return false;
}

bool UpgradeV0Net(const NetParameter& v0_net_param, NetParameter* net_param) {
  NetParameter unpadded;
  UpgradeV0PaddingLayers(v0_net_param, &unpadded);
  bool complete = true;
  net_param->CopyFrom(unpadded);
  net_param->clear_layers();
  for (const V1LayerParameter& layer : unpadded.layers()) {
    complete &= UpgradeV0LayerParameter(layer, net_param->add_layers());
  }
  return complete;
}

void UpgradeV0PaddingLayers(const NetParameter& param, NetParameter* param_upgraded_pad) {
  param_upgraded_pad->CopyFrom(param);
  param_upgraded_pad->clear_layers();
  std::map<string, const V1LayerParameter*> writer;  // null for an input of the net
  for (const string& input : param.input()) writer[input] = nullptr;
  for (const V1LayerParameter& original : param.layers()) {
    V1LayerParameter layer = original;
    for (int j = 0; j < original.bottom_size(); ++j) {
      const auto found = writer.find(original.bottom(j));
      if (found == writer.end()) {
        LOG(FATAL) << "Unknown bottom blob '" << original.bottom(j) << "' (layer '"
                   << original.layer().name() << "', bottom index " << j << ")";
      }
      if (found->second != nullptr && IsPadding(*found->second) && !IsPadding(original)) {
        AbsorbPadding(*found->second, &layer);
      }
    }
    for (const string& top : original.top()) writer[top] = &original;
    if (!IsPadding(original)) param_upgraded_pad->add_layers()->Swap(&layer);
  }
}

bool UpgradeV0LayerParameter(const V1LayerParameter& v0_layer_connection,
                             V1LayerParameter* layer_param) {
  layer_param->CopyFrom(v0_layer_connection);
  layer_param->clear_layer();
  if (!v0_layer_connection.has_layer()) return true;
  const V0LayerParameter& v0 = v0_layer_connection.layer();
  bool complete = true;
  if (v0.has_type()) layer_param->set_type(UpgradeV0LayerType(v0.type()));
  std::vector<const FieldDescriptor*> fields;
  v0.GetReflection()->ListFields(v0, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->number() == V0LayerParameter::kTypeFieldNumber) continue;
    const Move* move = FindMove(field->name(), v0.type());
    if (move == nullptr) {
      LOG(ERROR) << "Unknown parameter " << field->name() << " for layer type " << v0.type()
                 << " (layer '" << v0.name() << "')";
      complete = false;
      continue;
    }
    Message* target = layer_param;
    if (*move->param != '\0') {
      target = target->GetReflection()->MutableMessage(target, &FieldOf(*target, move->param));
    }
    CopyField(v0, *field, target, FieldOf(*target, move->field));
  }
  return complete;
}

V1LayerParameter_LayerType UpgradeV0LayerType(const string& type) {
  static const std::map<string, V1LayerParameter_LayerType> types = {
      {"accuracy", V1LayerParameter::ACCURACY},
      {"bnll", V1LayerParameter::BNLL},
      {"concat", V1LayerParameter::CONCAT},
      {"conv", V1LayerParameter::CONVOLUTION},
      {"data", V1LayerParameter::DATA},
      {"dropout", V1LayerParameter::DROPOUT},
      {"euclidean_loss", V1LayerParameter::EUCLIDEAN_LOSS},
      {"flatten", V1LayerParameter::FLATTEN},
      {"hdf5_data", V1LayerParameter::HDF5_DATA},
      {"hdf5_output", V1LayerParameter::HDF5_OUTPUT},
      {"im2col", V1LayerParameter::IM2COL},
      {"images", V1LayerParameter::IMAGE_DATA},
      {"infogain_loss", V1LayerParameter::INFOGAIN_LOSS},
      {"innerproduct", V1LayerParameter::INNER_PRODUCT},
      {"lrn", V1LayerParameter::LRN},
      {"multinomial_logistic_loss", V1LayerParameter::MULTINOMIAL_LOGISTIC_LOSS},
      {"pool", V1LayerParameter::POOLING},
      {"relu", V1LayerParameter::RELU},
      {"sigmoid", V1LayerParameter::SIGMOID},
      {"softmax", V1LayerParameter::SOFTMAX},
      {"softmax_loss", V1LayerParameter::SOFTMAX_LOSS},
      {"split", V1LayerParameter::SPLIT},
      {"tanh", V1LayerParameter::TANH},
      {"window_data", V1LayerParameter::WINDOW_DATA},
  };
  const auto found = types.find(type);
  if (found == types.end()) LOG(FATAL) << "Unknown layer name: " << type;
  return found->second;
}

}  // namespace caffe
