#include <glog/logging.h>

#include <cstring>
#include <iomanip>
#include <iostream>
#include <map>

#include "caffe/util/upgrade_proto.hpp"
#include "layrub/commands.hpp"

namespace layrub_tool {

namespace {

using caffe::BlobProto;
using caffe::LayerParameter;
using caffe::NetParameter;

/// Layers by name; the second layer of a name is "name#2" and so on.
std::map<std::string, const LayerParameter*> LayersByName(const NetParameter& net) {
  std::map<std::string, const LayerParameter*> layers;
  for (const LayerParameter& layer : net.layer()) {
    std::string name = layer.name();
    for (int n = 2; layers.count(name); ++n) name = layer.name() + "#" + std::to_string(n);
    layers[name] = &layer;
  }
  return layers;
}

std::string ShapeOf(const BlobProto& blob) {
  std::ostringstream text;
  if (blob.has_shape()) {
    for (int64_t dim : blob.shape().dim()) text << (text.tellp() > 0 ? " " : "") << dim;
  } else {
    text << blob.num() << " " << blob.channels() << " " << blob.height() << " " << blob.width();
  }
  return "(" + text.str() + ")";
}

/// True when both hold the same bits; else says how many values differ and which is the first.
template <typename Field>
bool SameValues(const std::string& what, const Field& a, const Field& b) {
  if (a.size() != b.size()) {
    std::cout << what << ": " << a.size() << " values and " << b.size() << " values\n";
    return false;
  }
  int differing = 0, first = 0;
  for (int i = a.size() - 1; i >= 0; --i) {
    if (std::memcmp(a.data() + i, b.data() + i, sizeof(*a.data())) == 0) continue;
    ++differing;
    first = i;
  }
  if (differing == 0) return true;
  std::cout << what << ": " << differing << " of " << a.size() << " values differ, the first at "
            << first << ": " << std::setprecision(17) << a.Get(first) << " and " << b.Get(first)
            << "\n";
  return false;
}

bool SameBlob(const std::string& what, const BlobProto& a, const BlobProto& b) {
  if (ShapeOf(a) != ShapeOf(b)) {
    std::cout << what << ": shapes " << ShapeOf(a) << " and " << ShapeOf(b) << "\n";
    return false;
  }
  const bool floats = SameValues(what, a.data(), b.data());
  return SameValues(what, a.double_data(), b.double_data()) && floats;
}

bool SameLayer(const std::string& name, const LayerParameter& a, const LayerParameter& b) {
  if (a.blobs_size() != b.blobs_size()) {
    std::cout << name << ": " << a.blobs_size() << " blobs and " << b.blobs_size() << " blobs\n";
    return false;
  }
  bool same = true;
  for (int i = 0; i < a.blobs_size(); ++i) {
    same &= SameBlob(name + ", blob " + std::to_string(i), a.blobs(i), b.blobs(i));
  }
  return same;
}

}  // namespace

int Diff(const std::vector<std::string>& files) {
  FLAGS_minloglevel = google::GLOG_WARNING;
  NetParameter nets[2];
  for (int i = 0; i < 2; ++i) caffe::ReadNetParamsFromBinaryFileOrDie(files[i], &nets[i]);
  const auto a = LayersByName(nets[0]), b = LayersByName(nets[1]);
  bool same = true;
  int blobs = 0;
  for (const auto& [name, layer] : a) {
    const auto other = b.find(name);
    blobs += layer->blobs_size();
    if (other != b.end()) {
      same &= SameLayer(name, *layer, *other->second);
    } else if (layer->blobs_size() > 0) {
      std::cout << name << ": only in " << files[0] << "\n";
      same = false;
    }
  }
  for (const auto& [name, layer] : b) {
    if (a.count(name) || layer->blobs_size() == 0) continue;
    std::cout << name << ": only in " << files[1] << "\n";
    same = false;
  }
  if (blobs == 0) Fail(files[0] + " holds no weights.");
  std::cout << "weights bit-equal: " << (same ? "yes" : "no") << std::endl;
  return same ? kSuccess : kFailure;
}

}  // namespace layrub_tool
