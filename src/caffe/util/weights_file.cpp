#include "caffe/util/weights_file.hpp"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "caffe/util/io.hpp"
#include "caffe/util/upgrade_proto.hpp"

namespace caffe {

namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// The functions below return false if the bytes are invalid.

bool ReadText(CodedInputStream* in, string* text) {
  int size;
  return in->ReadVarintSizeAsInt(&size) && in->ReadString(text, size);
}

/// Lets `read` read a nested message, which it must read to the end.
template <typename Read>
bool ReadNested(CodedInputStream* in, const Read& read) {
  int size;
  if (!in->ReadVarintSizeAsInt(&size)) return false;
  const CodedInputStream::Limit limit = in->PushLimit(size);
  const bool whole = read() && in->BytesUntilLimit() == 0;
  in->PopLimit(limit);
  return whole;
}

bool ReadMessage(CodedInputStream* in, google::protobuf::Message* message) {
  return ReadNested(in, [&] { return message->MergePartialFromCodedStream(in); });
}

/// Reads the fields of a layer up to the end of its message. `read_field` returns whether it could
/// read or skip the field of a tag.
template <typename ReadField>
bool ReadFields(CodedInputStream* in, const ReadField& read_field) {
  while (const uint32_t tag = in->ReadTag())
    if (!read_field(tag)) return false;
  return in->ConsumedEntireMessage();
}

constexpr uint32_t Delimited(int number) {
  return static_cast<uint32_t>(number) << 3 | WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
}

bool ReadLayer(CodedInputStream* in, LayerParameter* layer) {
  return ReadFields(in, [&](uint32_t tag) {
    switch (tag) {
      case Delimited(LayerParameter::kNameFieldNumber):
        return ReadText(in, layer->mutable_name());
      case Delimited(LayerParameter::kTypeFieldNumber):
        return ReadText(in, layer->mutable_type());
      case Delimited(LayerParameter::kBottomFieldNumber):
        return ReadText(in, layer->add_bottom());
      case Delimited(LayerParameter::kTopFieldNumber):
        return ReadText(in, layer->add_top());
      case Delimited(LayerParameter::kBlobsFieldNumber):
        return ReadMessage(in, layer->add_blobs());
      default:
        return WireFormatLite::SkipField(in, tag);
    }
  });
}

/// Skips a type that only forks have.
bool ReadType(CodedInputStream* in, V1LayerParameter* layer) {
  uint32_t type;
  if (!in->ReadVarint32(&type)) return false;
  if (const int number = static_cast<int>(type); V1LayerParameter::LayerType_IsValid(number))
    layer->set_type(static_cast<V1LayerParameter::LayerType>(number));
  return true;
}

bool ReadLayer(CodedInputStream* in, V1LayerParameter* layer) {
  return ReadFields(in, [&](uint32_t tag) {
    switch (tag) {
      case Delimited(V1LayerParameter::kNameFieldNumber):
        return ReadText(in, layer->mutable_name());
      case V1LayerParameter::kTypeFieldNumber << 3 | WireFormatLite::WIRETYPE_VARINT:
        return ReadType(in, layer);
      case Delimited(V1LayerParameter::kBottomFieldNumber):
        return ReadText(in, layer->add_bottom());
      case Delimited(V1LayerParameter::kTopFieldNumber):
        return ReadText(in, layer->add_top());
      case Delimited(V1LayerParameter::kBlobsFieldNumber):
        return ReadMessage(in, layer->add_blobs());
      case Delimited(V1LayerParameter::kLayerFieldNumber):
        return ReadMessage(in, layer->mutable_layer());
      default:
        return WireFormatLite::SkipField(in, tag);
    }
  });
}

}  // namespace

void ReadWeightsFromBinaryFileOrDie(const string& file, NetParameter* param) {
  param->Clear();
  ReadFieldsFromBinaryFileOrDie(file, "NetParameter", [param](uint32_t tag, CodedInputStream* in) {
    switch (tag) {
      case Delimited(NetParameter::kNameFieldNumber):
        return ReadText(in, param->mutable_name());
      case Delimited(NetParameter::kLayerFieldNumber):
        return ReadNested(in, [&] { return ReadLayer(in, param->add_layer()); });
      case Delimited(NetParameter::kLayersFieldNumber):
        return ReadNested(in, [&] { return ReadLayer(in, param->add_layers()); });
      default:
        return WireFormatLite::SkipField(in, tag);
    }
  });
  CHECK(param->layer_size() > 0 || param->layers_size() > 0)
      << file << " holds no layers: it is empty, or no .caffemodel.";
  UpgradeNetAsNeeded(file, param);
}

}  // namespace caffe
