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

/// How often Caffe tries to make a temporary folder. Unused here: the system finds a free name
/// itself.
#ifndef CAFFE_TMP_DIR_RETRIES
#define CAFFE_TMP_DIR_RETRIES 100
#endif

namespace caffe {

using ::boost::filesystem::path;
using ::google::protobuf::Message;

// Temporary files and folders, below $TMPDIR or /tmp. They are never removed.

/// Makes a new empty folder.
void MakeTempDir(string* temp_dirname);
/// Returns a file name in a new empty folder, so that no such file exists.
void MakeTempFilename(string* temp_filename);

// Protocol messages in files. A failed read gives the reason in one line, with file, line and
// column for text: the plain functions log it as an error and return false, the OrDie functions
// abort. At most 2 GiB are read of any input, except weights (ReadFieldsFromBinaryFileOrDie).
// Writes are atomic (AtomicFile) and abort if they fail.

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

/// Calls `read_field` with the tag of each field in a file that holds a binary message of type
/// `type`. `read_field` reads the value and returns false if it cannot. The file may be larger than
/// 2 GiB if no field is.
void ReadFieldsFromBinaryFileOrDie(
    const string& filename, const string& type,
    const std::function<bool(uint32_t tag, google::protobuf::io::CodedInputStream*)>& read_field);

/// Aborts, before anything is written, if the message is above protobuf's limit of 2 GiB.
void WriteProtoToBinaryFile(const Message& proto, const char* filename);
inline void WriteProtoToBinaryFile(const Message& proto, const string& filename) {
  WriteProtoToBinaryFile(proto, filename.c_str());
}

class AtomicFile;

/// Writes one message in pieces, so that only one piece at a time is in memory. `pieces` calls its
/// argument with each piece, in the order of field numbers; the file's bytes are those of the
/// merged message. The caller commits `file`.
void WriteProtoToBinaryFile(
    const std::function<void(const std::function<void(const Message&)>& write)>& pieces,
    AtomicFile* file);

// Images and database records. If they cannot read, these functions log an error and return false
// or an empty image.

/// Reads a whole file of at most 2 GiB, or a pipe to its end. Fails if no process has opened the
/// pipe for writing.
bool ReadFileToString(const string& filename, string* contents);

/// Copies the bytes of a file, still encoded, into `datum`.
bool ReadFileToDatum(const string& filename, const int label, Datum* datum);
inline bool ReadFileToDatum(const string& filename, Datum* datum) {
  return ReadFileToDatum(filename, -1, datum);
}

/// Reads an image, in colour or gray, and resizes it unless height or width is 0. With an encoding
/// ("jpg", "png") the datum holds an encoded file: the original bytes if nothing had to change.
/// Without, it holds raw bytes channel by channel.
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

/// Replaces an encoded image by raw bytes. Returns false, and changes nothing, if the datum is not
/// encoded.
bool DecodeDatumNative(Datum* datum);
bool DecodeDatum(Datum* datum, bool is_color);

#ifdef USE_OPENCV
cv::Mat ReadImageToCVMat(const string& filename, const int height, const int width,
                         const bool is_color);
cv::Mat ReadImageToCVMat(const string& filename, const int height, const int width);
cv::Mat ReadImageToCVMat(const string& filename, const bool is_color);
cv::Mat ReadImageToCVMat(const string& filename);

/// Decode with the channels of the file (Native), or in colour or gray.
cv::Mat DecodeDatumToCVMatNative(const Datum& datum);
cv::Mat DecodeDatumToCVMat(const Datum& datum, bool is_color);

/// Stores 8-bit pixels, channel by channel.
void CVMatToDatum(const cv::Mat& cv_img, Datum* datum);
#endif  // USE_OPENCV

}  // namespace caffe

#endif  // CAFFE_UTIL_IO_H_
