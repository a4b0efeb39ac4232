// The program compute_image_mean: the mean of the images of a database.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "caffe/proto/caffe.pb.h"
#include "caffe/util/db.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/threads.hpp"
#include "shared/progress.hpp"
#include "shared/start.hpp"

DEFINE_string(backend, "lmdb", "The database: lmdb or leveldb.");

namespace {

using caffe::Datum;

constexpr tools::Help kHelp = {
    "compute_image_mean", "[FLAGS] DATABASE [FILE]",
    R"(Computes the mean image of a database of images that all have one size, and the mean of each
channel. With FILE, writes the image there, for transform_param { mean_file: "FILE" }.

  --backend=lmdb    the database: lmdb or leveldb)"};

constexpr size_t kBatch = 256;  ///< images that are decoded in parallel
constexpr int kTold = 10000;    ///< images between two log lines

/// Sums images pixel by pixel, in their order.
class Sum {
 public:
  void Add(std::vector<Datum>* images, const std::vector<std::string>& keys) {
    caffe::CpuFor(static_cast<int64_t>(images->size()), true,
                  [&](int64_t i) { caffe::DecodeDatumNative(&(*images)[static_cast<size_t>(i)]); });
    for (size_t i = 0; i < images->size(); ++i) Check((*images)[i], keys[i]);
    caffe::CpuFor(static_cast<int64_t>(sums_.size()), true, [&](int64_t pixel) {
      for (const Datum& image : *images) sums_[pixel] += Value(image, static_cast<int>(pixel));
    });
    count_ += static_cast<int64_t>(images->size());
  }

  caffe::BlobProto Mean() const {
    caffe::BlobProto mean;
    mean.set_num(1);
    mean.set_channels(channels_);
    mean.set_height(height_);
    mean.set_width(width_);
    for (double sum : sums_) mean.add_data(static_cast<float>(sum / static_cast<double>(count_)));
    return mean;
  }
  double ChannelMean(int channel) const {
    const int64_t plane = int64_t{height_} * width_;
    const auto first = sums_.begin() + channel * plane;
    return std::accumulate(first, first + plane, 0.0) / static_cast<double>(plane * count_);
  }
  int channels() const { return channels_; }
  int64_t count() const { return count_; }

 private:
  static double Value(const Datum& image, int pixel) {
    return image.data().empty() ? image.float_data(pixel)
                                : static_cast<uint8_t>(image.data()[pixel]);
  }

  void Check(const Datum& image, const std::string& key) {
    if (sums_.empty()) {
      channels_ = image.channels();
      height_ = image.height();
      width_ = image.width();
      const int64_t values = int64_t{channels_} * height_ * width_;
      CHECK(channels_ > 0 && height_ > 0 && width_ > 0 && values <= INT32_MAX)
          << "record " << key << " has an image of " << channels_ << " x " << height_ << " x "
          << width_ << ".";
      sums_.resize(static_cast<size_t>(values));
    }
    const size_t size =
        image.data().empty() ? static_cast<size_t>(image.float_data_size()) : image.data().size();
    CHECK_EQ(size, sums_.size()) << "Incorrect data field size " << size << " of record " << key
                                 << "; the images before it have " << sums_.size() << ".";
  }

  std::vector<double> sums_;
  int channels_ = 0, height_ = 0, width_ = 0;
  int64_t count_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (const std::optional<int> code = tools::Start(&argc, &argv, kHelp, 1, 2)) return *code;
  const std::string source = argv[1];
  const std::unique_ptr<caffe::db::DB> database(caffe::db::GetDB(FLAGS_backend));
  database->Open(source, caffe::db::READ);
  const std::unique_ptr<caffe::db::Cursor> cursor(database->NewCursor());
  CHECK(cursor->valid()) << "Database " << source << " is empty.";
  LOG(INFO) << "Starting iteration";
  Sum sum;
  tools::Progress progress("images", 0);
  while (cursor->valid()) {
    std::vector<Datum> images;
    std::vector<std::string> keys;
    for (; cursor->valid() && images.size() < kBatch; cursor->Next()) {
      keys.push_back(cursor->key());
      images.emplace_back();
      CHECK(images.back().ParseFromString(cursor->value()))
          << "Database " << source << ": record " << keys.back() << " is no Datum.";
    }
    const int64_t told = sum.count() / kTold;
    sum.Add(&images, keys);
    LOG_IF(INFO, sum.count() / kTold > told) << "Processed " << sum.count() << " files.";
    progress.Done(sum.count());
  }
  LOG_IF(INFO, sum.count() % kTold != 0) << "Processed " << sum.count() << " files.";
  if (argc == 3) {
    LOG(INFO) << "Write to " << argv[2];
    caffe::WriteProtoToBinaryFile(sum.Mean(), argv[2]);
  }
  LOG(INFO) << "Number of channels: " << sum.channels();
  for (int channel = 0; channel < sum.channels(); ++channel)
    LOG(INFO) << "mean_value channel [" << channel << "]: " << sum.ChannelMean(channel);
  return 0;
}
