#ifndef CAFFE_UTIL_IO_H_
#define CAFFE_UTIL_IO_H_

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message.h>

#include <boost/filesystem.hpp>
#include <functional>
#include <iomanip>
#include <iostream>
#include <string>

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/util/format.hpp"

/// How often Caffe tries to make a temporary folder. Here the system finds a free name by itself.
#ifndef CAFFE_TMP_DIR_RETRIES
#define CAFFE_TMP_DIR_RETRIES 100
#endif

namespace caffe {

using ::boost::filesystem::path;
using ::google::protobuf::Message;

// Temporary places, below $TMPDIR or /tmp. Nothing removes them again.

/// A new empty folder.
void MakeTempDir(string* temp_dirname);
/// A name in a new empty folder, so that no file has it.
void MakeTempFilename(string* temp_filename);

// Protocol messages in files. A read that fails says why in one line, with file, line and column
// for text: the plain forms log it as an error and return false, the OrDie forms abort. No more
// than 2 GiB are read of any input, but for weights (ReadFieldsFromBinaryFileOrDie). Writes are
// atomic (AtomicFile) and abort when they fail.

bool ReadProtoFromTextFile(const char* filename, Message* proto);
inline bool ReadProtoFromTextFile(const string& filename, Message* proto) {
  return ReadProtoFromTextFile(filename.c_str(), proto);
}

void ReadProtoFromTextFileOrDie(const char* filename, Message* proto);
inline void ReadProtoFromTextFileOrDie(const string& filename, Message* proto) {
  ReadProtoFromTextFileOrDie(filename.c_str(), proto);
}

void WriteProtoToTextFile(const Message& proto, const char* filename);
inline void WriteProtoToTextFile(const Message& proto, const string& filename) {
  WriteProtoToTextFile(proto, filename.c_str());
}

bool ReadProtoFromBinaryFile(const char* filename, Message* proto);
inline bool ReadProtoFromBinaryFile(const string& filename, Message* proto) {
  return ReadProtoFromBinaryFile(filename.c_str(), proto);
}

void ReadProtoFromBinaryFileOrDie(const char* filename, Message* proto);
inline void ReadProtoFromBinaryFileOrDie(const string& filename, Message* proto) {
  ReadProtoFromBinaryFileOrDie(filename.c_str(), proto);
}

/// Hands the tag of each field of the binary message `type` in the file to `read_field`, which
/// reads its value and returns false where it cannot. The file may be larger than 2 GiB where no
/// field is.
void ReadFieldsFromBinaryFileOrDie(
    const string& filename, const string& type,
    const std::function<bool(uint32_t tag, google::protobuf::io::CodedInputStream*)>& read_field);

/// Messages above protobuf's limit of 2 GiB abort, before anything is written.
void WriteProtoToBinaryFile(const Message& proto, const char* filename);
inline void WriteProtoToBinaryFile(const Message& proto, const string& filename) {
  WriteProtoToBinaryFile(proto, filename.c_str());
}

class AtomicFile;

/// Writes the message that all that `pieces` hands to its argument merge into, in the order of
/// field numbers: the file's bytes are those of that message, and one piece at a time is in memory.
/// To commit `file` is left to the caller.
void WriteProtoToBinaryFile(
    const std::function<void(const std::function<void(const Message&)>& write)>& pieces,
    AtomicFile* file);

// Images and databases' records. These log an error and return false, or an empty image, when they
// cannot read.

/// Reads all of a file, 2 GiB at most. A pipe is read to its end; one that nobody writes to cannot
/// be read.
bool ReadFileToString(const string& filename, string* contents);

/// Puts the bytes of a file, still encoded, into `datum`.
bool ReadFileToDatum(const string& filename, const int label, Datum* datum);
inline bool ReadFileToDatum(const string& filename, Datum* datum) {
  return ReadFileToDatum(filename, -1, datum);
}

/// Reads an image, in colour or gray, resized unless height or width is 0. With an encoding ("jpg",
/// "png") the datum holds an encoded file, the original bytes where nothing had to change; without,
/// raw bytes channel by channel.
bool ReadImageToDatum(const string& filename, const int label, const int height, const int width,
                      const bool is_color, const std::string& encoding, Datum* datum);

inline bool ReadImageToDatum(const string& filename, const int label, const int height,
                             const int width, const bool is_color, Datum* datum) {
  return ReadImageToDatum(filename, label, height, width, is_color, "", datum);
}
inline bool ReadImageToDatum(const string& filename, const int label, const int height,
                             const int width, Datum* datum) {
  return ReadImageToDatum(filename, label, height, width, true, datum);
}
inline bool ReadImageToDatum(const string& filename, const int label, const bool is_color,
                             Datum* datum) {
  return ReadImageToDatum(filename, label, 0, 0, is_color, datum);
}
inline bool ReadImageToDatum(const string& filename, const int label, Datum* datum) {
  return ReadImageToDatum(filename, label, 0, 0, true, datum);
}
inline bool ReadImageToDatum(const string& filename, const int label, const std::string& encoding,
                             Datum* datum) {
  return ReadImageToDatum(filename, label, 0, 0, true, encoding, datum);
}

/// Replaces an encoded image by raw bytes; false, and no change, where the datum is not encoded.
bool DecodeDatumNative(Datum* datum);
bool DecodeDatum(Datum* datum, bool is_color);

#ifdef USE_OPENCV
cv::Mat ReadImageToCVMat(const string& filename, const int height, const int width,
                         const bool is_color);
cv::Mat ReadImageToCVMat(const string& filename, const int height, const int width);
cv::Mat ReadImageToCVMat(const string& filename, const bool is_color);
cv::Mat ReadImageToCVMat(const string& filename);

/// Decodes with the channels the file has, or in colour or gray.
cv::Mat DecodeDatumToCVMatNative(const Datum& datum);
cv::Mat DecodeDatumToCVMat(const Datum& datum, bool is_color);

/// Stores 8-bit pixels, channel by channel.
void CVMatToDatum(const cv::Mat& cv_img, Datum* datum);
#endif  // USE_OPENCV

}  // namespace caffe

#endif  // CAFFE_UTIL_IO_H_
