// The programs convert_imageset, convert_annoset, compute_image_mean and extract_features, and the
// programs that caffe's commands have replaced.
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <tuple>

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
  template <typename Record = Datum>
  std::map<string, Record> Records(const string& database, const string& backend = "lmdb") const {
    const std::unique_ptr<db::DB> opened(db::GetDB(backend));
    opened->Open(Path(database), db::READ);
    const std::unique_ptr<db::Cursor> cursor(opened->NewCursor());
    std::map<string, Record> records;
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
  std::set<string> orders;  // keys begin with the image's index in the list
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

TEST_F(DataTools, ConvertImagesetRefusesImagesThatOpenCvCannotWriteOrResize) {
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

/// A PASCAL VOC annotation file of an image of 8 x 4 pixels.
string VocFile(const string& objects) {
  return "<?xml version='1.0'?>\n<annotation><folder>a</folder><size><width>8</width>"
         "<height>4</height><depth>3</depth></size>" +
         objects + "</annotation>\n";
}

string VocObject(const string& name, const string& box, const string& more = "") {
  std::istringstream sides(box);
  string xmin, ymin, xmax, ymax;
  sides >> xmin >> ymin >> xmax >> ymax;
  return "<object><name>" + name + "</name>" + more + "<bndbox><xmax>" + xmax + "</xmax><xmin>" +
         xmin + "</xmin><ymin>" + ymin + "</ymin><ymax>" + ymax + "</ymax></bndbox></object>";
}

class ConvertAnnoset : public DataTools {
 protected:
  ConvertAnnoset() {
    WriteImage("a.png", 4, 8, 10);
    WriteImage("b.png", 4, 8, 20);
    Write("map.txt",
          "item { name: 'background' label: 0 } item { name: 'dog' label: 7 } "
          "item { name: 'cat' label: 3 } item { name: '18' label: 18 }");
  }
  string Detection(const string& flags) const {
    return "--anno_type=detection --label_map_file=" + Path("map.txt") + " " + flags + " " +
           folder() + "/ " + Path("list.txt") + " ";
  }
  std::map<string, AnnotatedDatum> Converted(const string& flags, const string& database) const {
    const Outcome outcome = Run("convert_annoset", Detection(flags) + Path(database));
    EXPECT_EQ(outcome.code, 0) << outcome.text;
    return Records<AnnotatedDatum>(database);
  }
  /// "label: instance xmin ymin xmax ymax difficult; ..."
  static string Objects(const AnnotatedDatum& record) {
    std::ostringstream text;
    for (const AnnotationGroup& group : record.annotation_group()) {
      text << group.group_label() << ":";
      for (const Annotation& each : group.annotation()) {
        const NormalizedBBox& box = each.bbox();
        text << " " << each.instance_id() << " " << box.xmin() << " " << box.ymin() << " "
             << box.xmax() << " " << box.ymax() << " " << box.difficult() << ";";
      }
    }
    return text.str();
  }
};

TEST_F(ConvertAnnoset, ReadsObjectsInEachKindOfFile) {
  Write("a.xml", VocFile(VocObject("cat", "2 1 4 3") + VocObject("dog", "0 0 8 4") +
                         VocObject("cat", "1.5 1 6 2", "<difficult>1</difficult>")));
  Write("list.txt", "a.png a.xml\n\nb.png none.xml\n");
  const auto records = Converted("--check_label=True --label_type=xml --encoded=False", "xml");
  ASSERT_EQ(2u, records.size());
  const AnnotatedDatum& first = records.at("00000000_a.png");
  EXPECT_EQ("3: 0 0.25 0.25 0.5 0.75 0; 1 0.1875 0.25 0.75 0.5 1;7: 0 0 0 1 1 0;", Objects(first));
  EXPECT_EQ(AnnotatedDatum::BBOX, first.type());
  EXPECT_EQ(first.datum().data().size(), 96u);
  EXPECT_EQ("", Objects(records.at("00000001_b.png")));

  Write("a.json", R"({"image": {"file_name": "a.png", "width": 8, "height": 4}, "annotation": [
      {"category_id": 18, "iscrowd": 0, "bbox": [2, 1, 2, 2]},
      {"category_id": "cat", "iscrowd": 1, "bbox": [0, 0, 8, 4]},
      {"category_id": 18, "bbox": [0, 0, 4.0, 1]}]})");
  Write("list.txt", "a.png a.json\n");
  EXPECT_EQ("18: 0 0.25 0.25 0.5 0.75 0; 1 0 0 0.5 0.25 0;3: 0 0 0 1 1 1;",
            Objects(Converted("--label_type=json", "json").begin()->second));

  Write("a.txt", "5 2 1 4 3\n\n9 0 0 8 4 \n");
  Write("list.txt", "a.png a.txt\n");
  EXPECT_EQ(
      "5: 0 0.25 0.25 0.5 0.75 0;9: 0 0 0 1 1 0;",
      Objects(
          Converted("--label_type=txt --resize_width=2 --resize_height=2", "txt").begin()->second));
}

TEST_F(ConvertAnnoset, AnnotatedDataLayersReadItsRecords) {
  Write("a.xml", VocFile(VocObject("cat", "2 1 4 3")));
  Write("list.txt", "a.png a.xml\n");
  Converted("--encode_type=png --encoded=True --shuffle=True --gray=False", "db");
  NetParameter param;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "layer { name: 'd' type: 'AnnotatedData' top: 'data' top: 'label' data_param { batch_size: 1 "
      "backend: LMDB source: '" +
          Path("db") + "' } annotated_data_param { label_map_file: '" + Path("map.txt") + "' } }",
      &param));
  Net<float> net(param);
  net.Forward();
  EXPECT_EQ((vector<int>{1, 3, 4, 8}), net.blob_by_name("data")->shape());
  const float* const row = net.blob_by_name("label")->cpu_data();
  EXPECT_EQ((vector<float>{0, 3, 0, 0.25, 0.25, 0.5, 0.75, 0}), vector<float>(row, row + 8));
}

TEST_F(ConvertAnnoset, ResizesByTheShorterSideUpToTheLonger) {
  Write("a.xml", VocFile(VocObject("cat", "2 1 4 3")));
  Write("list.txt", "a.png a.xml\n");
  int number = 0;
  for (const auto& [flags, height, width] :
       {std::tuple("--min_dim=6", 6, 12), std::tuple("--max_dim=4", 2, 4),
        std::tuple("--min_dim=6 --max_dim=10", 5, 10),
        std::tuple("--min_dim=0 --max_dim=0", 4, 8)}) {
    const auto records = Converted(flags, "db" + std::to_string(number++));
    EXPECT_EQ(height, records.begin()->second.datum().height()) << flags;
    EXPECT_EQ(width, records.begin()->second.datum().width()) << flags;
    EXPECT_EQ("3: 0 0.25 0.25 0.5 0.75 0;", Objects(records.begin()->second)) << flags;
  }
}

TEST_F(ConvertAnnoset, KeepsLabelsOfImages) {
  Write("list.txt", "a.png 4\nb.png 2\n");
  const Outcome outcome =
      Run("convert_annoset", folder() + "/ " + Path("list.txt") + " " + Path("db"));
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  const auto records = Records<AnnotatedDatum>("db");
  EXPECT_EQ(4, records.at("00000000_a.png").datum().label());
  EXPECT_EQ(2, records.at("00000001_b.png").datum().label());
}

TEST_F(ConvertAnnoset, NamesTheFileThatIsWrong) {
  const auto fails = [&](const string& type, const string& text, const string& why) {
    Write("objects", text);
    Write("list.txt", "\na.png objects\n");
    ExpectFails("convert_annoset", Detection("--label_type=" + type) + Path("db"), why);
    EXPECT_FALSE(std::filesystem::exists(Path("db")));
  };
  const string where = Path("list.txt") + ":2: " + Path("objects");
  fails("xml", "no xml", where + " cannot be read as --label_type=xml: ");
  fails("xml", VocFile(VocObject("cow", "1 1 2 2")),
        "class 'cow' is not in --label_map_file=" + Path("map.txt"));
  fails("xml", VocFile(VocObject("cat", "1 1 2 x")),
        where + " cannot be read as --label_type=xml: ");
  fails("xml", VocFile(VocObject("cat", "4 1 2 2")),
        where + " has a box from (4, 1) to (2, 2): the end is before");
  fails("json", "{", where + " cannot be read as --label_type=json: ");
  fails("json", "{\"image\": {\"width\": 1, \"height\": 1}}",
        where + " cannot be read as --label_type=json: ");
  fails("txt", "1 2 3 4 5\n1 2 3 4\n",
        where + " cannot be read as --label_type=txt: line 2 must be");
  fails("yaml", "", "--label_type=yaml: it must be xml, json or txt.");
  Write("map.txt", "item { name: 'cat' label: 3 } item { name: 'dog' label: 3 }");
  fails("xml --check_label", VocFile(""),
        "map.txt has label 3 twice; --check_label=false allows that.");
  Write("list.txt", "a.png\n");
  ExpectFails("convert_annoset", Detection("") + Path("db"),
              "list.txt:1: a line must be the path of an image and");
  ExpectFails("convert_annoset", "--anno_type=segmentation " + folder() + "/ l d",
              "--anno_type=segmentation: it must be");
  ExpectFails("convert_annoset", "--anno_type=detection " + folder() + "/ l d",
              "--label_map_file=FILE is needed");
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

TEST_F(DataTools, ConvertImagesetLeavesOutUnreadableImages) {
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

TEST_F(DataTools, ConvertImagesetRefusesInvalidFlags) {
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

TEST_F(DataTools, ComputeImageMeanDecodesImagesAndRefusesDifferentSizes) {
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
  // Weights 3 instead of 1: those of the file must be used.
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

TEST_F(DataTools, DeprecatedProgramsNameTheirReplacement) {
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
