// What Caffe's programs get when they include only io.hpp.
#include "caffe/util/io.hpp"

#include <gtest/gtest.h>

namespace caffe {
namespace {

TEST(IoHeader, ProvidesWhatCaffesHeaderProvides) {
  static_assert(CAFFE_TMP_DIR_RETRIES > 0);
  string folder, file;
  MakeTempDir(&folder);
  MakeTempFilename(&file);
  const caffe::path made(folder);
  EXPECT_TRUE(boost::filesystem::is_directory(made));
  EXPECT_FALSE(boost::filesystem::exists(file));
  boost::filesystem::remove_all(made);
  boost::filesystem::remove_all(boost::filesystem::path(file).parent_path());
  std::ostringstream text;
  text << std::setw(3) << std::setfill('0') << 7 << format_int(8, 2) << std::flush;
  EXPECT_EQ(text.str(), "00708");
}

#ifdef USE_OPENCV
// Every overload, with Caffe's arguments.
TEST(IoHeader, HasCaffesReadersOfImages) {
  cv::Mat (*const native)(const Datum&) = &DecodeDatumToCVMatNative;
  cv::Mat (*const decoded)(const Datum&, bool) = &DecodeDatumToCVMat;
  cv::Mat (*const image)(const string&) = &ReadImageToCVMat;
  cv::Mat (*const coloured)(const string&, const bool) = &ReadImageToCVMat;
  cv::Mat (*const sized)(const string&, const int, const int) = &ReadImageToCVMat;
  cv::Mat (*const full)(const string&, const int, const int, const bool) = &ReadImageToCVMat;
  void (*const datum)(const cv::Mat&, Datum*) = &CVMatToDatum;
  EXPECT_TRUE(native && decoded && image && coloured && sized && full && datum);
}
#endif

TEST(IoHeader, HasCaffesReadersOfRecords) {
  Datum datum;
  EXPECT_FALSE(ReadFileToDatum("no file", &datum));
  EXPECT_FALSE(ReadFileToDatum("no file", 1, &datum));
#ifdef USE_OPENCV
  EXPECT_FALSE(ReadImageToDatum("no file", 1, &datum));
  EXPECT_FALSE(ReadImageToDatum("no file", 1, false, &datum));
  EXPECT_FALSE(ReadImageToDatum("no file", 1, 2, 3, &datum));
  EXPECT_FALSE(ReadImageToDatum("no file", 1, 2, 3, false, &datum));
  EXPECT_FALSE(ReadImageToDatum("no file", 1, std::string("png"), &datum));
  EXPECT_FALSE(ReadImageToDatum("no file", 1, 2, 3, false, std::string("png"), &datum));
#endif
  EXPECT_FALSE(DecodeDatumNative(&datum));
  EXPECT_FALSE(DecodeDatum(&datum, true));
  Message* const proto = &datum;
  EXPECT_FALSE(ReadProtoFromTextFile("no file", proto));
  EXPECT_FALSE(ReadProtoFromTextFile(string("no file"), proto));
  EXPECT_FALSE(ReadProtoFromBinaryFile("no file", proto));
  EXPECT_FALSE(ReadProtoFromBinaryFile(string("no file"), proto));
}

}  // namespace
}  // namespace caffe
