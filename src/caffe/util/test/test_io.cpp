#include "caffe/util/io.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "caffe/test/expect_error.hpp"
#include "caffe/util/atomic_file.hpp"
#include "caffe/util/checksum.hpp"
#include "caffe/util/format.hpp"

#ifdef USE_OPENCV
#include <opencv2/core/core.hpp>
#include <opencv2/imgcodecs.hpp>
#endif

namespace caffe {
namespace {

namespace fs = std::filesystem;

class Io : public ::testing::Test {
 protected:
  Io() { MakeTempDir(&folder_); }
  ~Io() override { fs::remove_all(folder_); }

  string Path(const string& name) const { return folder_ + "/" + name; }
  string Write(const string& name, const string& text) const {
    std::ofstream(Path(name), std::ios::binary) << text;
    return Path(name);
  }
  static string Read(const string& path) {
    std::ifstream file(path, std::ios::binary);
    return string(std::istreambuf_iterator<char>(file), {});
  }
  size_t FileCount() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }

  string folder_;
};

NetParameter SmallNet() {
  NetParameter net;
  net.set_name("small");
  LayerParameter* layer = net.add_layer();
  layer->set_name("ip");
  layer->add_blobs()->add_data(0.1f);
  return net;
}

TEST_F(Io, TextFilesKeepAMessage) {
  const NetParameter net = SmallNet();
  NetParameter read;
  WriteProtoToTextFile(net, Path("net.prototxt"));
  ASSERT_TRUE(ReadProtoFromTextFile(Path("net.prototxt"), &read));
  EXPECT_EQ(read.SerializeAsString(), net.SerializeAsString());
}

TEST_F(Io, BinaryFilesKeepAMessage) {
  const NetParameter net = SmallNet();
  NetParameter read;
  WriteProtoToBinaryFile(net, Path("net.caffemodel"));
  ASSERT_TRUE(ReadProtoFromBinaryFile(Path("net.caffemodel"), &read));
  EXPECT_EQ(read.SerializeAsString(), net.SerializeAsString());
}

TEST_F(Io, ReportsAnUnknownFieldWithFileLineAndColumn) {
  const string path = Write("bad.prototxt", "name: \"n\"\nlayer {\n  typo: 1\n}\n");
  NetParameter net;
  EXPECT_FALSE(ReadProtoFromTextFile(path, &net));
  EXPECT_ERROR(ReadProtoFromTextFileOrDie(path, &net),
               "bad.prototxt:3:7: .*no field named \"typo\"");
}

TEST_F(Io, ReportsASyntaxErrorWithFileLineAndColumn) {
  const string path = Write("open.prototxt", "layer {\n  name: \"a\"\n");
  NetParameter net;
  EXPECT_ERROR(ReadProtoFromTextFileOrDie(path, &net), "open.prototxt:3:1: ");
}

TEST_F(Io, RejectsATextWithTooDeeplyNestedMessages) {
  for (const string begin : {"layer {\n", "unknown: {", "layer { unknown < "}) {
    string text;
    for (int i = 0; i < 200000; ++i) text += begin;
    const string path = Write("deep.prototxt", text);
    NetParameter net;
    EXPECT_ERROR(ReadProtoFromTextFileOrDie(path, &net),
                 "deep.prototxt:[0-9]+:[0-9]+: messages lie in each other more deeply");
  }
}

TEST_F(Io, AMissingFileIsNamed) {
  NetParameter net;
  EXPECT_FALSE(ReadProtoFromTextFile(Path("none.prototxt"), &net));
  EXPECT_FALSE(ReadProtoFromBinaryFile(Path("none.caffemodel"), &net));
  EXPECT_ERROR(ReadProtoFromTextFileOrDie(Path("none.prototxt"), &net),
               "not found: .*none.prototxt");
  EXPECT_ERROR(ReadProtoFromBinaryFileOrDie(folder_, &net), "it is a folder");
}

TEST_F(Io, RejectsACorruptModel) {
  const string whole = SmallNet().SerializeAsString();
  NetParameter net;
  const string cut = Write("cut.caffemodel", whole.substr(0, whole.size() - 3));
  EXPECT_FALSE(ReadProtoFromBinaryFile(cut, &net));
  EXPECT_ERROR(ReadProtoFromBinaryFileOrDie(cut, &net), "cut.caffemodel: no binary NetParameter");
  const string text = Write("text.caffemodel", "name: \"small\"\n");
  EXPECT_FALSE(ReadProtoFromBinaryFile(text, &net));
}

TEST_F(Io, RejectsAFileAboveTheBinaryLimitWithoutReadingIt) {
  const string path = Write("large.caffemodel", "");
  ASSERT_EQ(truncate(path.c_str(), int64_t{3} << 30), 0);
  NetParameter net;
  EXPECT_ERROR(ReadProtoFromBinaryFileOrDie(path, &net), "large.caffemodel: has 3221225472 bytes");
}

TEST_F(Io, ReportsAMissingRequiredField) {
  LayerParameter layer;
  layer.mutable_clip_param()->set_min(0);
  const string path = Write("clip.binaryproto", layer.SerializePartialAsString());
  LayerParameter read;
  EXPECT_ERROR(ReadProtoFromBinaryFileOrDie(path, &read), "clip.binaryproto: lacks clip_param.max");
}

TEST_F(Io, ReadsAPipeUnlessItHasNoWriter) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  string text = "old";
  EXPECT_FALSE(ReadFileToString(Path("pipe"), &text));
  EXPECT_EQ(text, "old");
  NetParameter net;
  EXPECT_FALSE(ReadProtoFromBinaryFile(Path("pipe"), &net));
  EXPECT_FALSE(ReadProtoFromTextFile(Path("pipe"), &net));
  const int end = open(Path("pipe").c_str(), O_RDWR);  // opens both ends, without waiting
  std::thread writer([&] {
    const string name = "name: 'slow'";
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(write(end, name.data(), name.size()), static_cast<ssize_t>(name.size()));
    close(end);
  });
  EXPECT_TRUE(ReadProtoFromTextFile(Path("pipe"), &net));
  writer.join();
  EXPECT_EQ(net.name(), "slow");
}

TEST_F(Io, RejectsAnEndlessDevice) {
  NetParameter net;
  EXPECT_FALSE(ReadProtoFromBinaryFile("/dev/zero", &net));
  Datum datum;
  EXPECT_FALSE(ReadFileToDatum(Path("nothing"), 0, &datum));
}

TEST_F(Io, ReplacesTheFileAndLeavesNoTemporaryOne) {
  const string path = Write("net.prototxt", "old");
  WriteProtoToTextFile(SmallNet(), path);
  NetParameter read;
  EXPECT_TRUE(ReadProtoFromTextFile(path, &read));
  EXPECT_EQ(FileCount(), 1u);
}

TEST_F(Io, WritesThroughALinkAndToAPipe) {
  const string target = Write("target", "old");
  ASSERT_EQ(symlink(target.c_str(), Path("link").c_str()), 0);
  WriteProtoToTextFile(SmallNet(), Path("link"));
  EXPECT_TRUE(fs::is_symlink(Path("link")));
  EXPECT_NE(Read(target), "old");
  WriteProtoToTextFile(SmallNet(), "/dev/null");
  EXPECT_FALSE(fs::is_regular_file("/dev/null"));
}

TEST_F(Io, RejectsALinkMadeByAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "Only root can make the link of another user.";
  const string target = Write("target", "old");
  for (const string& to : {target, Path("none")}) {
    const string link = Path("link");
    ASSERT_EQ(symlink(to.c_str(), link.c_str()), 0);
    ASSERT_EQ(lchown(link.c_str(), 12345, 12345), 0);
    EXPECT_ERROR(WriteProtoToTextFile(SmallNet(), link),
                 "link: it is a symbolic link that another");
    unlink(link.c_str());
  }
  EXPECT_EQ(Read(target), "old");
  EXPECT_EQ(FileCount(), 1u);
}

TEST_F(Io, RejectsAFolderLinkedByAnotherUserInASharedFolder) {
  if (geteuid() != 0) GTEST_SKIP() << "Only root can make the link of another user.";
  const fs::path target = Path("target"), link = Path("shared/link");
  fs::create_directories(target / "in");
  fs::create_directory(Path("shared"));
  ASSERT_EQ(symlink(target.c_str(), link.c_str()), 0);
  ASSERT_EQ(lchown(link.c_str(), 12345, 12345), 0);
  WriteProtoToTextFile(SmallNet(), link / "net");
  EXPECT_TRUE(fs::exists(target / "net"));
  ASSERT_EQ(chmod(Path("shared").c_str(), 01777), 0);
  for (const char* file : {"other", "in/other"}) {
    EXPECT_ERROR(WriteProtoToTextFile(SmallNet(), link / file),
                 "other: the folder .*shared/link is a symbolic link that another user has made");
    EXPECT_FALSE(fs::exists(target / file));
  }
  ASSERT_EQ(lchown(link.c_str(), geteuid(), getegid()), 0);
  WriteProtoToTextFile(SmallNet(), link / "other");
  EXPECT_TRUE(fs::exists(target / "other"));
}

TEST_F(Io, ReportsAWriteToAMissingFolder) {
  EXPECT_ERROR(WriteProtoToTextFile(SmallNet(), Path("none/net.prototxt")),
               "Cannot write .*none/net.prototxt: No such file");
  EXPECT_ERROR(WriteProtoToBinaryFile(SmallNet(), folder_), "it is a folder");
}

TEST_F(Io, UncommittedAtomicFileKeepsTheOldOne) {
  const string path = Write("state", "old");
  {
    AtomicFile file(path);
    std::ofstream(file.temp_path()) << "half of the n";
  }
  EXPECT_EQ(Read(path), "old");
  EXPECT_EQ(FileCount(), 1u);
}

TEST_F(Io, FailedAtomicFileKeepsTheOldOne) {
  const string path = Write("state", "old");
  EXPECT_ERROR(
      {
        AtomicFile file(path);
        std::ofstream(file.temp_path()) << "half of the n";
        file.Fail("No space left on device");
      },
      "Cannot write .*state: No space left on device");
  EXPECT_EQ(Read(path), "old");
  EXPECT_EQ(FileCount(), 1u);
}

TEST_F(Io, AllowsConcurrentWritersOfOneFile) {
  const string path = Path("state");
  AtomicFile first(path), second(path);
  first.Write("first");
  second.Write("second");
  first.Commit();
  EXPECT_EQ(Read(path), "first");
  second.Commit();
  EXPECT_EQ(Read(path), "second");
  EXPECT_EQ(FileCount(), 1u);
}

TEST_F(Io, RemovesTemporaryFilesOfDeadProcesses) {
  int lives[2], made[2];
  ASSERT_EQ(pipe(lives), 0);
  ASSERT_EQ(pipe(made), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(lives[1]);
    const AtomicFile state(Path("state")), other(Path("other"));
    char byte = 0;
    if (write(made[1], &byte, 1) == 1 && read(lives[0], &byte, 1) == 0) _exit(0);
    _exit(1);
  }
  char byte;
  ASSERT_EQ(read(made[0], &byte, 1), 1);
  string name;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const string found = entry.path().filename().string();
    if (found.starts_with("state.tmp.")) name = found;
  }
  ASSERT_NE(name, "");
  name.insert(strlen("state.tmp."), "another-");
  Write(name, "of another host");
  Write("state.tmp.x", "a name that is not ours");
  WriteProtoToTextFile(SmallNet(), Path("state"));
  EXPECT_EQ(FileCount(), 5u);
  close(lives[1]);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  WriteProtoToTextFile(SmallNet(), Path("state"));
  EXPECT_EQ(FileCount(), 4u);
  RemoveStrayFiles(folder_, [](const string& target) { return target == "other"; });
  EXPECT_EQ(FileCount(), 3u);
  for (const int fd : {lives[0], made[0], made[1]}) close(fd);
}

TEST_F(Io, LeavesNoFileAfterACaughtFailure) {
  const ThrowOnError scope;
  EXPECT_THROW(WriteProtoToTextFile(SmallNet(), Path("none/net.prototxt")), Error);
  const string path = Write("state", "old");
  {
    AtomicFile file(path);
    unlink(file.temp_path().c_str());
    Write(fs::path(file.temp_path()).filename().string(), "of somebody else");
    EXPECT_THROW(file.Commit(), Error);
  }
  EXPECT_EQ(Read(path), "old");
  EXPECT_EQ(FileCount(), 1u);
}

TEST_F(Io, ReportsAPipeWithoutAReader) {
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  const ThrowOnError scope;
  EXPECT_THROW(WriteProtoToTextFile(SmallNet(), Path("pipe")), Error);
  const int reader = open(Path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
  WriteProtoToTextFile(SmallNet(), Path("pipe"));
  char first = 0;
  EXPECT_EQ(read(reader, &first, 1), 1);
  EXPECT_EQ(first, 'n');
  close(reader);
}

TEST_F(Io, WhyNotWritableLeavesNoFile) {
  EXPECT_EQ(WhyNotWritable(Path("state")), "");
  EXPECT_EQ(WhyNotWritable(Path("none/state")), "No such file or directory");
  EXPECT_EQ(FileCount(), 0u);
}

TEST_F(Io, ChecksumsEqualThoseOfZip) {
  const layrub::Result<FileChecksum> checksum = ChecksumOf(Write("file", "123456789"));
  ASSERT_TRUE(checksum.ok());
  EXPECT_EQ(checksum.value().bytes, 9u);
  EXPECT_EQ(checksum.value().crc32, 0xcbf43926u);
  EXPECT_EQ(Crc32(Crc32(0, "1234", 4), "56789", 5), 0xcbf43926u);
  EXPECT_THAT(ChecksumOf(Path("none")).status().message, testing::HasSubstr("File not found"));
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(ChecksumOf(Path("pipe")).status().message, testing::HasSubstr("no regular file"));
}

TEST_F(Io, ReportsAFullDisk) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full here";
  EXPECT_ERROR(WriteProtoToBinaryFile(SmallNet(), "/dev/full"),
               "Cannot write /dev/full: No space left");
}

TEST_F(Io, TempNamesAreNew) {
  string first, second;
  MakeTempFilename(&first);
  MakeTempFilename(&second);
  EXPECT_NE(first, second);
  EXPECT_FALSE(fs::exists(first));
  fs::remove_all(fs::path(first).parent_path());
  fs::remove_all(fs::path(second).parent_path());
}

TEST_F(Io, ReadsAFileAsAnEncodedDatum) {
  const string bytes("\0\1binary\xff", 9);
  Datum datum;
  ASSERT_TRUE(ReadFileToDatum(Write("file", bytes), 7, &datum));
  EXPECT_EQ(datum.data(), bytes);
  EXPECT_EQ(datum.label(), 7);
  EXPECT_TRUE(datum.encoded());
  EXPECT_FALSE(ReadFileToDatum(Path("none"), &datum));
}

TEST(Format, FillsWithZeros) {
  EXPECT_EQ(format_int(42), "42");
  EXPECT_EQ(format_int(42, 5), "00042");
  EXPECT_EQ(format_int(123456, 3), "123456");
}

#ifdef USE_OPENCV

class ImageIo : public Io {
 protected:
  // 3 rows, 4 columns; blue, green, red = 10 r + c, 100 + 10 r + c, 200 + 10 r + c.
  ImageIo() : image_(3, 4, CV_8UC3) {
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 4; ++c)
        image_.at<cv::Vec3b>(r, c) = cv::Vec3b(10 * r + c, 100 + 10 * r + c, 200 + 10 * r + c);
    }
    cv::imwrite(Path("image.png"), image_);
  }
  cv::Mat image_;
};

TEST_F(ImageIo, PixelsAreStoredChannelByChannel) {
  Datum datum;
  CVMatToDatum(image_, &datum);
  EXPECT_EQ(datum.channels(), 3);
  EXPECT_EQ(datum.height(), 3);
  EXPECT_EQ(datum.width(), 4);
  ASSERT_EQ(datum.data().size(), 36u);
  for (int c = 0; c < 3; ++c) {
    for (int i = 0; i < 12; ++i) {
      EXPECT_EQ(static_cast<uint8_t>(datum.data()[c * 12 + i]), c * 100 + 10 * (i / 4) + i % 4);
    }
  }
}

TEST_F(ImageIo, ReadsAnImageFileAsADatum) {
  Datum expected, datum;
  CVMatToDatum(image_, &expected);
  ASSERT_TRUE(ReadImageToDatum(Path("image.png"), 5, &datum));
  EXPECT_EQ(datum.label(), 5);
  EXPECT_EQ(datum.data(), expected.data());
  ASSERT_TRUE(ReadImageToDatum(Path("image.png"), 5, 6, 2, &datum));
  EXPECT_EQ(datum.height(), 6);
  EXPECT_EQ(datum.width(), 2);
  ASSERT_TRUE(ReadImageToDatum(Path("image.png"), 5, false, &datum));
  EXPECT_EQ(datum.channels(), 1);
  EXPECT_FALSE(ReadImageToDatum(Path("none.png"), 5, &datum));
}

TEST_F(ImageIo, EncodedDatumKeepsTheFilesBytesIfPossible) {
  Datum same, other;
  ASSERT_TRUE(ReadImageToDatum(Path("image.png"), 5, string("png"), &same));
  EXPECT_EQ(same.data(), Read(Path("image.png")));
  ASSERT_TRUE(ReadImageToDatum(Path("image.png"), 5, string("bmp"), &other));
  EXPECT_NE(other.data(), same.data());
  EXPECT_TRUE(other.encoded());
  EXPECT_TRUE(DecodeDatumNative(&same));
  EXPECT_TRUE(DecodeDatumNative(&other));
  EXPECT_EQ(other.data(), same.data());
}

TEST_F(ImageIo, DecodingChangesEncodedDataOnly) {
  Datum datum;
  ASSERT_TRUE(ReadImageToDatum(Path("image.png"), 5, string("png"), &datum));
  ASSERT_TRUE(DecodeDatum(&datum, false));
  EXPECT_EQ(datum.channels(), 1);
  EXPECT_FALSE(datum.encoded());
  const string before = datum.SerializeAsString();
  EXPECT_FALSE(DecodeDatum(&datum, true));
  EXPECT_FALSE(DecodeDatumNative(&datum));
  EXPECT_EQ(datum.SerializeAsString(), before);
}

TEST_F(ImageIo, GarbageIsNotDecoded) {
  Datum datum;
  datum.set_encoded(true);
  datum.set_data("no image");
  EXPECT_FALSE(DecodeDatumNative(&datum));
  EXPECT_EQ(datum.data(), "no image");
}

#endif  // USE_OPENCV

}  // namespace
}  // namespace caffe
