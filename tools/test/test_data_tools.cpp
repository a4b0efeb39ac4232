// The programs convert_imageset, compute_image_mean and extract_features, and the names that
// caffe's commands have replaced.
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "caffe/net.hpp"
#include "caffe/util/db.hpp"
#include "program_test.hpp"

#if defined(USE_OPENCV) && defined(USE_LMDB)

#include <opencv2/imgcodecs.hpp>

namespace caffe {
namespace {

class DataTools : public ProgramTest {
 protected:
  /// An image whose pixels are value, value + 1 and value + 2 in blue, green and red.
  void WriteImage(const string& name, int rows, int columns, int value) const {
    const cv::Mat image(rows, columns, CV_8UC3, cv::Scalar(value, value + 1, value + 2));
    ASSERT_TRUE(cv::imwrite(Path(name), image)) << name;
  }
  /// Four images of 3 x 4 pixels, of labels 0, 1, 2 and 0, and their list.
  string WriteImages() const {
    string list;
    for (int i = 0; i < 4; ++i) {
      const string name = "image " + std::to_string(i) + ".png";
      WriteImage(name, 3, 4, 10 * i);
      list += name + " " + std::to_string(i % 3) + "\n";
    }
    return Write("list.txt", list);
  }
  void Converts(const string& flags, const string& database) const {
    const Outcome outcome = Run("convert_imageset", flags + " " + folder() + "/ " +
                                                        Path("list.txt") + " " + Path(database));
    EXPECT_EQ(outcome.code, 0) << outcome.text;
    EXPECT_NE(outcome.text.find("A total of "), string::npos) << outcome.text;
  }
  std::map<string, Datum> Records(const string& database, const string& backend = "lmdb") const {
    const std::unique_ptr<db::DB> opened(db::GetDB(backend));
    opened->Open(Path(database), db::READ);
    const std::unique_ptr<db::Cursor> cursor(opened->NewCursor());
    std::map<string, Datum> records;
    for (; cursor->valid(); cursor->Next())
      EXPECT_TRUE(records[cursor->key()].ParseFromString(cursor->value()));
    return records;
  }
};

TEST_F(DataTools, ConvertImagesetKeepsPixelsLabelsAndOrder) {
  WriteImages();
  Converts("", "db");
  const std::map<string, Datum> records = Records("db");
  ASSERT_EQ(records.size(), 4u);
  int i = 0;
  for (const auto& [key, datum] : records) {
    EXPECT_EQ(key, "0000000" + std::to_string(i) + "_image " + std::to_string(i) + ".png");
    EXPECT_EQ(datum.label(), i % 3);
    EXPECT_FALSE(datum.encoded());
    string pixels;
    for (int c = 0; c < 3; ++c) pixels += string(12, static_cast<char>(10 * i + c));
    EXPECT_EQ(datum.data(), pixels);
    EXPECT_EQ(datum.height(), 3);
    EXPECT_EQ(datum.width(), 4);
    ++i;
  }
}

TEST_F(DataTools, ConvertImagesetResizesGraysEncodesAndShuffles) {
  WriteImages();
  Converts("--gray --resize_height=5 --resize_width=6", "gray");
  for (const auto& [key, datum] : Records("gray")) {
    EXPECT_EQ(datum.channels(), 1);
    EXPECT_EQ(datum.data().size(), 30u);
  }
  Converts("-encoded -encode_type jpg", "jpg");  // one dash, as in published scripts
  Converts("--encoded", "png");
  for (const auto& [key, datum] : Records("png")) {
    EXPECT_TRUE(datum.encoded());
    EXPECT_EQ(datum.data().substr(1, 3), "PNG");
  }
  EXPECT_EQ(Records("jpg").begin()->second.data().substr(6, 4), "JFIF");
  Converts("--shuffle", "shuffled");
  vector<int> labels;
  for (const auto& [key, datum] : Records("shuffled")) labels.push_back(datum.label());
  std::sort(labels.begin(), labels.end());
  EXPECT_EQ(labels, (vector<int>{0, 0, 1, 2}));
  std::set<string> orders;  // the keys begin with the place in the list
  for (const char* seed : {"1", "2", "3", "1"}) {
    const string database = "seeded_" + std::to_string(orders.size());
    Converts("--shuffle --seed=" + string(seed), database);
    string order;
    for (const auto& [key, datum] : Records(database)) order += key;
    EXPECT_EQ(orders.insert(order).second, database != "seeded_3") << order;
  }
#ifdef USE_LEVELDB
  Converts("--backend=leveldb", "leveldb");
  EXPECT_EQ(Records("leveldb", "leveldb").size(), 4u);
#endif
}

TEST_F(DataTools, ConvertImagesetMakesColoursGrayAndKeepsTheBytesOfGrayFiles) {
  WriteImage("colour.png", 3, 4, 10);
  ASSERT_TRUE(cv::imwrite(Path("gray.png"), cv::Mat(3, 4, CV_8UC1, cv::Scalar(7))));
  Write("list.txt", "colour.png 0\ngray.png 1\n");
  Converts("--gray --encoded", "gray");
  const std::map<string, Datum> records = Records("gray");
  ASSERT_EQ(records.size(), 2u);
  for (const auto& [key, datum] : records) {
    Datum decoded = datum;
    EXPECT_TRUE(DecodeDatumNative(&decoded));
    EXPECT_EQ(decoded.channels(), 1) << key;
  }
  string bytes;
  ASSERT_TRUE(ReadFileToString(Path("gray.png"), &bytes));
  EXPECT_EQ(records.rbegin()->second.data(), bytes);
}

TEST_F(DataTools, ConvertImagesetRefusesWhatOpenCvCannotWriteOrResize) {
  WriteImages();
  std::filesystem::copy(Path("image 0.png"), Path("image.strange"));
  const string strange = Write("strange.txt", "image.strange 0\n");
  const auto fails = [&](const string& flags, const string& list, const string& why) {
    ExpectFails("convert_imageset", flags + " " + folder() + "/ " + list + " " + Path("db"), why);
    EXPECT_FALSE(std::filesystem::exists(Path("db"))) << flags;
  };
  fails("--encode_type=foo", Path("list.txt"), "--encode_type=foo: OpenCV writes no such images");
  fails("--resize_width=100000 --resize_height=100000", Path("list.txt"),
        "--resize_width=100000 --resize_height=100000: such an image is larger than a record");
  fails("--encoded --resize_width=4 --resize_height=4", strange,
        "image.strange: OpenCV writes no images in this format; give --encode_type");
  Datum datum;
  EXPECT_FALSE(ReadImageToDatum(Path("image 0.png"), 0, 0, 0, true, "foo", &datum));
}

TEST_F(DataTools, FailedRunsLeaveNoDatabase) {
  Write("broken.png", "no image");
  const string broken = Write("broken.txt", "broken.png 0\n");
  WriteImages();
  WriteImage("image 2.png", 5, 5, 1);
  for (const string backend : {"lmdb",
#ifdef USE_LEVELDB
                               "leveldb"
#endif
       }) {
    const string run = "--backend=" + backend + " " + folder() + "/ ";
    ExpectFails("convert_imageset", run + broken + " " + Path("db"), "could be read");
    EXPECT_FALSE(std::filesystem::exists(Path("db")));
    ExpectFails("convert_imageset", "--check_size " + run + Path("list.txt") + " " + Path("db"),
                "Incorrect data field size");
    EXPECT_FALSE(std::filesystem::exists(Path("db")));
  }
}

TEST_F(DataTools, ConvertImagesetLeavesOutWhatItCannotRead) {
  WriteImages();
  Write("broken.png", "no image");
  Write("list.txt", "broken.png 1\nimage 1.png 1\nnone.png 2\n");
  const Outcome outcome =
      Run("convert_imageset", folder() + "/ " + Path("list.txt") + " " + Path("db"));
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("2 of 3 images could not be read; they are left out."), string::npos)
      << outcome.text;
  const std::map<string, Datum> records = Records("db");
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records.begin()->first, "00000001_image 1.png");  // as Caffe counts
}

TEST_F(DataTools, ConvertImagesetRefusesWhatMakesNoSense) {
  const string list = WriteImages();
  const string rest = " " + folder() + "/ " + list + " " + Path("db");
  ExpectFails("convert_imageset", "--resize_height=5" + rest, "must be set together");
  ExpectFails("convert_imageset", "--check_size --encoded" + rest, "leave --encoded out");
  ExpectFails("convert_imageset", folder() + "/ " + Path("none") + " " + Path("db"), Path("none"));
  ExpectFails("convert_imageset", "", "usage: convert_imageset [FLAGS] FOLDER/ LIST DATABASE");
  EXPECT_FALSE(std::filesystem::exists(Path("db")));
  Converts("", "db");
  const size_t before = Records("db").size();
  ExpectFails("convert_imageset", rest, Path("db"));
  EXPECT_EQ(Records("db").size(), before);
  WriteImage("image 2.png", 5, 5, 1);
  ExpectFails("convert_imageset", "--check_size " + folder() + "/ " + list + " " + Path("sizes"),
              "Incorrect data field size 75 of image 2.png (" + list + ":3)");
  const Outcome help = Run("convert_imageset", "--help");
  EXPECT_EQ(help.code, 0);
  EXPECT_NE(help.text.find("--encode_type"), string::npos) << help.text;
}

TEST_F(DataTools, ComputeImageMeanIsTheMeanOfEachPixel) {
  WriteImages();
  Converts("", "db");
  const Outcome outcome = Run("compute_image_mean", Path("db") + " " + Path("mean.binaryproto"));
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  // Values 0, 10, 20 and 30, and one and two more.
  for (const string line : {"Processed 4 files.", "Number of channels: 3",
                            "mean_value channel [0]: 15", "mean_value channel [2]: 17"})
    EXPECT_NE(outcome.text.find(line), string::npos) << outcome.text;
  BlobProto mean;
  ReadProtoFromBinaryFileOrDie(Path("mean.binaryproto"), &mean);
  EXPECT_EQ(mean.num(), 1);
  EXPECT_EQ(mean.channels(), 3);
  EXPECT_EQ(mean.height(), 3);
  EXPECT_EQ(mean.width(), 4);
  ASSERT_EQ(mean.data_size(), 36);
  for (int i = 0; i < 36; ++i) EXPECT_EQ(mean.data(i), static_cast<float>(15 + i / 12));
}

TEST_F(DataTools, ComputeImageMeanDecodesAndRefusesOtherSizes) {
  WriteImages();
  Converts("--encoded", "png");
  const Outcome outcome = Run("compute_image_mean", "--backend=lmdb " + Path("png"));
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("mean_value channel [1]: 16"), string::npos) << outcome.text;
  WriteImage("image 2.png", 5, 5, 1);
  Converts("", "sizes");
  ExpectFails("compute_image_mean", Path("sizes") + " " + Path("out"),
              "Incorrect data field size 75 of record 00000002_image 2.png");
  EXPECT_FALSE(std::filesystem::exists(Path("out")));
  ExpectFails("compute_image_mean", Path("none"), Path("none"));
  ExpectFails("compute_image_mean", "", "usage: compute_image_mean");
}

const char kFeatures[] = R"(
    layer { name: 'data' type: 'DummyData' top: 'x'
            dummy_data_param { shape { dim: 2 dim: 3 } data_filler { value: 2 } } }
    layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y'
            inner_product_param { num_output: 4 weight_filler { value: 1 }
                                  bias_filler { value: 0.5 } } })";

TEST_F(DataTools, ExtractFeaturesWritesEachItemOfEachBlob) {
  const string model = Write("net.prototxt", kFeatures);
  NetParameter weights;
  Net<float>(model, TEST).ToProto(&weights);
  // Weights 3 instead of 1: the file counts.
  for (float& value : *weights.mutable_layer(1)->mutable_blobs(0)->mutable_data()) value = 3;
  WriteProtoToBinaryFile(weights, Path("w.caffemodel"));
  const string net = Path("w.caffemodel") + " " + model + " ";
  const Outcome outcome = Run(
      "extract_features", net + "y,x " + Path("y") + "," + Path("x") + " 3 lmdb CPU DEVICE_ID=0");
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  for (const string line : {"Extracting Features",
                            "Extracted features of 6 query images for "
                            "feature blob y",
                            "Successfully extracted the features!"})
    EXPECT_NE(outcome.text.find(line), string::npos) << outcome.text;
  const std::map<string, Datum> y = Records("y"), x = Records("x");
  ASSERT_EQ(y.size(), 6u);
  EXPECT_EQ(x.size(), 6u);
  EXPECT_EQ(y.begin()->first, "0000000000");
  for (const auto& [key, datum] : y) {
    EXPECT_EQ(datum.channels(), 4);
    EXPECT_EQ(datum.height(), 1);
    ASSERT_EQ(datum.float_data_size(), 4);
    for (float value : datum.float_data()) EXPECT_EQ(value, 2 * 3 * 3 + 0.5f);
  }

  const auto fails = [&](const string& rest, const string& why) {
    ExpectFails("extract_features", net + rest, why);
  };
  fails("y,x " + Path("one") + " 3 lmdb", "must be equal: there are 2 and 1");
  fails("x,y " + Path("z") + "," + Path("z") + " 3 lmdb", Path("z") + " is named twice");
  fails("x,y " + Path("z") + "," + Path("x") + " 3 lmdb", Path("x") + ": it exists already");
  EXPECT_FALSE(std::filesystem::exists(Path("z")));
  EXPECT_EQ(Records("x").size(), 6u);
  fails("z " + Path("z") + " 3 lmdb", "Unknown feature blob name z in the network " + model);
  fails("y " + Path("z") + " 0 lmdb", "The number of batches must be a whole number from 1");
  fails("y " + Path("z") + " 1 lmdb TPU", "The device is CPU or GPU, not 'TPU'");
  fails("y " + Path("z") + " 1 sqlite", "sqlite");
  fails("y", "usage: extract_features");
  EXPECT_FALSE(std::filesystem::exists(Path("z")));
}

TEST_F(DataTools, DeprecatedNamesSayWhatToUse) {
  for (const auto& [program, command] : {std::pair<string, string>{"train_net", "caffe train"},
                                         {"finetune_net", "caffe train"},
                                         {"test_net", "caffe test"},
                                         {"net_speed_benchmark", "caffe time"},
                                         {"device_query", "caffe device_query"}}) {
    const Outcome outcome = Run(program, "--anything");
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.text.find("Deprecated. Use " + command), 0u) << outcome.text;
  }
}

}  // namespace
}  // namespace caffe

#endif
