#include "caffe/util/weights_file.hpp"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "caffe/net.hpp"
#include "caffe/test/expect_error.hpp"
#include "caffe/util/io.hpp"

namespace caffe {
namespace {

using google::protobuf::TextFormat;

/// A number as the wire has it.
string Varint(uint32_t value) {
  uint8_t bytes[10];
  uint8_t* end = google::protobuf::io::CodedOutputStream::WriteVarint32ToArray(value, bytes);
  return string(bytes, end);
}
string Number(uint32_t field, uint32_t value) { return Varint(field << 3) + Varint(value); }
string Nested(uint32_t field, const string& bytes) {
  return Varint(field << 3 | 2) + Varint(static_cast<uint32_t>(bytes.size())) + bytes;
}

BlobProto Blob4(vector<float> values, int num, int channels, int height, int width) {
  BlobProto blob;
  for (float value : values) blob.add_data(value);
  blob.set_num(num);
  blob.set_channels(channels);
  blob.set_height(height);
  blob.set_width(width);
  return blob;
}

BlobProto Shaped(vector<float> values, vector<int> shape) {
  BlobProto blob;
  for (float value : values) blob.add_data(value);
  for (int dim : shape) blob.mutable_shape()->add_dim(dim);
  return blob;
}

NetParameter Deploy() {
  NetParameter net;
  CHECK(TextFormat::ParseFromString(R"(
    layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 1 dim: 2 } } }
    layer { name: "ip" type: "InnerProduct" bottom: "x" top: "y"
            inner_product_param { num_output: 1 } })",
                                    &net));
  return net;
}

class WeightsFile : public ::testing::Test {
 protected:
  WeightsFile() { MakeTempDir(&folder_); }
  ~WeightsFile() override { std::filesystem::remove_all(folder_); }
  string Write(const string& bytes) const {
    std::ofstream(folder_ + "/w.caffemodel", std::ios::binary) << bytes;
    return folder_ + "/w.caffemodel";
  }
  vector<float> Loaded(const string& bytes) const {
    Net<float> net(Deploy());
    net.CopyTrainedLayersFrom(Write(bytes));
    vector<float> values;
    for (const auto& blob : net.layer_by_name("ip")->blobs())
      values.insert(values.end(), blob->cpu_data(), blob->cpu_data() + blob->count());
    return values;
  }
  string folder_;
};

const vector<float> kWeights{3, 5, 7};

/// The layer ip with its weights and `more` fields.
string Layer(const string& more) {
  return Nested(1, "ip") + Nested(2, "InnerProduct") + more +
         Nested(7, Shaped({3, 5}, {1, 2}).SerializeAsString()) +
         Nested(7, Shaped({7}, {1}).SerializeAsString());
}

TEST_F(WeightsFile, SkipsFieldsOfForksThatClashWithOurs) {
  string clashing;
  // Enums, messages and texts with the field numbers of our messages; clip_param has required
  // fields.
  for (uint32_t field : {136u, 137u, 138u, 139u, 140u, 141u, 143u, 144u, 145u, 146u, 147u, 148u}) {
    clashing += Number(field, 1) + Nested(field, "") + Nested(field, "\xff\xff");
    clashing += Varint(field << 3 | 5) + "abcd" + Varint(field << 3 | 1) + "abcdefgh";
  }
  const string bytes = Number(2000, 3) + Nested(1, "fork") + Nested(100, Layer(clashing)) +
                       Nested(8, "\xff\xff") + Nested(7171, "\xff");
  EXPECT_EQ(kWeights, Loaded(bytes));
  NetParameter read;
  ReadWeightsFromBinaryFileOrDie(Write(bytes), &read);
  EXPECT_EQ("fork", read.name());
  EXPECT_EQ("InnerProduct", read.layer(0).type());
  EXPECT_FALSE(read.layer(0).has_clip_param());
}

TEST_F(WeightsFile, LoadsLegacyBlobsWithFourAxes) {
  NetParameter net;
  LayerParameter* layer = net.add_layer();
  layer->set_name("ip");
  *layer->add_blobs() = Blob4({3, 5}, 1, 1, 1, 2);
  *layer->add_blobs() = Blob4({7}, 1, 1, 1, 1);
  EXPECT_EQ(kWeights, Loaded(net.SerializeAsString()));
}

TEST_F(WeightsFile, LoadsLayersOfOldFormatsWithFieldsOfForks) {
  NetParameter v1;
  V1LayerParameter* layer = v1.add_layers();
  layer->set_name("ip");
  layer->set_type(V1LayerParameter::INNER_PRODUCT);
  *layer->add_blobs() = Blob4({3, 5}, 1, 1, 1, 2);
  *layer->add_blobs() = Blob4({7}, 1, 1, 1, 1);
  EXPECT_EQ(kWeights, Loaded(v1.SerializeAsString()));
  // A type and options that only a fork has.
  const string fork = layer->SerializeAsString() + Number(5, 99) + Nested(10, "\xff\xff");
  EXPECT_EQ(kWeights, Loaded(Nested(2, fork)));

  NetParameter v0;
  V0LayerParameter* inner = v0.add_layers()->mutable_layer();
  inner->set_name("ip");
  inner->set_type("innerproduct");
  *inner->add_blobs() = Blob4({3, 5}, 1, 1, 1, 2);
  *inner->add_blobs() = Blob4({7}, 1, 1, 1, 1);
  EXPECT_EQ(kWeights, Loaded(v0.SerializeAsString()));
}

TEST_F(WeightsFile, KeepsTheFieldsThatWeightsNeed) {
  NetParameter net = Deploy(), read;
  *net.mutable_layer(1)->add_blobs() = Shaped({3, 5}, {1, 2});
  ReadWeightsFromBinaryFileOrDie(Write(net.SerializeAsString()), &read);
  net.mutable_layer(0)->clear_input_param();
  net.mutable_layer(1)->clear_inner_product_param();
  EXPECT_EQ(net.DebugString(), read.DebugString());
}

TEST_F(WeightsFile, ReportsFilesWithoutWeights) {
  NetParameter read;
  const string whole = Nested(100, Layer(""));
  const auto refuse = [&](const string& bytes, const string& why) {
    EXPECT_ERROR(ReadWeightsFromBinaryFileOrDie(Write(bytes), &read), "w.caffemodel" + why);
  };
  refuse("", " holds no layers");
  for (size_t cut = 1; cut < whole.size(); cut += 5)
    refuse(whole.substr(0, cut), ": no binary NetParameter .* from byte");
  const string skipped = Nested(100, Layer(Nested(148, string(100000, 'x')) + Number(10, 1)));
  for (size_t cut : {size_t{1000}, size_t{90000}})
    refuse(skipped.substr(0, cut), ": no binary NetParameter");
  const string last = whole + Nested(2000, string(100000, 'x'));
  refuse(last.substr(0, last.size() - 1), ": no binary NetParameter");
  refuse(string(8, '\0'), ": no binary NetParameter");
  refuse(Varint(100 << 3 | 2) + Varint(0xffffffff) + whole, ": no binary NetParameter");
  EXPECT_ERROR(ReadWeightsFromBinaryFileOrDie(folder_ + "/none", &read), "none");
}

TEST_F(WeightsFile, MayBeLargerThanTwoGiB) {
  // Unknown fields of 1 GiB in a file with holes; they are skipped.
  const string path = Write("");
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  constexpr uint32_t kHole = 1u << 30;
  for (int i = 0; i < 3; ++i) {
    const string head = Varint(2000 << 3 | 2) + Varint(kHole);
    file.write(head.data(), static_cast<std::streamsize>(head.size()));
    file.seekp(kHole, std::ios::cur);
  }
  const string layer = Nested(100, Layer(""));
  file.write(layer.data(), static_cast<std::streamsize>(layer.size()));
  file.close();
  ASSERT_GT(std::filesystem::file_size(path), 3ull << 30);
  NetParameter read;
  ReadWeightsFromBinaryFileOrDie(path, &read);
  ASSERT_EQ(1, read.layer_size());
  EXPECT_EQ(5, read.layer(0).blobs(0).data(1));
}

}  // namespace
}  // namespace caffe
