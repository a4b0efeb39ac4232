#ifndef EXAMPLES_SHARED_MAKE_DATA_HPP_
#define EXAMPLES_SHARED_MAKE_DATA_HPP_

// What the programs that make the examples' data share.
#include <glog/logging.h>

#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../../tools/shared/record_writer.hpp"
#include "../../tools/shared/start.hpp"
#include "caffe/blob.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/util/atomic_file.hpp"
#include "caffe/util/db.hpp"
#include "caffe/util/format.hpp"
#include "caffe/util/hdf5.hpp"

namespace examples {

/// The same numbers on every machine: the C++ standard fixes those of the generator, unlike those
/// of its distributions.
class Random {
 public:
  explicit Random(unsigned int seed) : random_(seed) {}
  /// One of least, least + 1, ..., most.
  int From(int least, int most) {
    return least + static_cast<int>(random_() % static_cast<unsigned int>(most - least + 1));
  }
  /// Between -1 and 1.
  float Share() { return static_cast<float>(From(-1000, 1000)) / 1000; }

 private:
  std::mt19937 random_;
};

/// Three planes of equal height and width, or one, for the pixels of a record.
inline caffe::Datum Image(int channels, int height, int width, int label) {
  caffe::Datum image;
  image.set_channels(channels);
  image.set_height(height);
  image.set_width(width);
  image.set_label(label);
  return image;
}

inline void AddPixel(int value, caffe::Datum* image) {
  image->mutable_data()->push_back(static_cast<char>(value));
}

/// A new database whose keys are the numbers of its records. Aborts where it is there already.
class NumberedRecords {
 public:
  explicit NumberedRecords(const std::string& path, const std::string& backend = "lmdb")
      : path_(path), writer_(path, backend, [](int) {}) {}
  void Put(const google::protobuf::MessageLite& record) {
    writer_.Put(caffe::format_int(writer_.records(), kKeyDigits), record);
  }
  void Finish(const char* what = "records") {
    writer_.Finish();
    std::cout << path_ << ": " << writer_.records() << " " << what << "\n";
  }

 private:
  static constexpr int kKeyDigits = 8;
  const std::string path_;
  tools::RecordWriter writer_;
};

/// The records of a database of raw images that have one size. Aborts where there are none.
inline std::vector<caffe::Datum> ReadImages(const std::string& path) {
  const std::unique_ptr<caffe::db::DB> database(caffe::db::GetDB("lmdb"));
  database->Open(path, caffe::db::READ);
  const std::unique_ptr<caffe::db::Cursor> cursor(database->NewCursor());
  std::vector<caffe::Datum> images;
  for (; cursor->valid(); cursor->Next()) {
    caffe::Datum image;
    CHECK(image.ParseFromString(cursor->value()) && !image.encoded() && !image.data().empty() &&
          (images.empty() || image.data().size() == images[0].data().size()))
        << "Database " << path << ": record " << cursor->key()
        << " is no image of raw pixels, or has another size than those before it.";
    images.push_back(image);
  }
  CHECK(!images.empty()) << "Database " << path << " is empty.";
  return images;
}

#ifdef USE_HDF5
/// A file of datasets for HDF5Data layers, in place of one that was there.
inline void WriteHdf5(const std::string& path,
                      const std::vector<std::pair<std::string, const caffe::Blob<float>*>>& sets) {
  caffe::AtomicFile file(path);
  caffe::hdf5_write_file(
      [&](hid_t id) {
        for (const auto& [name, blob] : sets) caffe::hdf5_save_nd_dataset(id, name, *blob);
      },
      &file);
  file.Commit();
  std::cout << path << ": " << sets[0].second->shape(0) << " rows" << std::endl;
}
#else
inline void WriteHdf5(const std::string& path,
                      const std::vector<std::pair<std::string, const caffe::Blob<float>*>>&) {
  LOG(FATAL) << "Cannot write " << path << ": this build has no HDF5 (USE_HDF5).";
}
#endif  // USE_HDF5

}  // namespace examples

#endif  // EXAMPLES_SHARED_MAKE_DATA_HPP_
