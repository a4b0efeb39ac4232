#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/expect_error.hpp"

namespace caffe {
namespace {

string Accuracy(const string& param = "") {
  return "name: 'acc' type: 'Accuracy' accuracy_param { " + param + " }";
}

/// Four positions of three classes. Ranks of the labels: 1, 2, 3, and tied for 1.
void SetScores(LayerCase* accuracy) {
  const double scores[] = {0.9, 0.1, 0.2, 0.5, 0.4, 0.1, 0.3, 0.2, 0.1, 0.7, 0.7, 0};
  const double labels[] = {0, 1, 2, 1};
  std::copy_n(scores, 12, accuracy->bottom[0]->mutable_cpu_data());
  std::copy_n(labels, 4, accuracy->bottom[1]->mutable_cpu_data());
}

vector<double> Tops(const string& param, int tops) {
  LayerCase accuracy(Accuracy(param), {{4, 3}, {4}}, tops);
  SetScores(&accuracy);
  accuracy.SetUp();
  accuracy.layer->Forward(accuracy.bottom, accuracy.top);
  vector<double> values;
  for (const Blob<double>* blob : accuracy.top) {
    values.insert(values.end(), blob->cpu_data(), blob->cpu_data() + blob->count());
  }
  return values;
}

TEST(Accuracy, CountsLabelsAmongTheHighestScores) {
  EXPECT_EQ(Tops("", 1), (vector<double>{0.25}));
  EXPECT_EQ(Tops("top_k: 2", 1), (vector<double>{0.75}));
  EXPECT_EQ(Tops("top_k: 3", 1), (vector<double>{1}));
}

TEST(Accuracy, LeavesIgnoredLabelsOut) {
  EXPECT_EQ(Tops("top_k: 2 ignore_label: 2", 1), (vector<double>{1}));
  EXPECT_EQ(Tops("ignore_label: 1", 1), (vector<double>{0.5}));
}

TEST(Accuracy, CountsEachClass) {
  EXPECT_EQ(Tops("top_k: 2", 2), (vector<double>{0.75, 1, 1, 0}));
  EXPECT_EQ(Tops("ignore_label: 1", 2), (vector<double>{0.5, 1, 0, 0}));
}

TEST(Accuracy, WorksAlongAnyAxis) {
  LayerCase accuracy(Accuracy("axis: 0"), {{3, 4}, {4}}, 1);
  accuracy.SetUp();
  for (int i = 0; i < 12; ++i) accuracy.bottom[0]->mutable_cpu_data()[i] = i % 5;
  const double labels[] = {1, 2, 1, 0};  // columns 0 4 3, 1 0 4, 2 1 0, 3 2 1
  std::copy_n(labels, 4, accuracy.bottom[1]->mutable_cpu_data());
  accuracy.layer->Forward(accuracy.bottom, accuracy.top);
  EXPECT_EQ(accuracy.top[0]->cpu_data()[0], 0.75);
}

TEST(Accuracy, TouchesNoDiff) {
  LayerCase accuracy(Accuracy(), {{4, 3}, {4}}, 1);
  SetScores(&accuracy);
  accuracy.SetUp();
  accuracy.layer->Forward(accuracy.bottom, accuracy.top);
  EXPECT_EQ(accuracy.bottom[0]->diff()->head(), SyncedMemory::UNINITIALIZED);
  EXPECT_TRUE(accuracy.Traits().backward.empty());
  EXPECT_EQ(accuracy.Traits().forward.workspace_bytes, 16 + 12);
}

TEST(AccuracyErrors, NamesTheLayerOfBadInput) {
  LayerCase top_k(Accuracy("top_k: 4"), {{4, 3}, {4}}, 1);
  EXPECT_ERROR(top_k.SetUp(), "Layer acc.*top_k");
  LayerCase count(Accuracy(), {{4, 3}, {3}}, 1);
  EXPECT_ERROR(count.SetUp(), "Layer acc.*number of labels");
  LayerCase range(Accuracy(), {{4, 3}, {4}}, 1);
  SetScores(&range);
  range.SetUp();
  for (const float label : {-1, 3}) {
    range.bottom[1]->mutable_cpu_data()[2] = label;
    EXPECT_ERROR(range.layer->Forward(range.bottom, range.top), "Layer acc: 1 of 4 labels");
  }
  EXPECT_ERROR(range.layer->Backward(range.top, {true, false}, range.bottom),
               "Layer acc.*no gradient");
}

}  // namespace
}  // namespace caffe
