#ifndef TOOLS_SHARED_IMAGE_SET_HPP_
#define TOOLS_SHARED_IMAGE_SET_HPP_

// Flags and functions that the programs which put images into a database share. To be included once
// in a program.
#ifdef USE_OPENCV
#include <opencv2/imgcodecs.hpp>
#endif

#include <algorithm>
#include <climits>
#include <cstdint>
#include <string>
#include <vector>

#include "caffe/util/format.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/rng.hpp"
#include "caffe/util/threads.hpp"
#include "shared/progress.hpp"
#include "shared/record_writer.hpp"

DEFINE_bool(gray, false, "Read images as gray images.");
DEFINE_bool(shuffle, false, "Shuffle the images and their labels.");
DEFINE_int64(seed, -1, "With --shuffle: the seed of the order; negative: a new order each time.");
DEFINE_string(backend, "lmdb", "The database: lmdb or leveldb.");
DEFINE_int32(resize_width, 0, "Width that images are resized to; 0: not resized.");
DEFINE_int32(resize_height, 0, "Height that images are resized to; 0: not resized.");
DEFINE_bool(check_size, false, "Fail if images have different sizes.");
DEFINE_bool(encoded, false, "Store images as files, not as pixels.");
DEFINE_string(encode_type, "",
              "The format of these files, such as png or jpg; empty: that of the image.");

namespace tools {

constexpr size_t kImagesTogether = 256;  ///< images that are read in parallel
constexpr int kKeyDigits = 8;

inline bool CanWrite(const std::string& format) {
#ifdef USE_OPENCV
  return cv::haveImageWriter("." + format);
#else
  return format.empty();
#endif
}

/// The file format in which an image is stored; empty: it is stored as pixels.
inline std::string Encoding(const std::string& path) {
  if (!FLAGS_encoded) return "";
  if (!FLAGS_encode_type.empty()) return FLAGS_encode_type;
  const size_t dot = path.rfind('.');
  CHECK(dot != std::string::npos)
      << path << ": the name has no extension that tells the format; give --encode_type.";
  std::string extension = path.substr(dot + 1);
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char letter) { return std::tolower(letter); });
  return extension;
}

/// Aborts if the flags are invalid. --encode_type implies --encoded.
inline void CheckFlags() {
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
  if (!FLAGS_encode_type.empty() && !FLAGS_encoded)
    LOG(INFO) << "encode_type specified, assuming encoded=true.";
  FLAGS_encoded |= !FLAGS_encode_type.empty();
}

/// Aborts if an image has to be encoded again and OpenCV cannot write its format.
template <typename Listed>
void CheckEncodings(const std::vector<Listed>& images, bool resized) {
  if (!FLAGS_encoded || !FLAGS_encode_type.empty()) return;
  const bool changed = resized || FLAGS_gray;
  for (const Listed& image : images) {
    CHECK(!changed || CanWrite(Encoding(image.path)))
        << image.path << ": OpenCV writes no images in this format; give --encode_type.";
  }
}

/// Writes a record for each of `images`, in order, into a new database at `path`. An image has a
/// path and the number of its line in the file `list`. read(image, record) makes the record and
/// runs on all cores; if it returns false, the image cannot be read and is left out. datum(record)
/// is the record's image.
template <typename Record, typename Listed, typename Read, typename DatumOf>
void WriteDatabase(std::vector<Listed> images, const std::string& list, const std::string& path,
                   const Read& read, const DatumOf& datum) {
  if (FLAGS_shuffle) {
    LOG(INFO) << "Shuffling data";
    if (FLAGS_seed >= 0) caffe::Caffe::set_random_seed(static_cast<unsigned int>(FLAGS_seed));
    caffe::shuffle(images.begin(), images.end());
  }
  LOG(INFO) << "A total of " << images.size() << " images.";
  RecordWriter database(path, FLAGS_backend,
                        [](int records) { LOG(INFO) << "Processed " << records << " files."; });
  Progress progress("images", static_cast<int64_t>(images.size()));
  size_t size = 0;
  for (size_t begin = 0; begin < images.size(); begin += kImagesTogether) {
    const size_t end = std::min(begin + kImagesTogether, images.size());
    std::vector<Record> records(end - begin);
    caffe::CpuFor(static_cast<int64_t>(records.size()), true, [&](int64_t i) {
      Record record;
      if (read(images[begin + static_cast<size_t>(i)], &record))
        std::swap(records[static_cast<size_t>(i)], record);
    });
    for (size_t i = begin; i < end; ++i) {
      const std::string& data = datum(records[i - begin]).data();
      if (data.empty()) continue;
      if (size == 0) size = data.size();
      CHECK(!FLAGS_check_size || data.size() == size)
          << "Incorrect data field size " << data.size() << " of " << images[i].path << " (" << list
          << ":" << images[i].line << "); the images before it have " << size << ".";
      database.Put(caffe::format_int(static_cast<int>(i), kKeyDigits) + "_" + images[i].path,
                   records[i - begin]);
    }
    progress.Done(static_cast<int64_t>(end));
  }
  database.Finish();
  const size_t left_out = images.size() - static_cast<size_t>(database.records());
  CHECK_GT(database.records(), 0) << "None of the images of " << list << " could be read.";
  LOG_IF(WARNING, left_out > 0) << left_out << " of " << images.size()
                                << " images could not be read; they are left out.";
}

}  // namespace tools

#endif  // TOOLS_SHARED_IMAGE_SET_HPP_
