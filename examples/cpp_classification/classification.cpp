// The program classification: the most likely labels of an image. It uses nothing but the C++ API
// of libcaffe, as programs of one's own do:
//   classification deploy.prototxt network.caffemodel mean.binaryproto labels.txt image.jpg
#include <caffe/caffe.hpp>
#include <caffe/util/failure.hpp>
#ifdef USE_OPENCV
#include <opencv2/core/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc/imgproc.hpp>
#endif  // USE_OPENCV

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace {

const char kUsage[] =
    R"(usage: classification deploy.prototxt network.caffemodel mean.binaryproto labels.txt img.jpg
Prints the five most likely labels of the image.

  deploy.prototxt      a net with one input, of 1 or 3 channels, and one output, a number for a label
  network.caffemodel   its trained weights
  mean.binaryproto     an image by compute_image_mean: the mean of each channel is subtracted
  labels.txt           the labels, one a line
  img.jpg              an image of any size, in a format that OpenCV reads
)";

#ifdef USE_OPENCV
typedef std::pair<std::string, float> Prediction;

class Classifier {
 public:
  Classifier(const std::string& model, const std::string& weights, const std::string& mean,
             const std::string& labels) {
    ReadLabels(labels);
    net_.reset(new caffe::Net<float>(model, caffe::TEST));
    net_->CopyTrainedLayersFrom(weights);
    CHECK(net_->num_inputs() == 1) << model << ": the net must have one input.";
    CHECK(net_->num_outputs() == 1) << model << ": the net must have one output.";
    caffe::Blob<float>* const input = net_->input_blobs()[0];
    CHECK(input->num_axes() == 4 && (input->shape(1) == 1 || input->shape(1) == 3))
        << model << ": the input must have the shape N x C x H x W, and 1 or 3 channels.";
    input->Reshape(1, input->shape(1), input->shape(2), input->shape(3));
    net_->Reshape();
    CHECK(net_->output_blobs()[0]->count() == static_cast<int>(labels_.size()))
        << labels << ": it has " << labels_.size() << " labels, but the output of " << model
        << " has " << net_->output_blobs()[0]->count() << " channels.";
    ReadMean(mean);
  }

  int channels() const { return net_->input_blobs()[0]->shape(1); }

  /// The labels with the highest scores, the highest first.
  std::vector<Prediction> Best(const cv::Mat& image, size_t count) {
    Fill(image);
    const caffe::Blob<float>& output = *net_->Forward()[0];
    std::vector<Prediction> predictions;
    for (size_t i = 0; i < labels_.size(); ++i)
      predictions.push_back(Prediction(labels_[i], output.cpu_data()[i]));
    count = std::min(count, predictions.size());
    std::stable_sort(predictions.begin(), predictions.end(),
                     [](const Prediction& a, const Prediction& b) { return a.second > b.second; });
    predictions.resize(count);
    return predictions;
  }

 private:
  void ReadLabels(const std::string& path) {
    std::ifstream file(path.c_str());
    CHECK(file.good()) << path << ": the labels cannot be read.";
    for (std::string line; std::getline(file, line);) {
      if (!line.empty() && line[line.size() - 1] == '\r') line.resize(line.size() - 1);
      labels_.push_back(line);
    }
    CHECK(!labels_.empty()) << path << ": there are no labels.";
  }

  void ReadMean(const std::string& path) {
    const caffe::FailureScope scope(caffe::CurrentFile{path});
    caffe::BlobProto proto;
    caffe::ReadProtoFromBinaryFileOrDie(path, &proto);
    caffe::Blob<float> mean;
    mean.FromProto(proto);
    const int channels = net_->input_blobs()[0]->shape(1);
    CHECK(mean.num_axes() >= 3 && mean.count() > 0 && mean.shape(-3) == channels)
        << path << ": the mean image must have " << channels << " channels, as the net's input.";
    const int plane = mean.count() / channels;
    for (int c = 0; c < channels; ++c) {
      double sum = 0;
      for (int i = 0; i < plane; ++i) sum += mean.cpu_data()[c * plane + i];
      mean_[c] = sum / plane;
    }
  }

  /// Writes the image, resized and less the mean, where the net reads it: plane by plane.
  void Fill(const cv::Mat& image) {
    caffe::Blob<float>* const input = net_->input_blobs()[0];
    const int channels = input->shape(1), height = input->shape(2), width = input->shape(3);
    cv::Mat fitting, values;
    cv::resize(image, fitting, cv::Size(width, height));
    fitting.convertTo(values, CV_32FC(channels));
    cv::subtract(values, mean_, values);
    std::vector<cv::Mat> planes;
    cv::split(values, planes);
    for (int c = 0; c < channels; ++c) {
      const cv::Mat& plane = planes[c];
      std::copy(plane.begin<float>(), plane.end<float>(),
                input->mutable_cpu_data() + input->offset(0, c));
    }
  }

  caffe::shared_ptr<caffe::Net<float> > net_;
  std::vector<std::string> labels_;
  cv::Scalar mean_;
};

void Classify(char** argv) {
  const std::string path = argv[5];
  Classifier classifier(argv[1], argv[2], argv[3], argv[4]);
  const cv::Mat image =
      cv::imread(path, classifier.channels() == 1 ? cv::IMREAD_GRAYSCALE : cv::IMREAD_COLOR);
  CHECK(!image.empty()) << path << ": the image cannot be read.";
  std::cout << "---------- Prediction for " << path << " ----------" << std::endl;
  for (const Prediction& prediction : classifier.Best(image, 5)) {
    char score[32];
    std::snprintf(score, sizeof score, "%.4f", prediction.second);
    std::cout << score << " - \"" << prediction.first << "\"" << std::endl;
  }
}
#else
void Classify(char**) {
  LOG(FATAL) << "Images are read by OpenCV, which this build lacks (USE_OPENCV).";
}
#endif  // USE_OPENCV

}  // namespace

int main(int argc, char** argv) {
  const bool help = argc == 2 && (argv[1] == std::string("--help") || argv[1] == std::string("-h"));
  if (argc != 6) {
    (help ? std::cout : std::cerr) << kUsage;
    return help ? 0 : 1;
  }
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = google::GLOG_WARNING;
  google::InitGoogleLogging(argv[0]);
  caffe::ExitOnFailure(1);
  Classify(argv);
  return 0;
}
