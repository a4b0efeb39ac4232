// A program like cpp_classification: it finds the most likely labels of an image, using a deploy
// net, trained weights, a mean file and a file of labels.
#include <caffe/caffe.hpp>
#ifdef USE_OPENCV
#include <opencv2/core/core.hpp>
#include <opencv2/imgproc/imgproc.hpp>
#endif  // USE_OPENCV
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#ifdef USE_OPENCV
using namespace caffe;  // NOLINT

/// A deploy net for images of one size. Its only output has a score for each label.
class Classifier {
 public:
  typedef std::pair<string, float> LabelAndScore;

  Classifier(const string& model, const string& weights, const string& mean, const string& labels)
      : net_(new Net<float>(model, TEST)) {
    Caffe::set_mode(Caffe::CPU);
    CHECK(net_->num_inputs() == 1 && net_->num_outputs() == 1) << model;
    net_->CopyTrainedLayersFrom(weights);
    std::ifstream file(labels.c_str());
    for (string line; std::getline(file, line);) labels_.push_back(line);
    CHECK_EQ(net_->output_blobs()[0]->channels(), labels_.size()) << labels;
    BlobProto proto;
    ReadProtoFromBinaryFileOrDie(mean.c_str(), &proto);
    Blob<float> image;
    image.FromProto(proto);
    CHECK_EQ(image.channels(), 3) << mean;
    for (int c = 0; c < 3; ++c) {
      const cv::Mat plane(image.height(), image.width(), CV_32FC1,
                          image.mutable_cpu_data() + image.offset(0, c));
      mean_[c] = cv::mean(plane)[0];
    }
  }

  /// Returns the `n` best labels for an image of three channels, best first.
  vector<LabelAndScore> Best(const cv::Mat& image, int n = 5) {
    Blob<float>* const input = net_->input_blobs()[0];
    input->Reshape(1, 3, input->height(), input->width());
    net_->Reshape();
    Fill(input, image);
    const Blob<float>& scores = *net_->Forward()[0];
    vector<LabelAndScore> found;
    for (int k = 0; k < scores.channels(); ++k) {
      found.push_back(LabelAndScore(labels_[k], scores.data_at(0, k, 0, 0)));
    }
    n = std::min<int>(n, found.size());
    std::partial_sort(
        found.begin(), found.begin() + n, found.end(),
        [](const LabelAndScore& a, const LabelAndScore& b) { return a.second > b.second; });
    found.resize(n);
    return found;
  }

 private:
  /// Lets OpenCV write the planes of the image, minus the mean, to the net's input.
  void Fill(Blob<float>* input, const cv::Mat& image) {
    cv::Mat fitting, values;
    cv::resize(image, fitting, cv::Size(input->width(), input->height()));
    fitting.convertTo(values, CV_32FC3);
    values -= mean_;
    vector<cv::Mat> planes;
    for (int c = 0; c < 3; ++c) {
      planes.push_back(cv::Mat(input->height(), input->width(), CV_32FC1,
                               input->mutable_cpu_data() + input->offset(0, c)));
    }
    cv::split(values, planes);
    CHECK_EQ(reinterpret_cast<const float*>(planes[0].data), input->cpu_data());
  }

  shared_ptr<Net<float> > net_;
  vector<string> labels_;
  cv::Scalar mean_;
};

namespace {

/// Six classes; the score of class k is k * (mean of the red plane - 10).
class ClassificationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    string folder;
    MakeTempDir(&folder);
    model_ = folder + "/deploy.prototxt";
    weights_ = folder + "/weights.caffemodel";
    mean_ = folder + "/mean.binaryproto";
    labels_ = folder + "/labels.txt";
    std::ofstream(model_.c_str())
        << "name: 'deploy' input: 'data' input_dim: 10 input_dim: 3 input_dim: 4 input_dim: 4 "
           "layers { name: 'pool' type: POOLING bottom: 'data' top: 'pool' "
           "         pooling_param { pool: AVE kernel_size: 4 } } "
           "layers { name: 'fc' type: INNER_PRODUCT bottom: 'pool' top: 'fc' "
           "         inner_product_param { num_output: 6 } } "
           "layers { name: 'prob' type: SOFTMAX bottom: 'fc' top: 'prob' } ";
    Net<float> net(model_, TEST);
    Blob<float>* scores = net.layer_by_name("fc")->blobs()[0].get();
    for (int k = 0; k < 6; ++k) scores->mutable_cpu_data()[3 * k + 2] = k;
    NetParameter trained;
    net.ToProto(&trained);
    WriteProtoToBinaryFile(trained, weights_);
    Blob<float> mean(1, 3, 8, 8);
    caffe_set(mean.count(), 10.f, mean.mutable_cpu_data());
    BlobProto mean_proto;
    mean.ToProto(&mean_proto);
    WriteProtoToBinaryFile(mean_proto, mean_);
    std::ofstream labels(labels_.c_str());
    for (int k = 0; k < 6; ++k) labels << "class " << k << "\n";
  }
  string model_, weights_, mean_, labels_;
};

TEST_F(ClassificationTest, GivesTheMostLikelyLabels) {
  Classifier classifier(model_, weights_, mean_, labels_);
  // An image of twice the net's size, in blue, green and red. Runs twice, as the input is wrapped
  // anew each time.
  for (int red = 11; red >= 9; red -= 2) {
    const cv::Mat img(8, 8, CV_8UC3, cv::Scalar(200, 100, red));
    const vector<Classifier::LabelAndScore> predictions = classifier.Best(img);
    ASSERT_EQ(predictions.size(), 5);
    double sum = 0;
    for (int k = 0; k < 6; ++k) sum += std::exp((red - 10) * k);
    for (int i = 0; i < 5; ++i) {
      const int k = red > 10 ? 5 - i : i;
      EXPECT_EQ(predictions[i].first, "class " + std::to_string(k));
      EXPECT_NEAR(predictions[i].second, std::exp((red - 10) * k) / sum, 1e-5);
    }
  }
}

}  // namespace
#else
TEST(Classification, NeedsOpenCv) { GTEST_SKIP() << "a build without OpenCV reads no images"; }
#endif  // USE_OPENCV
