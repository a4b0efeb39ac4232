#include "caffe/util/io.hpp"

#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "caffe/util/atomic_file.hpp"
#include "caffe/util/origins.hpp"
#include "caffe/util/text_file.hpp"
#include "layrub/base/input.hpp"

namespace caffe {

using google::protobuf::TextFormat;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::FileInputStream;
using google::protobuf::io::FileOutputStream;
using google::protobuf::io::LimitingInputStream;

namespace {

// A file opened for reading. The destructor closes it.
class InputFile {
 public:
  explicit InputFile(const string& path) {
    const layrub::Result<int> opened = layrub::OpenToRead(path);
    error_ = opened.status().message;
    if (opened.ok()) fd_ = opened.value();
    struct stat status;
    if (fd_ >= 0 && fstat(fd_, &status) == 0) size_ = status.st_size;
  }
  ~InputFile() {
    if (fd_ >= 0) close(fd_);
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  int fd() const { return fd_; }
  int64_t size() const { return size_; }
  const string& error() const { return error_; }

 private:
  int fd_ = -1;
  int64_t size_ = 0;
  string error_;
};

/// Limits for any input, including devices and pipes without an end.
constexpr int64_t kMostBytes = INT_MAX, kMostTextBytes = 1 << 30;

/// Maximum nesting depth of messages in a text, the same as in a binary file. The parser is
/// recursive.
constexpr int kDeepest = 100;

string TooLarge(const string& filename, int64_t most) {
  return filename + ": has more than " + std::to_string(most) + " bytes";
}

/// Describes a file that starts like this if it is not a text that protobuf can parse; else returns
/// "".
string DescribeNonText(const string& begin) {
  const auto begins = [&](const char* bytes) { return begin.rfind(bytes, 0) == 0; };
  if (begins("\xFF\xFE") || begins("\xFE\xFF"))
    return "is text in UTF-16; save it as UTF-8 or ASCII";
  if (begins("\x89HDF")) return "is an HDF5 file; a prototxt, which is text, is needed here";
  char quote = 0;  // the quote of the enclosing string, in which any character but '\0' is allowed
  const bool text = std::none_of(begin.begin(), begin.end(), [&](char c) {
    const bool control = c >= 0 && c < ' ' && (c == '\0' || strchr("\t\n\v\f\r", c) == nullptr);
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    }
    return control && (quote == 0 || c == '\0');
  });
  if (text) return "";
  return "is a binary file, as .caffemodel and .solverstate are; a prototxt, which is text, is "
         "needed here";
}

// The readers return an error message, empty on success.

/// Reads the whole file, without UTF-8's byte order mark.
string ReadText(const string& filename, string* text) {
  const InputFile file(filename);
  if (!file.error().empty()) return file.error();
  FileInputStream stream(file.fd());
  const void* data;
  for (int size; stream.Next(&data, &size);) {
    const string piece(static_cast<const char*>(data), size);
    if (const string what = DescribeNonText(piece); !what.empty()) return filename + ": " + what;
    *text += piece;
    if (static_cast<int64_t>(text->size()) > kMostTextBytes)
      return TooLarge(filename, kMostTextBytes);
  }
  if (stream.GetErrno() != 0) return "Cannot read " + filename + ": " + strerror(stream.GetErrno());
  if (text->rfind("\xEF\xBB\xBF", 0) == 0) text->erase(0, 3);
  return "";
}

string ParseText(const string& filename, Message* proto, TextPlaces* places,
                 const ReviewProblems& review) {
  string text;
  if (const string error = ReadText(filename, &text); !error.empty()) return error;
  TextProblems problems(filename, *proto);
  bool parsed;
  do {
    google::protobuf::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
    places->reset(new TextFormat::ParseInfoTree);
    TextFormat::Parser parser;
    parser.AllowUnknownField(true);  // so that all of them are reported, not only the first
    parser.SetRecursionLimit(kDeepest);
    parser.RecordErrorsTo(&problems);
    parser.WriteLocationsTo(places->get());
    parsed = parser.Parse(&stream, proto);
  } while (!parsed && problems.BlankOutUnknownValue(&text));
  if (review) review(*places, &problems);
  const string told = problems.text();
  if (!told.empty()) return told;
  if (!parsed) return filename + ": cannot be parsed";
  problems.WarnAboutForkFields();
  return "";
}

string NotParsed(const string& filename, const string& type, int64_t position) {
  return filename + ": no binary " + type + " (corrupt, cut off, or of another format) from byte " +
         std::to_string(position) + " on";
}

string ParseBinary(const string& filename, Message* proto) {
  const InputFile file(filename);
  if (!file.error().empty()) return file.error();
  if (file.size() > INT_MAX) {
    return filename + ": has " + std::to_string(file.size()) +
           " bytes; a binary protocol file ends at 2147483647. Larger models are kept in HDF5.";
  }
  FileInputStream stream(file.fd());
  CodedInputStream coded(&stream);
  coded.SetTotalBytesLimit(INT_MAX);
  const bool parsed = proto->ParsePartialFromCodedStream(&coded) && coded.ConsumedEntireMessage();
  if (stream.GetErrno() != 0) return "Cannot read " + filename + ": " + strerror(stream.GetErrno());
  if (!parsed) return NotParsed(filename, proto->GetDescriptor()->name(), coded.CurrentPosition());
  if (!proto->IsInitialized()) return filename + ": lacks " + proto->InitializationErrorString();
  return "";
}

using ReadField = std::function<bool(uint32_t tag, CodedInputStream*)>;

string ParseFields(const string& filename, const string& type, const ReadField& read_field) {
  const InputFile file(filename);
  if (!file.error().empty()) return file.error();
  const int64_t most = std::max(file.size(), kMostBytes);
  FileInputStream stream(file.fd());
  LimitingInputStream limited(&stream, most + 1);
  bool parsed = true;
  for (bool ended = false; parsed && !ended;) {
    CodedInputStream coded(&limited);  // one stream per field, since it counts in 32 bits
    coded.SetTotalBytesLimit(INT_MAX);
    const uint32_t tag = coded.ReadTag();
    ended = tag == 0;
    parsed = ended ? coded.ConsumedEntireMessage() : read_field(tag, &coded);
  }
  if (stream.GetErrno() != 0) return "Cannot read " + filename + ": " + strerror(stream.GetErrno());
  if (limited.ByteCount() > most) return TooLarge(filename, most);
  // Skipping a field may go beyond the end of a truncated file.
  if (file.size() > 0 && limited.ByteCount() > file.size())
    return NotParsed(filename, type, file.size());
  return parsed ? "" : NotParsed(filename, type, limited.ByteCount());
}

bool Succeeded(const string& error) {
  if (!error.empty()) LOG(ERROR) << error;
  return error.empty();
}

void SucceededOrDie(const string& error) {
  if (!error.empty()) LOG(FATAL) << error;
}

// Lets `write` fill the file. `write` returns an error message, empty on success.
template <typename Write>
void Fill(AtomicFile* file, const Write& write) {
  FileOutputStream stream(file->fd());
  const string error = write(&stream);
  if (!stream.Flush() || !error.empty())
    file->Fail(stream.GetErrno() != 0 ? strerror(stream.GetErrno()) : error);
}

}  // namespace

void MakeTempDir(string* temp_dirname) {
  const char* parent = getenv("TMPDIR");
  string name =
      string(parent != nullptr && *parent != '\0' ? parent : "/tmp") + "/caffe_test.XXXXXX";
  if (mkdtemp(name.data()) == nullptr)
    LOG(FATAL) << "Cannot make the folder " << name << ": " << strerror(errno);
  *temp_dirname = name;
}

void MakeTempFilename(string* temp_filename) {
  MakeTempDir(temp_filename);
  *temp_filename += "/file";
}

bool ReadProtoFromTextFile(const char* filename, Message* proto) {
  TextPlaces places;
  return Succeeded(ParseText(filename, proto, &places, {}));
}

void ReadProtoFromTextFileOrDie(const char* filename, Message* proto) {
  TextPlaces places;
  ReadTextFileOrDie(filename, proto, &places);
}

void ReadTextFileOrDie(const string& filename, Message* proto, TextPlaces* places,
                       const ReviewProblems& review) {
  SucceededOrDie(ParseText(filename, proto, places, review));
}

namespace {

void PrintToFile(const Message& proto, const char* filename) {
  AtomicFile file(filename);
  Fill(&file, [&proto](FileOutputStream* stream) -> string {
    return TextFormat::Print(proto, stream) ? "" : "the message cannot be written";
  });
  file.Commit();
}

}  // namespace

void WriteProtoToTextFile(const Message& proto, const char* filename) {
  // Removes the origins, which other programs do not know.
  if (const auto* net = dynamic_cast<const NetParameter*>(&proto)) {
    PrintToFile(WithoutOrigins(*net), filename);
  } else if (const auto* solver = dynamic_cast<const SolverParameter*>(&proto)) {
    PrintToFile(WithoutOrigins(*solver), filename);
  } else {
    PrintToFile(proto, filename);
  }
}

bool ReadProtoFromBinaryFile(const char* filename, Message* proto) {
  return Succeeded(ParseBinary(filename, proto));
}

void ReadProtoFromBinaryFileOrDie(const char* filename, Message* proto) {
  SucceededOrDie(ParseBinary(filename, proto));
}

void ReadFieldsFromBinaryFileOrDie(const string& filename, const string& type,
                                   const ReadField& read_field) {
  SucceededOrDie(ParseFields(filename, type, read_field));
}

void WriteProtoToBinaryFile(const Message& proto, const char* filename) {
  AtomicFile file(filename);
  WriteProtoToBinaryFile([&proto](const auto& write) { write(proto); }, &file);
  file.Commit();
}

void WriteProtoToBinaryFile(
    const std::function<void(const std::function<void(const Message&)>& write)>& pieces,
    AtomicFile* file) {
  Fill(file, [&pieces](FileOutputStream* stream) {
    string error;
    size_t size = 0;
    pieces([&](const Message& piece) {
      if (!error.empty()) return;
      size += piece.ByteSizeLong();
      if (size > static_cast<size_t>(INT_MAX)) {
        error =
            "the message is larger than a binary protocol file can be. snapshot_format: HDF5 has "
            "no such limit.";
      } else if (!piece.SerializeToZeroCopyStream(stream)) {
        error = "the message cannot be written";
      }
    });
    return error;
  });
}

bool ReadFileToString(const string& filename, string* contents) {
  const InputFile file(filename);
  if (!file.error().empty()) return Succeeded(file.error());
  contents->clear();
  FileInputStream stream(file.fd());
  const void* piece;
  for (int size; stream.Next(&piece, &size);) {
    if (size > kMostBytes - static_cast<int64_t>(contents->size()))
      return Succeeded(TooLarge(filename, kMostBytes));
    contents->append(static_cast<const char*>(piece), static_cast<size_t>(size));
  }
  if (stream.GetErrno() == 0) return true;
  return Succeeded("Cannot read " + filename + ": " + strerror(stream.GetErrno()));
}

bool ReadFileToDatum(const string& filename, const int label, Datum* datum) {
  if (!ReadFileToString(filename, datum->mutable_data())) return false;
  datum->set_label(label);
  datum->set_encoded(true);
  return true;
}

}  // namespace caffe
