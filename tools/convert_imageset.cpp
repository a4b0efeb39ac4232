// The program convert_imageset: puts the images of a list into a database for Data layers.
#ifdef USE_OPENCV
#include <opencv2/imgcodecs.hpp>
#endif

#include <algorithm>
#include <climits>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "caffe/util/format.hpp"
#include "caffe/util/image_list.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/rng.hpp"
#include "caffe/util/threads.hpp"
#include "shared/progress.hpp"
#include "shared/record_writer.hpp"
#include "shared/start.hpp"

DEFINE_bool(gray, false, "Read images as gray ones.");
DEFINE_bool(shuffle, false, "Shuffle the images and their labels.");
DEFINE_int64(seed, -1,
             "With shuffle: the order is that of this seed; negative: another each time.");
DEFINE_string(backend, "lmdb", "The database: lmdb or leveldb.");
DEFINE_int32(resize_width, 0, "Width that images are resized to; 0: as they are.");
DEFINE_int32(resize_height, 0, "Height that images are resized to; 0: as they are.");
DEFINE_bool(check_size, false, "End where images have different sizes.");
DEFINE_bool(encoded, false, "Store images as files, not as pixels.");
DEFINE_string(encode_type, "", "The format of those files, as png or jpg; empty: the image's own.");

namespace {

using caffe::Datum;
using caffe::ListedImage;

constexpr tools::Help kHelp = {
    "convert_imageset", "[FLAGS] FOLDER/ LIST DATABASE",
    R"(Puts images, with their labels, into a new database for Data layers. A line of LIST is the path of
an image, which FOLDER/ is put before, and an integer label: cats/1.jpg 0. Images that cannot be
read are left out, and told of.

  --gray                  read images as gray ones
  --shuffle               shuffle the images and their labels
  --seed=N                with --shuffle: in the order that belongs to N
  --backend=lmdb          the database: lmdb or leveldb
  --resize_width=0        resize to this width, where both are set
  --resize_height=0       and height
  --check_size            end where images have different sizes
  --encoded               store images as files, not as pixels
  --encode_type=png       in this format; without it, in the image's own)"};

constexpr size_t kBatch = 256;  ///< images that are read side by side
constexpr int kKeyDigits = 8;

bool CanWrite(const std::string& format) {
#ifdef USE_OPENCV
  return cv::haveImageWriter("." + format);
#else
  return format.empty();
#endif
}

/// The format that an image is stored in; empty: pixels.
std::string Encoding(const std::string& path) {
  if (!FLAGS_encoded) return "";
  if (!FLAGS_encode_type.empty()) return FLAGS_encode_type;
  const size_t dot = path.rfind('.');
  CHECK(dot != std::string::npos) << path << ": the name tells no format; give --encode_type.";
  std::string extension = path.substr(dot + 1);
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char letter) { return std::tolower(letter); });
  return extension;
}

/// Aborts where the flags make no sense.
void CheckFlags() {
  CHECK_EQ(FLAGS_resize_width > 0, FLAGS_resize_height > 0)
      << "--resize_width and --resize_height must be set together.";
  const int64_t pixels = int64_t{FLAGS_resize_width} * FLAGS_resize_height;
  CHECK(FLAGS_resize_width <= 0 || pixels <= INT_MAX / (FLAGS_gray ? 1 : 3))
      << "--resize_width=" << FLAGS_resize_width << " --resize_height=" << FLAGS_resize_height
      << ": such an image is larger than a record can be; make it smaller.";
  CHECK(!FLAGS_check_size || !FLAGS_encoded) << "--check_size is for pixels: leave --encoded out.";
  CHECK(FLAGS_encode_type.empty() || CanWrite(FLAGS_encode_type))
      << "--encode_type=" << FLAGS_encode_type
      << ": OpenCV writes no such images; give png or jpg.";
}

/// Aborts where an image has to be written again, and cannot be.
void CheckEncodings(const std::vector<ListedImage>& images) {
  if (!FLAGS_encoded || !FLAGS_encode_type.empty()) return;
  const bool changed = FLAGS_resize_width > 0 || FLAGS_gray;
  for (const ListedImage& image : images) {
    CHECK(!changed || CanWrite(Encoding(image.path)))
        << image.path << ": OpenCV writes no images in this format; give --encode_type.";
  }
}

/// Reads images [begin, end) of the list, on all cores; those that cannot be read have no data.
std::vector<Datum> ReadImages(const std::string& folder, const std::vector<ListedImage>& images,
                              size_t begin, size_t end) {
  const int height = std::max(0, FLAGS_resize_height), width = std::max(0, FLAGS_resize_width);
  std::vector<Datum> data(end - begin);
  caffe::CpuFor(static_cast<int64_t>(data.size()), true, [&](int64_t i) {
    const ListedImage& image = images[begin + static_cast<size_t>(i)];
    Datum datum;
    if (caffe::ReadImageToDatum(folder + image.path, image.label, height, width, !FLAGS_gray,
                                Encoding(image.path), &datum))
      data[static_cast<size_t>(i)].Swap(&datum);
  });
  return data;
}

}  // namespace

int main(int argc, char** argv) {
  if (const std::optional<int> code = tools::Start(&argc, &argv, kHelp, 3, 3)) return *code;
  const std::string folder = argv[1], list = argv[2];
  CheckFlags();
  if (!FLAGS_encode_type.empty() && !FLAGS_encoded)
    LOG(INFO) << "encode_type specified, assuming encoded=true.";
  FLAGS_encoded |= !FLAGS_encode_type.empty();

  std::vector<ListedImage> images = caffe::ReadImageList(list, "");
  CheckEncodings(images);
  if (FLAGS_shuffle) {
    LOG(INFO) << "Shuffling data";
    if (FLAGS_seed >= 0) caffe::Caffe::set_random_seed(static_cast<unsigned int>(FLAGS_seed));
    caffe::shuffle(images.begin(), images.end());
  }
  LOG(INFO) << "A total of " << images.size() << " images.";
  tools::RecordWriter database(argv[3], FLAGS_backend, [](int records) {
    LOG(INFO) << "Processed " << records << " files.";
  });
  tools::Progress progress("images", static_cast<int64_t>(images.size()));
  size_t size = 0;
  for (size_t begin = 0; begin < images.size(); begin += kBatch) {
    const size_t end = std::min(begin + kBatch, images.size());
    const std::vector<Datum> data = ReadImages(folder, images, begin, end);
    for (size_t i = begin; i < end; ++i) {
      const Datum& datum = data[i - begin];
      if (datum.data().empty()) continue;
      if (size == 0) size = datum.data().size();
      CHECK(!FLAGS_check_size || datum.data().size() == size)
          << "Incorrect data field size " << datum.data().size() << " of " << images[i].path << " ("
          << list << ":" << images[i].line << "); the images before it have " << size << ".";
      database.Put(caffe::format_int(static_cast<int>(i), kKeyDigits) + "_" + images[i].path,
                   datum);
    }
    progress.Done(static_cast<int64_t>(end));
  }
  database.Finish();
  const size_t left_out = images.size() - static_cast<size_t>(database.records());
  CHECK_GT(database.records(), 0) << "None of the images of " << list << " could be read.";
  LOG_IF(WARNING, left_out > 0) << left_out << " of " << images.size()
                                << " images could not be read; they are left out.";
  return 0;
}
