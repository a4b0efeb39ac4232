#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "caffe/filler.hpp"
#include "caffe/net.hpp"
#include "caffe/source_shapes.hpp"
#include "caffe/test/expect_error.hpp"
#include "caffe/util/db.hpp"
#include "caffe/util/hdf5.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/shape_only.hpp"
#include "layrub/device/pool.hpp"

#ifdef USE_OPENCV
#include <opencv2/core/core.hpp>
#include <opencv2/imgcodecs.hpp>
#endif

namespace caffe {
namespace {

NetParameter ParseNet(const string& text) {
  NetParameter net;
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &net)) << text;
  return net;
}

/// A classifier after a source layer with the given fields.
NetParameter Classifier(const string& source_fields) {
  return ParseNet("name: 'n' layer { name: 'in' top: 'data' top: 'label' " + source_fields + R"( }
    layer {
      name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv'
      convolution_param { num_output: 4 kernel_size: 3 weight_filler { type: 'xavier' } }
    }
    layer { name: 'relu' type: 'ReLU' bottom: 'conv' top: 'conv' }
    layer {
      name: 'ip' type: 'InnerProduct' bottom: 'conv' top: 'ip'
      inner_product_param { num_output: 3 weight_filler { type: 'xavier' } bias_filler { type: 'constant' value: 1 } }
    }
    layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' })");
}

/// The shapes of the source's tops, as text: "2 3 8 8, 2".
string Shapes(const NetParameter& net) {
  CHECK_EQ("ShapeOnlySource", net.layer(0).type());
  string text;
  for (const BlobShape& shape : net.layer(0).input_param().shape()) {
    if (!text.empty()) text += ", ";
    for (int i = 0; i < shape.dim_size(); ++i)
      text += (i ? " " : "") + std::to_string(shape.dim(i));
  }
  return text;
}
string Shapes(const string& source_fields, const DataShapes& given = {}) {
  return Shapes(WithoutSources(Classifier(source_fields), given));
}

TEST(SourceShapes, UseTheCropOrTheGivenShapeForMissingSources) {
  EXPECT_EQ("2 3 8 8, 2", Shapes("type: 'Data' data_param { source: 'none' batch_size: 2 } "
                                 "transform_param { crop_size: 8 }"));
  EXPECT_EQ("2 1 8 8, 2", Shapes("type: 'Data' data_param { batch_size: 2 } transform_param { "
                                 "crop_size: 8 force_gray: true }"));
  EXPECT_EQ("2 5 6 7, 2", Shapes("type: 'Data' data_param { source: 'none' batch_size: 2 }",
                                 vector<int>{5, 6, 7}));
  EXPECT_EQ("2 5 4 4, 2", Shapes("type: 'Data' data_param { source: 'none' batch_size: 2 } "
                                 "transform_param { crop_size: 4 }",
                                 vector<int>{5, 6, 7}));
  EXPECT_EQ("2 5 6 7, 2",
            Shapes("type: 'HDF5Data' hdf5_data_param { source: 'none' batch_size: 2 }",
                   vector<int>{5, 6, 7}));
}

TEST(SourceShapes, UseTheShapeThatASourceSpecifies) {
  EXPECT_EQ("3 1 5 6, 3", Shapes("type: 'ImageData' image_data_param { batch_size: 3 new_height: 5 "
                                 "new_width: 6 is_color: false }"));
  EXPECT_EQ("3 3 9 9, 3",
            Shapes("type: 'WindowData' window_data_param { batch_size: 3 crop_size: 9 }"));
  EXPECT_EQ(
      "3 2 4 5, 3",
      Shapes(
          "type: 'MemoryData' memory_data_param { batch_size: 3 channels: 2 height: 4 width: 5 }"));
}

TEST(SourceShapes, KeepOtherLayers) {
  const NetParameter net = ParseNet(
      "layer { name: 'a' type: 'Input' top: 'a' input_param { shape { dim: 2 } } }"
      "layer { name: 'b' type: 'DummyData' top: 'b' dummy_data_param { shape { dim: 2 } } }");
  EXPECT_EQ(net.DebugString(), WithoutSources(net, {}).DebugString());
}

TEST(SourceShapesErrors, ReportsUnknownShapes) {
  EXPECT_ERROR(Shapes("type: 'Data' data_param { source: 'none' batch_size: 2 }"),
               "Layer in: the shape of its images is not known .source \"none\" is not there, and "
               "there is no crop_size.; give it with --data_shape=C,H,W");
  EXPECT_ERROR(
      Shapes("type: 'HDF5Data' hdf5_data_param { source: 'none' batch_size: 2 }"),
      "Layer in: the shape of its images is not known .source \"none\" is not there.; give");
  EXPECT_ERROR(Shapes("type: 'VideoData' data_param { batch_size: 2 }"),
               "Layer in: the shape of its images is not known .there is no crop_size.; give");
  EXPECT_ERROR(Shapes("type: 'Data' transform_param { crop_size: 8 }"),
               "Layer in .*batch_size must be 1 to 2147483647");
}

TEST(SourceShapes, DoNotReadImageListsOfKnownSize) {
  const string images = "type: 'ImageData' image_data_param { source: 'none' batch_size: 2 ";
  EXPECT_EQ("2 3 8 8, 2", Shapes(images + "} transform_param { crop_size: 8 force_gray: true }"));
  EXPECT_EQ("2 1 6 7, 2", Shapes(images + "}", vector<int>{1, 6, 7}));
  EXPECT_ERROR(Shapes(images + "}"), "Layer in: .*none.*--data_shape=C,H,W");
  EXPECT_EQ("2 3 9 9, 2", Shapes("type: 'WindowData' window_data_param { source: 'none' "
                                 "batch_size: 2 } transform_param { crop_size: 9 }"));
}

DataShapes Named(const std::map<string, vector<int>>& tops) {
  DataShapes given;
  given.tops = tops;
  return given;
}

TEST(SourceShapes, ApplyShapesGivenByTopName) {
  const string source = "type: 'HDF5Data' hdf5_data_param { source: 'none' batch_size: 2 }";
  EXPECT_EQ("2 5, 2 1", Shapes(source, Named({{"data", {5}}, {"label", {1}}})));
  DataShapes given(vector<int>{3, 6, 7});
  given.tops["label"] = {6, 7};
  EXPECT_EQ("2 3 6 7, 2 6 7", Shapes(source, given));
  EXPECT_EQ("2 5 4 4, 2",
            Shapes("type: 'Data' data_param { batch_size: 2 } transform_param { crop_size: 4 }",
                   Named({{"data", {5, 6, 7}}})));
}

TEST(SourceShapes, ApplyResizingAndCroppingOfForks) {
  const string source = "data_param { source: 'none' batch_size: 2 } transform_param { ";
  const string resized = source + "resize_param { resize_mode: WARP height: 6 width: 7 } ";
  EXPECT_EQ("2 3 6 7, 1 1 16 8", Shapes("type: 'AnnotatedData' " + resized + "}"));
  EXPECT_EQ("2 3 6 7, 1 1 20 8",
            Shapes("type: 'AnnotatedData' " + resized + "}", Named({{"label", {10}}})));
  EXPECT_EQ("2 3 6 7, 2", Shapes("type: 'VideoData' " + resized + "}"));
  EXPECT_EQ("2 1 4 5, 2",
            Shapes("type: 'Data' " + resized + "crop_h: 4 crop_w: 5 force_gray: true }"));
  EXPECT_ERROR(Shapes("type: 'AnnotatedData' " + source +
                      "resize_param { resize_mode: FIT_SMALL_SIZE height: 6 width: 7 } }"),
               "Layer in: .*--data_shape=C,H,W");
  EXPECT_ERROR(Shapes("type: 'AnnotatedData' " + resized + "}", Named({{"label", {2147483647}}})),
               "Layer in: too many boxes");
}

TEST(SourceShapes, UseTheGivenShapesForUnknownSources) {
  const DataShapes given = Named({{"data", {3, 6, 7}}, {"label", {1}}});
  for (const string type : {"type: 'Python' ", "type: 'OfAFork' "}) {
    EXPECT_EQ("4 3 6 7, 4 1", Shapes(type + "data_param { batch_size: 4 }", given));
    EXPECT_EQ("4 3 6 7, 4", Shapes(type + "data_param { batch_size: 4 }", vector<int>{3, 6, 7}));
    EXPECT_ERROR(Shapes(type + "data_param { batch_size: 4 }"),
                 "Layer in .*tops data, label are not known; give them with "
                 "--data_shape=data:C,H,W,label:C,H,W");
    EXPECT_ERROR(Shapes(type + "data_param { batch_size: 4 }", Named({{"data", {3, 6, 7}}})),
                 "Layer in .*top label is not known");
    EXPECT_ERROR(Shapes(type, given), "Layer in .*batch_size.*--batch=N");
  }
  for (const string text : {"{\\'batch_size\\': 5, \\'a\\': 2}", "batch_size=5", "--batch_size: 5"})
    EXPECT_EQ("5 3 6 7, 5 1",
              Shapes("type: 'Python' python_param { param_str: '" + text + "' }", given));
}

TEST(SourceShapes, IgnoreUnknownTypesWithBottomsOrWithoutTops) {
  const NetParameter net =
      ParseNet("layer { name: 'a' type: 'OfAFork' bottom: 'x' top: 'y' } layer { type: 'Python' }");
  for (const LayerParameter& layer : net.layer()) EXPECT_FALSE(ReadsOutside(layer));
}

#ifdef USE_OPENCV
TEST(SourceShapes, UseTheFirstImageOfAList) {
  string folder;
  MakeTempDir(&folder);
  cv::imwrite(folder + "/a.png", cv::Mat(6, 7, CV_8UC3, cv::Scalar(0)));
  std::ofstream(folder + "/list") << "a.png 1\n";
  const string source = "type: 'ImageData' image_data_param { batch_size: 3 root_folder: '" +
                        folder + "/' source: '" + folder + "/list' ";
  EXPECT_EQ("3 3 6 7, 3", Shapes(source + "}"));
  EXPECT_EQ("3 1 6 7, 3", Shapes(source + "is_color: false }"));
  const layrub::Graph real = Net<float>(Classifier(source + "}")).MemoryGraph(1);
  const layrub::Graph planned =
      Net<float>(WithoutSources(Classifier(source + "}"), {})).MemoryGraph(1);
  EXPECT_EQ(layrub::ToText(real), layrub::ToText(planned));
  std::ofstream(folder + "/list") << "none.png 1\n";
  EXPECT_ERROR(Shapes(source + "}"), "Layer in: the first image of .*list, .*none.png, cannot be");
}
#endif

#ifdef USE_LMDB
TEST(SourceShapes, UseTheFirstRecordOfADatabase) {
  string folder;
  MakeTempDir(&folder);
  const string path = folder + "/records";
  {
    const std::unique_ptr<db::DB> database(db::GetDB("lmdb"));
    database->Open(path, db::NEW);
    const std::unique_ptr<db::Transaction> transaction(database->NewTransaction());
    Datum datum;
    datum.set_channels(2);
    datum.set_height(6);
    datum.set_width(7);
    datum.set_data(string(2 * 6 * 7, '\1'));
    transaction->Put("0", datum.SerializeAsString());
    transaction->Commit();
  }
  const string source =
      "type: 'Data' data_param { backend: LMDB batch_size: 3 source: '" + path + "' }";
  EXPECT_EQ("3 2 6 7, 3", Shapes(source));
  EXPECT_EQ("3 2 5 5, 3", Shapes(source + " transform_param { crop_size: 5 }"));
  EXPECT_EQ("3 2 6 7, 3", Shapes(source + " transform_param { mean_file: 'not_here' }"));
  EXPECT_ERROR(Shapes(source + " transform_param { crop_size: 7 }"),
               "crop_size is larger than an image of 6 rows");
  EXPECT_ERROR(Shapes(source + " transform_param { mean_value: [1, 2, 3] }"),
               "Specify either 1 mean_value or as many as channels: 2");
  const layrub::Graph real = Net<float>(Classifier(source)).MemoryGraph(1);
  const layrub::Graph planned = Net<float>(WithoutSources(Classifier(source), {})).MemoryGraph(1);
  EXPECT_EQ(layrub::ToText(real), layrub::ToText(planned));
  EXPECT_EQ("3 4 8 9, 3", Shapes(source, vector<int>{4, 8, 9}));
  EXPECT_EQ("3 4 8 9, 3 2", Shapes(source, Named({{"data", {4, 8, 9}}, {"label", {2}}})));
  std::ofstream(path + "/data.mdb") << "no database";
  EXPECT_EQ("3 4 8 9, 3", Shapes(source, vector<int>{4, 8, 9}));
}
#endif

TEST(SourceShapes, WarnOnceOfACropThatChangesTheGivenSize) {
  const string source =
      "type: 'Data' data_param { batch_size: 2 } transform_param { crop_size: 4 }";
  ::testing::internal::CaptureStderr();
  Shapes(source, vector<int>{3, 4, 4});
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i) EXPECT_EQ("2 3 4 4, 2", Shapes(source, vector<int>{3, 8, 9}));
  const string said = ::testing::internal::GetCapturedStderr();
  const string warning =
      "Layer in: its crop_size makes images of 4 x 4 from those of 8 x 9 that --data_shape gives.";
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, warning, said);
  EXPECT_EQ(said.find(warning), said.rfind(warning)) << said;
}

#ifdef USE_HDF5
TEST(SourceShapes, GiveTheGraphOfTheRealNet) {
  string folder;
  MakeTempDir(&folder);
  const hid_t file =
      H5Fcreate((folder + "/rows.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  Blob<float> data(vector<int>{5, 2, 6, 7}), label(vector<int>{5, 1});
  hdf5_save_nd_dataset(file, "data", data);
  hdf5_save_nd_dataset(file, "label", label);
  H5Fclose(file);
  std::ofstream(folder + "/list.txt") << folder << "/rows.h5\n";
  const NetParameter net = Classifier("type: 'HDF5Data' hdf5_data_param { batch_size: 4 source: '" +
                                      folder + "/list.txt' }");
  EXPECT_EQ("4 2 6 7, 4 1", Shapes(WithoutSources(net, {})));
  EXPECT_EQ("4 3 8 9, 4 1", Shapes(WithoutSources(net, vector<int>{3, 8, 9})));
  const layrub::Graph real = Net<float>(net).MemoryGraph(1);
  const layrub::Graph planned = Net<float>(WithoutSources(net, {})).MemoryGraph(1);
  EXPECT_EQ(layrub::ToText(real), layrub::ToText(planned));
  std::filesystem::copy(folder + "/rows.h5", folder + "/list.txt",
                        std::filesystem::copy_options::overwrite_existing);
  EXPECT_ERROR(WithoutSources(net, {}),
               "Layer in: .*/list.txt is an HDF5 file itself; source must");
  EXPECT_ERROR(Net<float>{net},
               "Layer in: .*/list.txt is an HDF5 file itself; source must be a text");
  std::ofstream(folder + "/list.txt") << "rows\x01.h5";
  EXPECT_ERROR(Net<float>{net}, "Layer in: .*/list.txt is no text; source must be a text file");
  EXPECT_EQ("4 5, 4 2", Shapes(WithoutSources(net, Named({{"data", {5}}, {"label", {2}}}))));
}
#endif

TEST(ShapeOnlyScope, AllocatesNoParameter) {
  const NetParameter net = WithoutSources(
      Classifier("type: 'Data' data_param { batch_size: 2 } transform_param { crop_size: 64 }"),
      {});
  const int64_t before = layrub::Pool::Cpu().used();
  const ShapeOnlyScope scope;
  const Net<float> planned(net);
  for (const auto& param : planned.params()) {
    EXPECT_EQ(SyncedMemory::UNINITIALIZED, param->data()->head());
  }
  EXPECT_GT(planned.MemoryGraph(1).ops.size(), 4u);
  // Only a loss weight and the sizes of a kernel are allocated; a weight or a top would be much
  // larger.
  EXPECT_LE(layrub::Pool::Cpu().used() - before, 4096);
}

TEST(ShapeOnlyScope, RestoresFillersAfterTheScope) {
  FillerParameter param;
  param.set_value(3);
  Blob<float> blob(vector<int>{2});
  {
    const ShapeOnlyScope outer;
    const ShapeOnlyScope inner;
    std::unique_ptr<Filler<float>>(GetFiller<float>(param))->Fill(&blob);
    EXPECT_EQ(SyncedMemory::UNINITIALIZED, blob.data()->head());
    param.set_type("none");
    EXPECT_ERROR(GetFiller<float>(param), "Unknown filler name: none");
  }
  param.set_type("constant");
  std::unique_ptr<Filler<float>>(GetFiller<float>(param))->Fill(&blob);
  EXPECT_EQ(3, blob.cpu_data()[0]);
}

}  // namespace
}  // namespace caffe
