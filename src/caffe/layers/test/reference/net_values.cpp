// net_values < IN > OUT: one forward and backward of a net in double precision, for tests that
// compare its values with those of other programs.
//
// IN is a JSON object: "net" (a prototxt), "blobs" (values of its inputs), "gradients" (by blob,
// where backward starts) and "parameters" (by layer, a list for each of its parameters). Values are
// flat lists; those that are missing stay as the net initialised them. Without "gradients" there is
// no backward. OUT has "blobs" and "parameters", each with "shape", "data" and "diff".
#include <google/protobuf/text_format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "caffe/net.hpp"

namespace {

using caffe::Blob;
using nlohmann::json;

void Fill(const json& values, int count, double* to, const std::string& name) {
  CHECK_EQ(static_cast<int>(values.size()), count) << name;
  for (int i = 0; i < count; ++i) to[i] = values[i].get<double>();
}

json Values(const Blob<double>& blob) {
  const double *data = blob.cpu_data(), *diff = blob.cpu_diff();
  return {{"shape", blob.shape()},
          {"data", std::vector<double>(data, data + blob.count())},
          {"diff", std::vector<double>(diff, diff + blob.count())}};
}

}  // namespace

int main(int, char** argv) {
  google::InitGoogleLogging(argv[0]);
  const json in = json::parse(std::cin);
  caffe::NetParameter param;
  CHECK(google::protobuf::TextFormat::ParseFromString(in.at("net").get<std::string>(), &param));
  caffe::Caffe::set_random_seed(1);
  caffe::Net<double> net(param);
  for (const auto& [name, values] : in.at("blobs").items()) {
    Blob<double>* blob = net.blob_by_name(name).get();
    Fill(values, blob->count(), blob->mutable_cpu_data(), name);
  }
  const json none = json::object();
  const json parameters = in.value("parameters", none);
  for (const auto& [name, all] : parameters.items()) {
    auto& blobs = net.layer_by_name(name)->blobs();
    CHECK_EQ(all.size(), blobs.size()) << name;
    for (size_t i = 0; i < all.size(); ++i)
      Fill(all[i], blobs[i]->count(), blobs[i]->mutable_cpu_data(), name);
  }
  net.Forward();
  if (in.contains("gradients")) {
    for (const auto& [name, values] : in["gradients"].items()) {
      Blob<double>* blob = net.blob_by_name(name).get();
      Fill(values, blob->count(), blob->mutable_cpu_diff(), name);
    }
    net.ClearParamDiffs();
    net.Backward();
  }
  json out = {{"blobs", none}, {"parameters", none}};
  for (const std::string& name : net.blob_names())
    out["blobs"][name] = Values(*net.blob_by_name(name));
  for (const auto& layer : net.layers()) {
    for (const auto& blob : layer->blobs())
      out["parameters"][layer->layer_param().name()].push_back(Values(*blob));
  }
  std::cout << out << std::endl;
}
