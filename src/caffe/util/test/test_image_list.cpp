#include "caffe/util/image_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "caffe/test/expect_error.hpp"
#include "caffe/util/io.hpp"

namespace caffe {
namespace {

class ImageList : public testing::Test {
 protected:
  ImageList() { MakeTempDir(&folder_); }
  ~ImageList() override { std::filesystem::remove_all(folder_); }

  vector<ListedImage> Read(const string& text) const {
    std::ofstream(folder_ + "/list", std::ios::binary) << text;
    return ReadImageList(folder_ + "/list", "Layer x: ");
  }

  string folder_;
};

TEST_F(ImageList, ReturnsPathLabelAndLine) {
  const vector<ListedImage> images = Read("a.png 3\n\nfolder/my cat.png -12\nb.png\t7  \r\nc.png");
  ASSERT_EQ(images.size(), 4u);
  const vector<string> paths = {"a.png", "folder/my cat.png", "b.png", "c.png"};
  const vector<int> labels = {3, -12, 7, 0}, lines = {1, 3, 4, 5};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(images[i].path, paths[i]);
    EXPECT_EQ(images[i].label, labels[i]);
    EXPECT_EQ(images[i].line, lines[i]);
  }
}

TEST_F(ImageList, WarnsOfLinesWithoutALabel) {
  testing::internal::CaptureStderr();
  Read("a.png\nb.png 1\nc.png\n");
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::ContainsRegex("Layer x: 2 of 3 lines of .*/list have no label: those"));
  testing::internal::CaptureStderr();
  Read("a.png 0\n");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(ImageList, ReportsFileAndLine) {
  EXPECT_ERROR(Read("a.png 3\nb.png cat\n"), "Layer x: .*/list:2: 'cat' is no label");
  EXPECT_ERROR(Read("a.png 3.5\n"), "list:1: '3.5' is no label");
  EXPECT_ERROR(Read("a.png 99999999999\n"), "list:1: '99999999999' is no label");
  EXPECT_ERROR(Read("a.png 1\n\x89PNG\x1a 2\n"),
               "Layer x: .*/list:2: this is no text; an image list");
  EXPECT_ERROR(Read("\n \n"), "Layer x: the image list .*/list names no image");
  EXPECT_ERROR(ReadImageList(folder_ + "/none", "Layer x: "),
               "Layer x: cannot open the image list .*/none");
}

}  // namespace
}  // namespace caffe
