// Models in old formats: of 2013, with blobs of four axes, hundreds of MB large.
#include <google/protobuf/io/coded_stream.h>

#include <filesystem>
#include <fstream>
#include <numeric>

#include "caffe/net/test/training.hpp"
#include "caffe/util/io.hpp"

namespace caffe {
namespace {

// Inputs without layers, types as enumerations: parts of CaffeNet, with its shapes.
const char kDeploy[] = R"(
name: "CaffeNet"
input: "data"
input_dim: 1
input_dim: 3
input_dim: 227
input_dim: 227
input: "pool5"
input_dim: 1
input_dim: 256
input_dim: 6
input_dim: 6
layers {
  name: "conv1" type: CONVOLUTION bottom: "data" top: "conv1"
  convolution_param { num_output: 96 kernel_size: 11 stride: 4 }
}
layers { name: "relu1" type: RELU bottom: "conv1" top: "conv1" }
layers {
  name: "pool1" type: POOLING bottom: "conv1" top: "pool1"
  pooling_param { pool: MAX kernel_size: 3 stride: 2 }
}
layers {
  name: "fc6" type: INNER_PRODUCT bottom: "pool5" top: "fc6"
  inner_product_param { num_output: 4096 }
}
)";

class OldModels : public ::testing::Test {
 protected:
  OldModels() { MakeTempDir(&folder_); }
  ~OldModels() override { std::filesystem::remove_all(folder_); }
  string Path(const string& name) const { return folder_ + "/" + name; }
  string folder_;
};

/// Adds a blob in the format before blobs had shapes. Its values encode their positions.
void AddBlob(int num, int channels, int height, int width, V1LayerParameter* layer) {
  BlobProto* blob = layer->add_blobs();
  blob->set_num(num);
  blob->set_channels(channels);
  blob->set_height(height);
  blob->set_width(width);
  const int count = num * channels * height * width;
  blob->mutable_data()->Resize(count, 0);
  for (int i = 0; i < count; ++i) blob->set_data(i, static_cast<float>(i % 8191));
}

void ExpectPlaces(const Blob<float>& blob, const vector<int>& shape) {
  ASSERT_EQ(shape, blob.shape());
  for (int i = 0; i < blob.count(); ++i)
    ASSERT_EQ(static_cast<float>(i % 8191), blob.cpu_data()[i]) << i;
}

TEST_F(OldModels, CaffeNetOf2013LoadsWithMoreThan64MBInALayer) {
  NetParameter weights;
  for (const char* name : {"conv1", "fc6"}) weights.add_layers()->set_name(name);
  weights.mutable_layers(0)->set_type(V1LayerParameter::CONVOLUTION);
  AddBlob(96, 3, 11, 11, weights.mutable_layers(0));
  AddBlob(1, 1, 1, 96, weights.mutable_layers(0));
  weights.mutable_layers(1)->set_type(V1LayerParameter::INNER_PRODUCT);
  AddBlob(1, 1, 4096, 9216, weights.mutable_layers(1));
  AddBlob(1, 1, 1, 4096, weights.mutable_layers(1));
  WriteProtoToBinaryFile(weights, Path("w.caffemodel").c_str());
  ASSERT_GT(std::filesystem::file_size(Path("w.caffemodel")), 150'000'000u);
  std::ofstream(Path("deploy.prototxt")) << kDeploy;

  Net<float> net(Path("deploy.prototxt"), TEST);
  net.CopyTrainedLayersFrom(Path("w.caffemodel"));
  ExpectPlaces(*net.layer_by_name("conv1")->blobs()[0], {96, 3, 11, 11});
  ExpectPlaces(*net.layer_by_name("conv1")->blobs()[1], {96});
  ExpectPlaces(*net.layer_by_name("fc6")->blobs()[0], {4096, 9216});
  ExpectPlaces(*net.layer_by_name("fc6")->blobs()[1], {4096});
  ASSERT_EQ(2, net.num_inputs());
  EXPECT_EQ((vector<int>{1, 256, 6, 6}), net.blob_by_name("pool5")->shape());
  net.blob_by_name("pool5")->mutable_cpu_data()[1] = 1;
  net.Forward();
  EXPECT_EQ((vector<int>{1, 96, 27, 27}), net.blob_by_name("pool1")->shape());
  // Weight (1, 1) is at 9217, bias 1 is 1.
  EXPECT_EQ(9217 % 8191 + 1, net.blob_by_name("fc6")->cpu_data()[1]);
}

string Head(uint32_t field, uint64_t size) {
  uint8_t bytes[20];
  uint8_t* end =
      google::protobuf::io::CodedOutputStream::WriteVarint32ToArray(field << 3 | 2, bytes);
  end = google::protobuf::io::CodedOutputStream::WriteVarint64ToArray(size, end);
  return string(bytes, end);
}

TEST_F(OldModels, WeightsBeyond2GBLoad) {
  // Three layers of 0.7 GB, with holes of the file as their zeros, and a last one.
  constexpr int kOutputs = 1024, kInputs = 180224;
  constexpr uint64_t kBytes = uint64_t{kOutputs} * kInputs * sizeof(float);
  BlobProto shape;
  shape.mutable_shape()->add_dim(kOutputs);
  shape.mutable_shape()->add_dim(kInputs);
  std::ofstream file(Path("w.caffemodel"), std::ios::binary);
  for (const string name : {"a", "b", "c"}) {
    const string blob = shape.SerializeAsString() + Head(BlobProto::kDataFieldNumber, kBytes);
    LayerParameter layer;
    layer.set_name(name);
    const string fields =
        layer.SerializeAsString() + Head(LayerParameter::kBlobsFieldNumber, blob.size() + kBytes);
    file << Head(NetParameter::kLayerFieldNumber, fields.size() + blob.size() + kBytes) << fields
         << blob;
    file.seekp(static_cast<std::streamoff>(kBytes) - 1, std::ios::cur);
    file << '\0';
  }
  NetParameter last;
  last.add_layer()->set_name("last");
  BlobProto* values = last.mutable_layer(0)->add_blobs();
  values->mutable_shape()->add_dim(1);
  values->mutable_shape()->add_dim(2);
  values->add_data(3);
  values->add_data(5);
  file << last.SerializeAsString();
  file.close();
  ASSERT_GT(std::filesystem::file_size(Path("w.caffemodel")), uint64_t{1} << 31);

  Net<float> net(
      ParseNet("layer { name: 'in' type: 'Input' top: 'x' top: 'y'"
               "  input_param { shape { dim: 1 dim: 180224 } shape { dim: 1 dim: 2 } } }"
               "layer { name: 'c' type: 'InnerProduct' bottom: 'x' top: 'c'"
               "  inner_product_param { num_output: 1024 bias_term: false"
               "                        weight_filler { type: 'constant' value: 1 } } }"
               "layer { name: 'last' type: 'InnerProduct' bottom: 'y' top: 'last'"
               "  inner_product_param { num_output: 1 bias_term: false } }"));
  Blob<float>& large = *net.layer_by_name("c")->blobs()[0];
  EXPECT_EQ(1, large.cpu_data()[large.count() - 1]);
  net.CopyTrainedLayersFrom(Path("w.caffemodel"));
  EXPECT_EQ(0, std::accumulate(large.cpu_data(), large.cpu_data() + large.count(), 0.f));
  EXPECT_EQ(3, net.layer_by_name("last")->blobs()[0]->cpu_data()[0]);
  EXPECT_EQ(5, net.layer_by_name("last")->blobs()[0]->cpu_data()[1]);
}

}  // namespace
}  // namespace caffe
