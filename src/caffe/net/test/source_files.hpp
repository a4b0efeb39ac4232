#ifndef CAFFE_NET_TEST_SOURCE_FILES_HPP_
#define CAFFE_NET_TEST_SOURCE_FILES_HPP_

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <opencv2/imgcodecs.hpp>
#include <string>

#include "caffe/util/db.hpp"
#include "caffe/util/hdf5.hpp"

namespace caffe {

/// A folder with what the layers of nets/types/sources.prototxt read: four images of 3 x 6 x 6 with
/// labels 0 to 3 as a database, also with a box in each, as files and as an HDF5 file, and a
/// window, which is one of the images. The folder is removed with this object.
class SourceFiles {
 public:
  static constexpr int kImages = 4, kSide = 6;

  SourceFiles() : folder_(::testing::TempDir() + "source_files_" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
    WriteDatabases();
    WriteImages();
    WriteHdf5();
  }
  ~SourceFiles() { std::filesystem::remove_all(folder_); }
  SourceFiles(const SourceFiles&) = delete;
  SourceFiles& operator=(const SourceFiles&) = delete;

  const std::string& folder() const { return folder_; }

 private:
  static int Pixel(int image, int place) { return (image * 53 + place * 29) % 251; }

  void WriteDatabases() const {
    std::unique_ptr<db::DB> database(db::GetDB("lmdb")), annotated(db::GetDB("lmdb"));
    database->Open(folder_ + "/images.lmdb", db::NEW);
    annotated->Open(folder_ + "/annotated.lmdb", db::NEW);
    std::unique_ptr<db::Transaction> transaction(database->NewTransaction());
    std::unique_ptr<db::Transaction> annotations(annotated->NewTransaction());
    for (int i = 0; i < kImages; ++i) {
      Datum datum;
      datum.set_channels(3);
      datum.set_height(kSide);
      datum.set_width(kSide);
      datum.set_label(i);
      for (int k = 0; k < 3 * kSide * kSide; ++k)
        datum.mutable_data()->push_back(static_cast<char>(Pixel(i, k)));
      transaction->Put("image" + std::to_string(i), datum.SerializeAsString());
      AnnotatedDatum record;
      *record.mutable_datum() = datum;
      AnnotationGroup* group = record.add_annotation_group();
      group->set_group_label(i % 3 + 1);
      NormalizedBBox* box = group->add_annotation()->mutable_bbox();
      box->set_xmin(0.1f * static_cast<float>(i));
      box->set_ymin(0.2f);
      box->set_xmax(0.9f);
      box->set_ymax(0.8f);
      annotations->Put("image" + std::to_string(i), record.SerializeAsString());
    }
    transaction->Commit();
    annotations->Commit();
  }

  void WriteImages() const {
    std::ofstream images(folder_ + "/images.txt"), windows(folder_ + "/windows.txt"),
        pairs(folder_ + "/pairs.txt");
    for (int i = 0; i < kImages; ++i) {
      const std::string name = "image" + std::to_string(i) + ".png";
      cv::Mat image(kSide, kSide, CV_8UC3);
      for (int k = 0; k < 3 * kSide * kSide; ++k) image.data[k] = Pixel(i + 7, k) & 0xff;
      CHECK(cv::imwrite(folder_ + "/" + name, image)) << name;
      images << name << " " << i << "\n";
      const std::string labels = "labels" + std::to_string(i) + ".png";
      CHECK(cv::imwrite(folder_ + "/" + labels, cv::Mat(kSide, kSide, CV_8UC1, cv::Scalar(i))));
      pairs << name << " " << labels << "\n";
      if (i > 0) continue;  // one window, whichever is drawn
      // index, path, channels, height, width, windows; class, overlap, x1, y1, x2, y2
      windows << "# " << i << "\n" << name << "\n3\n" << kSide << "\n" << kSide << "\n1\n";
      windows << i % 3 + 1 << " 1 0 0 " << kSide - 1 << " " << kSide - 1 << "\n";
    }
  }

  void WriteHdf5() const {
    Blob<float> data(vector<int>{kImages, 3, kSide, kSide}), label(vector<int>{kImages});
    for (int k = 0; k < data.count(); ++k)
      data.mutable_cpu_data()[k] = static_cast<float>(Pixel(3, k)) / 100 - 1;
    for (int i = 0; i < kImages; ++i) label.mutable_cpu_data()[i] = static_cast<float>(i);
    const hid_t file =
        H5Fcreate((folder_ + "/data.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hdf5_save_nd_dataset<float>(file, "hdf5", data);
    hdf5_save_nd_dataset<float>(file, "hdf5_label", label);
    H5Fclose(file);
    std::ofstream(folder_ + "/hdf5.txt") << folder_ << "/data.h5\n";
  }

  const std::string folder_;
};

}  // namespace caffe

#endif  // CAFFE_NET_TEST_SOURCE_FILES_HPP_
