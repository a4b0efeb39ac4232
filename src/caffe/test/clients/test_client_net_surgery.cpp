// A program that changes a net between passes, as Caffe's users do: without a plan, and with one
// that keeps every blob.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "caffe/caffe.hpp"

namespace caffe {
namespace {

// x (2 values) -> a = 3 x + 1 -> b = a (in place ReLU) -> c = b1 + b2
const char kNet[] =
    "name: 'surgery' force_backward: true "
    "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 2 } } } "
    "layer { name: 'fc1' type: 'InnerProduct' bottom: 'x' top: 'a' param { lr_mult: 1 } "
    "        param { lr_mult: 2 decay_mult: 0 } inner_product_param { num_output: 2 } } "
    "layer { name: 'relu' type: 'ReLU' bottom: 'a' top: 'a' } "
    "layer { name: 'fc2' type: 'InnerProduct' bottom: 'a' top: 'c' "
    "        param { name: 'sum' } inner_product_param { num_output: 1 bias_term: false } } ";

NetParameter Param() {
  NetParameter param;
  CHECK(google::protobuf::TextFormat::ParseFromString(kNet, &param));
  param.mutable_state()->set_phase(TRAIN);
  return param;
}

void Set(Blob<float>* blob, const vector<float>& values) {
  ASSERT_EQ(blob->count(), values.size());
  caffe_copy(blob->count(), values.data(), blob->mutable_cpu_data());
}

void ExpectData(const Blob<float>& blob, const vector<float>& values) {
  EXPECT_EQ(vector<float>(blob.cpu_data(), blob.cpu_data() + blob.count()), values);
}
void ExpectDiff(const Blob<float>& blob, const vector<float>& values) {
  EXPECT_EQ(vector<float>(blob.cpu_diff(), blob.cpu_diff() + blob.count()), values);
}

/// fc1 = ((3, 0), (0, 3)) x + (1, 1), fc2 = (1, 1).
void Operate(Net<float>* net) {
  Set(net->layer_by_name("fc1")->blobs()[0].get(), {3, 0, 0, 3});
  Set(net->layer_by_name("fc1")->blobs()[1].get(), {1, 1});
  Set(net->layer_by_name("fc2")->blobs()[0].get(), {1, 1});
}

class SurgeryTest : public ::testing::TestWithParam<bool> {
 protected:
  SurgeryTest() : net_(Param()) {
    if (GetParam()) {
      PlacementOptions options;
      options.strategy = "keep";
      CHECK(net_.Place(options).ok());
    }
    Operate(&net_);
  }
  Net<float> net_;
};

TEST_P(SurgeryTest, ReadsAndWritesBlobsBetweenPasses) {
  Set(net_.input_blobs()[0], {1, -2});
  float loss = -1;
  const vector<Blob<float>*>& outputs = net_.Forward(&loss);
  EXPECT_EQ(loss, 0);
  ASSERT_EQ(outputs.size(), 1);
  ExpectData(*outputs[0], {4});
  ExpectData(*net_.blob_by_name("a"), {4, 0});
  // A gradient set by the user.
  outputs[0]->mutable_cpu_diff()[0] = 5;
  net_.ClearParamDiffs();
  net_.Backward();
  ExpectDiff(*net_.blob_by_name("x"), {15, 0});
  ExpectDiff(*net_.params()[0], {5, -10, 0, 0});
  ExpectDiff(*net_.params()[1], {5, 0});
  ExpectDiff(*net_.params()[2], {20, 0});
  net_.Update();
  ExpectData(*net_.params()[0], {-2, 10, 0, 3});
  ExpectData(*net_.params()[1], {-4, 1});
  ExpectData(*net_.params()[2], {-19, 1});
  EXPECT_EQ(net_.params()[2]->asum_data(), 20);
  EXPECT_EQ(net_.params()[2]->sumsq_data(), 362);
}

TEST_P(SurgeryTest, RunsPartsOfTheNet) {
  Set(net_.blob_by_name("x").get(), {1, 2});
  net_.Forward();
  // Starts in the middle, with values set by the user.
  net_.ForwardTo(2);
  Set(net_.blob_by_name("a").get(), {10, 20});
  net_.ForwardFrom(3);
  ExpectData(*net_.output_blobs()[0], {30});
  net_.ForwardFromTo(1, 2);
  ExpectData(*net_.blob_by_name("a"), {4, 7});
  net_.blob_by_name("c")->mutable_cpu_diff()[0] = 1;
  net_.BackwardFrom(3);
  ExpectDiff(*net_.blob_by_name("x"), {3, 3});
  net_.blob_by_name("a")->mutable_cpu_diff()[0] = 7;
  net_.BackwardFromTo(1, 1);
  ExpectDiff(*net_.blob_by_name("x"), {21, 3});
}

TEST_P(SurgeryTest, SharesAndCopiesTrainedLayers) {
  Net<float> sharing(Param());
  sharing.ShareTrainedLayersWith(&net_);
  Net<float> copy(Param());
  NetParameter trained;
  net_.ToProto(&trained);
  copy.CopyTrainedLayersFrom(trained);
  string file;
  MakeTempFilename(&file);
  WriteProtoToBinaryFile(trained, file);
  Net<float> loaded(Param());
  loaded.CopyTrainedLayersFrom(file);
  // Changes the net that shares the parameters, and no other.
  Set(net_.params()[2].get(), {1, 2});
  const float kExpected[] = {18, 18, 11, 11};
  Net<float>* const nets[] = {&net_, &sharing, &copy, &loaded};
  for (int i = 0; i < 4; ++i) {
    Set(nets[i]->input_blobs()[0], {1, 2});
    EXPECT_EQ(nets[i]->Forward()[0]->cpu_data()[0], kExpected[i]) << i;
  }
}

TEST_P(SurgeryTest, ReshapesItsInput) {
  net_.input_blobs()[0]->Reshape(vector<int>{3, 2});
  net_.Reshape();
  EXPECT_EQ(net_.output_blobs()[0]->shape(), vector<int>({3, 1}));
  Set(net_.input_blobs()[0], {0, 0, 1, 1, 2, 2});
  net_.Forward();
  ExpectData(*net_.output_blobs()[0], {2, 8, 14});
}

TEST_P(SurgeryTest, ReportsItsStructure) {
  EXPECT_EQ(net_.name(), "surgery");
  EXPECT_EQ(net_.phase(), TRAIN);
  EXPECT_EQ(net_.layer_names(), vector<string>({"x", "fc1", "relu", "fc2"}));
  EXPECT_EQ(net_.blob_names(), vector<string>({"x", "a", "c"}));
  EXPECT_EQ(net_.layers().size(), 4);
  EXPECT_EQ(net_.blobs()[1], net_.blob_by_name("a"));
  EXPECT_EQ(net_.bottom_vecs()[2], net_.top_vecs()[2]);
  EXPECT_EQ(net_.bottom_ids(3), vector<int>({1}));
  EXPECT_EQ(net_.top_ids(3), vector<int>({2}));
  EXPECT_EQ(net_.bottom_need_backward()[1], vector<bool>({true}));
  EXPECT_EQ(net_.layer_need_backward(), vector<bool>(4, true));
  EXPECT_EQ(net_.blob_loss_weights(), vector<float>({0, 0, 0}));
  EXPECT_EQ(net_.params().size(), 3);
  EXPECT_EQ(net_.learnable_params().size(), 3);
  EXPECT_EQ(net_.params_lr(), vector<float>({1, 2, 1}));
  EXPECT_EQ(net_.has_params_lr(), vector<bool>({true, true, false}));
  EXPECT_EQ(net_.params_weight_decay(), vector<float>({1, 0, 1}));
  EXPECT_EQ(net_.has_params_decay(), vector<bool>({false, true, false}));
  EXPECT_EQ(net_.param_names_index().at("sum"), 2);
  EXPECT_EQ(net_.param_owners(), vector<int>({-1, -1, -1}));
  EXPECT_EQ(net_.param_display_names(), vector<string>({"0", "1", "sum"}));
  EXPECT_EQ(net_.num_inputs(), 1);
  EXPECT_EQ(net_.num_outputs(), 1);
  EXPECT_EQ(net_.input_blob_indices(), vector<int>({0}));
  EXPECT_EQ(net_.output_blob_indices(), vector<int>({2}));
  EXPECT_TRUE(net_.has_blob("a"));
  EXPECT_FALSE(net_.has_blob("b"));
  EXPECT_FALSE(net_.blob_by_name("b"));
  EXPECT_TRUE(net_.has_layer("relu"));
  EXPECT_FALSE(net_.layer_by_name("a"));
}

INSTANTIATE_TEST_SUITE_P(Nets, SurgeryTest, ::testing::Bool(),
                         [](const ::testing::TestParamInfo<bool>& test) {
                           return string(test.param ? "Planned" : "Unplanned");
                         });

TEST(ClientBlob, HasCaffesStates) {
  Caffe::set_mode(Caffe::CPU);
  Blob<float> blob(1, 2, 3, 4);
  EXPECT_EQ(blob.data()->head(), SyncedMemory::UNINITIALIZED);
  EXPECT_EQ(blob.asum_data(), 0);
  EXPECT_EQ(blob.data()->head(), SyncedMemory::UNINITIALIZED);
  EXPECT_EQ(blob.data()->size(), 24 * sizeof(float));
  blob.cpu_data();
  EXPECT_EQ(blob.data()->head(), SyncedMemory::HEAD_AT_CPU);
  EXPECT_EQ(blob.diff()->head(), SyncedMemory::UNINITIALIZED);
  blob.mutable_cpu_diff()[23] = 2;
  EXPECT_EQ(blob.diff()->head(), SyncedMemory::HEAD_AT_CPU);
  EXPECT_EQ(blob.diff_at(0, 1, 2, 3), 2);
  EXPECT_EQ(blob.sumsq_diff(), 4);
  blob.Update();
  EXPECT_EQ(blob.data_at(vector<int>({0, 1, 2, 3})), -2);

  Blob<float> copy, view(vector<int>(1, 24));
  copy.CopyFrom(blob, false, true);
  EXPECT_EQ(copy.shape_string(), "1 2 3 4 (24)");
  view.ShareData(blob);
  EXPECT_EQ(view.data(), blob.data());
  EXPECT_EQ(view.num(), 24);
  EXPECT_EQ(view.width(), 1);
  view.mutable_cpu_data()[0] = 9;
  EXPECT_EQ(blob.cpu_data()[0], 9);
  EXPECT_EQ(copy.cpu_data()[0], 0);

  vector<float> mine(24, 3);
  blob.set_cpu_data(mine.data());
  EXPECT_EQ(blob.cpu_data(), mine.data());
  EXPECT_EQ(blob.asum_data(), 72);
  blob.scale_data(2);
  EXPECT_EQ(mine[5], 6);

  BlobProto proto;
  blob.ToProto(&proto, true);
  EXPECT_EQ(proto.data_size(), 24);
  EXPECT_EQ(proto.diff(23), 2);
  Blob<double> read;
  read.FromProto(proto);
  EXPECT_EQ(read.cpu_data()[7], 6);
  EXPECT_TRUE(blob.ShapeEquals(proto));

  Blob<float> none;
  EXPECT_EQ(none.asum_data(), 0);
  EXPECT_EQ(none.sumsq_diff(), 0);
  Blob<int> whole(vector<int>(1, 2));
  whole.mutable_cpu_data()[1] = 4;
  EXPECT_EQ(whole.data_at(vector<int>(1, 1)), 4);
}

}  // namespace
}  // namespace caffe
