#include "caffe/layers/annotated_data_layer.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/expect_error.hpp"
#include "caffe/util/db.hpp"

#if defined(USE_OPENCV) && defined(USE_LMDB)

namespace caffe {
namespace {

struct Box {
  int label;
  float xmin, ymin, xmax, ymax;
};

/// An image of 1 x 8 x 8 whose pixel (row, column) is 10 row + column.
string Record(const vector<Box>& boxes) {
  AnnotatedDatum record;
  Datum* datum = record.mutable_datum();
  datum->set_channels(1);
  datum->set_height(8);
  datum->set_width(8);
  for (int i = 0; i < 64; ++i)
    datum->mutable_data()->push_back(static_cast<char>(i / 8 * 10 + i % 8));
  for (const Box& box : boxes) {
    AnnotationGroup* group = record.add_annotation_group();
    group->set_group_label(box.label);
    NormalizedBBox* bounds = group->add_annotation()->mutable_bbox();
    bounds->set_xmin(box.xmin);
    bounds->set_ymin(box.ymin);
    bounds->set_xmax(box.xmax);
    bounds->set_ymax(box.ymax);
  }
  return record.SerializeAsString();
}

class AnnotatedDataLayerTest : public testing::Test {
 protected:
  AnnotatedDataLayerTest()
      : source_(testing::TempDir() + "annotated_" + std::to_string(getpid())) {}
  ~AnnotatedDataLayerTest() override { std::filesystem::remove_all(source_); }

  void Write(const vector<string>& records) const {
    std::unique_ptr<db::DB> database(db::GetDB(string("lmdb")));
    database->Open(source_, db::NEW);
    std::unique_ptr<db::Transaction> transaction(database->NewTransaction());
    for (size_t i = 0; i < records.size(); ++i)
      transaction->Put("key" + std::to_string(i), records[i]);
    transaction->Commit();
  }
  string Layer(int batch, const string& transform = "", const string& annotated = "",
               const string& phase = "TRAIN") const {
    return "name: 'data' type: 'AnnotatedData' phase: " + phase +
           " data_param { backend: LMDB source: '" + source_ +
           "' batch_size: " + std::to_string(batch) + " } transform_param { " + transform +
           " } annotated_data_param { " + annotated + " }";
  }
  static vector<vector<double>> Rows(const Blob<double>& label) {
    vector<vector<double>> rows;
    for (int i = 0; i < label.count(); i += 8)
      rows.emplace_back(label.cpu_data() + i, label.cpu_data() + i + 8);
    return rows;
  }
  const string source_;
};

const vector<double> kNone(8, -1);

TEST_F(AnnotatedDataLayerTest, GivesTheObjectsOfEachItemAndMarksUnusedRows) {
  Write({Record({}), Record({{2, 0.25f, 0.5f, 0.75f, 1}, {1, 0, 0, 0.5f, 0.5f}})});
  LayerCase layer(Layer(4), {}, 2);
  layer.SetUp();
  EXPECT_EQ(layer.top[1]->shape(), (vector<int>{1, 1, 32, 8}));
  layer.layer->Forward(layer.bottom, layer.top);
  EXPECT_EQ(layer.top[0]->shape(), (vector<int>{4, 1, 8, 8}));
  EXPECT_EQ(layer.top[0]->cpu_data()[64 + 8 * 3 + 2], 32);
  vector<vector<double>> rows = {{1, 2, 0, 0.25, 0.5, 0.75, 1, 0},
                                 {1, 1, 0, 0, 0, 0.5, 0.5, 0},
                                 {3, 2, 0, 0.25, 0.5, 0.75, 1, 0},
                                 {3, 1, 0, 0, 0, 0.5, 0.5, 0}};
  rows.resize(32, kNone);
  EXPECT_EQ(Rows(*layer.top[1]), rows);
}

TEST_F(AnnotatedDataLayerTest, DoublesItsRowsIfABatchHasMoreObjects) {
  Write({Record({}), Record(vector<Box>(17, {1, 0, 0, 1, 1})), Record({})});
  LayerCase layer(Layer(1), {}, 2);
  layer.SetUp();
  vector<int> rows;
  for (int pass = 0; pass < 3; ++pass) {
    layer.layer->Forward(layer.bottom, layer.top);
    rows.push_back(layer.top[1]->shape(2));
  }
  EXPECT_EQ(rows, (vector<int>{8, 32, 32}));
  EXPECT_EQ(Rows(*layer.top[1]), vector<vector<double>>(32, kNone));
}

TEST_F(AnnotatedDataLayerTest, ClipsBoxesToTheImage) {
  Write({Record({{1, -0.25f, 0.5f, 0.5f, 1.25f}, {2, 0.5f, 0, 0.5f, 1}, {3, 12, 4, 20, 8}})});
  LayerCase layer(Layer(1), {}, 2);
  layer.SetUp();
  layer.layer->Forward(layer.bottom, layer.top);
  // The second object has no area, the third is not in the image.
  EXPECT_EQ(Rows(*layer.top[1])[0], (vector<double>{0, 1, 0, 0, 0.5, 0.5, 1, 0}));
  EXPECT_EQ(Rows(*layer.top[1])[1], kNone);
}

TEST_F(AnnotatedDataLayerTest, DividesRecordsAmongTrainingSolvers) {
  vector<string> records;
  for (int label = 1; label <= 6; ++label) records.push_back(Record({{label, 0, 0, 1, 1}}));
  Write(records);
  const auto labels = [](const string& param) {
    LayerCase layer(param, {}, 2);
    layer.SetUp();
    layer.layer->Forward(layer.bottom, layer.top);
    vector<double> seen;
    for (const vector<double>& row : Rows(*layer.top[1])) {
      if (row[0] >= 0) seen.push_back(row[1]);
    }
    return seen;
  };
  Caffe::set_solver_count(3);
  Caffe::set_solver_rank(1);
  EXPECT_EQ(labels(Layer(3)), (vector<double>{2, 5, 2}));
  EXPECT_EQ(labels(Layer(3, "", "", "TEST")), (vector<double>{1, 2, 3}));
  Caffe::set_solver_count(1);
  Caffe::set_solver_rank(0);
}

TEST_F(AnnotatedDataLayerTest, OneSeedGivesOneSequence) {
  Write({Record({{1, 0.125f, 0.25f, 0.5f, 1}}), Record({{2, 0, 0, 0.75f, 0.75f}})});
  const auto run = [&](int seed) {
    Caffe::set_random_seed(seed);
    LayerCase layer(Layer(8,
                          "mirror: true expand_param { max_expand_ratio: 2 } "
                          "resize_param { height: 6 width: 6 }",
                          "batch_sampler { sampler { min_scale: 0.5 } max_sample: 2 }"),
                    {}, 2);
    layer.SetUp();
    vector<double> values;
    for (int pass = 0; pass < 2; ++pass) {
      layer.layer->Forward(layer.bottom, layer.top);
      for (const Blob<double>* top : layer.top)
        values.insert(values.end(), top->cpu_data(), top->cpu_data() + top->count());
    }
    return values;
  };
  const vector<double> first = run(1);
  EXPECT_EQ(first, run(1));
  EXPECT_NE(first, run(2));
}

TEST_F(AnnotatedDataLayerTest, ResumesWithTheSameNumberOfRows) {
  Write({Record(vector<Box>(17, {1, 0, 0, 1, 1})), Record({}), Record({}), Record({})});
  LayerProgress progress;
  {
    LayerCase layer(Layer(1), {}, 2);
    layer.SetUp();
    layer.layer->Forward(layer.bottom, layer.top);
    EXPECT_EQ(layer.top[1]->shape(2), 32);
    layer.layer->SaveProgress(&progress);
  }
  LayerCase resumed(Layer(1), {}, 2);
  resumed.SetUp();
  ASSERT_TRUE(resumed.layer->RestoreProgress(progress));
  resumed.layer->Forward(resumed.bottom, resumed.top);
  EXPECT_EQ(Rows(*resumed.top[1]), vector<vector<double>>(32, kNone));
  progress.clear_position();
  EXPECT_FALSE(resumed.layer->RestoreProgress(progress));
}

TEST_F(AnnotatedDataLayerTest, MirroringTurnsBoxesWithTheImage) {
  Write({Record({{1, 0.125f, 0.25f, 0.5f, 1}})});
  LayerCase layer(Layer(32, "mirror: true"), {}, 2);
  layer.SetUp();
  layer.layer->Forward(layer.bottom, layer.top);
  int mirrored = 0;
  const vector<vector<double>> rows = Rows(*layer.top[1]);
  for (int i = 0; i < 32; ++i) {
    const bool turned = layer.top[0]->cpu_data()[i * 64] == 7;
    mirrored += turned;
    EXPECT_EQ(rows[i][3], turned ? 0.5 : 0.125);
    EXPECT_EQ(rows[i][5], turned ? 0.875 : 0.5);
    EXPECT_EQ(rows[i][4], 0.25);
  }
  EXPECT_GT(mirrored, 4);
  EXPECT_LT(mirrored, 28);
}

TEST_F(AnnotatedDataLayerTest, CropsInTheMiddleInTheTestPhase) {
  Write({Record({{1, 0, 0, 0.5f, 0.5f}, {2, 0, 0, 0.25f, 0.25f}})});
  LayerCase layer(Layer(2, "crop_h: 4 crop_w: 6", "", "TEST"), {}, 2);
  layer.SetUp();
  EXPECT_EQ(layer.top[0]->shape(), (vector<int>{2, 1, 4, 6}));
  layer.layer->Forward(layer.bottom, layer.top);
  EXPECT_EQ(layer.top[0]->cpu_data()[0], 21);  // row 2, column 1
  const vector<vector<double>> rows = Rows(*layer.top[1]);
  // Of 8 x 8 pixels the window has rows 2 to 6, columns 1 to 7.
  EXPECT_NEAR(rows[0][3], 0, 1e-6);
  EXPECT_NEAR(rows[0][5], 3 / 6., 1e-6);
  EXPECT_NEAR(rows[0][6], 2 / 4., 1e-6);
  EXPECT_EQ(rows[1][0], 1);  // the first item's second object has no rows there
}

TEST_F(AnnotatedDataLayerTest, PaddingMovesBoxesInwards) {
  Write({Record({{1, 0, 0, 1, 1}})});
  LayerCase layer(
      Layer(1, "resize_param { height: 4 width: 8 resize_mode: FIT_LARGE_SIZE_AND_PAD }"), {}, 2);
  layer.SetUp();
  layer.layer->Forward(layer.bottom, layer.top);
  EXPECT_EQ(layer.top[0]->shape(), (vector<int>{1, 1, 4, 8}));
  EXPECT_EQ(Rows(*layer.top[1])[0], (vector<double>{0, 1, 0, 0.25, 0, 0.75, 1, 0}));
}

/// The contents of a box stay in it, whatever the transformations: the image is 200 inside the only
/// object and 0 elsewhere.
TEST_F(AnnotatedDataLayerTest, BoxesStayWithTheirPixels) {
  AnnotatedDatum record;
  CHECK(record.ParseFromString(Record({{1, 0.25f, 0.375f, 0.75f, 0.625f}})));
  for (int i = 0; i < 64; ++i) {
    const bool inside = i / 8 >= 3 && i / 8 < 5 && i % 8 >= 2 && i % 8 < 6;
    (*record.mutable_datum()->mutable_data())[i] = static_cast<char>(inside ? 200 : 0);
  }
  Write({record.SerializeAsString()});
  LayerCase layer(Layer(64,
                        "mirror: true expand_param { max_expand_ratio: 2 } emit_constraint { } "
                        "resize_param { height: 32 width: 32 interp_mode: NEAREST }",
                        "batch_sampler { sampler { min_scale: 0.5 } max_sample: 2 }"),
                  {}, 2);
  layer.SetUp();
  layer.layer->Forward(layer.bottom, layer.top);
  int objects = 0;
  for (const vector<double>& row : Rows(*layer.top[1])) {
    if (row[0] < 0) continue;
    ++objects;
    const double* image = layer.top[0]->cpu_data() + static_cast<int>(row[0]) * 32 * 32;
    // A pixel on a side of the box may have either value.
    const double margin = 1.0 / 32;
    for (int y = 0; y < 32; ++y) {
      for (int x = 0; x < 32; ++x) {
        const double px = (x + 0.5) / 32, py = (y + 0.5) / 32;
        const auto within = [&](double m) {
          return px > row[3] - m && px < row[5] + m && py > row[4] - m && py < row[6] + m;
        };
        const double pixel = image[y * 32 + x];
        EXPECT_TRUE(pixel == 200 || !within(-margin)) << x << " " << y;
        EXPECT_TRUE(pixel == 0 || within(margin)) << x << " " << y;
      }
    }
  }
  EXPECT_GT(objects, 16);
}

TEST_F(AnnotatedDataLayerTest, NamesBadRecordsAndParameters) {
  Write({Record({{4, 0.5f, 0, 0.25f, 1}}), "no record"});
  const auto fails = [](const string& param, const char* why) {
    EXPECT_ERROR(
        {
          LayerCase layer(param, {}, 2);
          layer.SetUp();
          layer.layer->Forward(layer.bottom, layer.top);
        },
        why);
  };
  fails(Layer(1), "the record with key 'key0' has an object with label 4 and a box from");
  fails(Layer(1, "expand_param { max_expand_ratio: 2 }"), "need a resize_param that gives images");
  fails(Layer(1, "", "batch_sampler { }"), "need a resize_param that gives images");
  fails(Layer(1, "crop_size: 4", "batch_sampler { sampler { max_scale: 2 } }"), "max_scale <= 1");
  fails(Layer(1, "resize_param { height: 4 width: 4 prob: 0.5 }"), "resize_param.prob must be 1");
  std::filesystem::remove_all(source_);
  Write({Record({})});
  fails(Layer(1, "crop_size: 9"), "a crop of 9 x 9 is larger than an image of 8 x 8");
  fails(Layer(1, "crop_h: 9"), "crop_h and crop_w must be set together");
  std::filesystem::remove_all(source_);
  Write({"no record"});
  fails(Layer(1), "the record with key 'key0' is not an AnnotatedDatum");
}

TEST_F(AnnotatedDataLayerTest, AcceptsRecordsWhoseLabelsAreInTheLabelMap) {
  const string map = source_ + ".labels";
  std::ofstream(map) << "item { name: 'none' label: 0 } item { name: 'cat' label: 3 }";
  Write({Record({{3, 0, 0, 1, 1}})});
  LayerCase layer(Layer(1, "", "label_map_file: '" + map + "'"), {}, 2);
  layer.SetUp();
  layer.layer->Forward(layer.bottom, layer.top);
  EXPECT_EQ(Rows(*layer.top[1])[0][1], 3);
  std::filesystem::remove(map);
}

TEST_F(AnnotatedDataLayerTest, RejectsBadLabelMapsAndTypes) {
  const string map = source_ + ".labels";
  AnnotatedDatum record;
  CHECK(record.ParseFromString(Record({{4, 0, 0, 1, 1}})));
  Write({record.SerializeAsString()});
  const auto fails = [&](const string& text, const string& why) {
    std::ofstream(map) << text;
    EXPECT_ERROR(LayerCase(Layer(1, "", "label_map_file: '" + map + "'"), {}, 2).SetUp(), why);
    std::filesystem::remove(map);
  };
  fails("item { label: 3 } item { label: 3 }", "label_map_file .*labels has label 3 twice");
  fails("item { label: }", "label_map_file .*labels cannot be read as a LabelMap");
  fails("", "label_map_file .*labels has no labels");
  fails("item { label: 3 }",
        "the record with key 'key0' has an object with label 4, which is not in label_map_file");
  EXPECT_ERROR(LayerCase(Layer(1, "", "label_map_file: '" + map + "'"), {}, 2).SetUp(),
               "label_map_file .*labels cannot be read");
  std::filesystem::remove_all(source_);
  google::protobuf::UnknownFieldSet* const fields =
      record.GetReflection()->MutableUnknownFields(&record);
  fields->AddVarint(AnnotatedDatum::kTypeFieldNumber, 7);
  Write({record.SerializeAsString()});
  EXPECT_ERROR(LayerCase(Layer(1), {}, 2).SetUp(),
               "the record with key 'key0' has annotations of another type than BBOX");
}

}  // namespace
}  // namespace caffe

#endif
