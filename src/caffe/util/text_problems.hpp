#ifndef CAFFE_UTIL_TEXT_PROBLEMS_HPP_
#define CAFFE_UTIL_TEXT_PROBLEMS_HPP_

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/message.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace caffe {

/// Collects all problems of a text that protobuf parses: unknown fields and enumeration values, up
/// to the first syntax error. The parser must allow unknown fields; it then reports them as
/// warnings and skips them. For fields of Caffe's forks that have no effect here, a warning is
/// logged instead.
class TextProblems : public google::protobuf::io::ErrorCollector {
 public:
  /// `file` is the name of the file that is parsed as `message`.
  TextProblems(const std::string& file, const google::protobuf::Message& message)
      : file_(file), message_(message.GetDescriptor()) {}

  void AddError(int line, int column, const std::string& text) override;
  void AddWarning(int line, int column, const std::string& text) override;

  /// Returns whether the parse stopped at an unknown enumeration value. If so, overwrites the field
  /// in `text` with blanks, so that parsing again gets past it.
  bool BlankOutUnknownValue(std::string* text);

  /// An unknown field or value in the text. Lines and columns start at 0.
  struct Unknown {
    int line, column;
    std::string message;  ///< the message with the field: "ConvolutionParameter"; "" for a value
    std::string field;
    std::string value;  ///< the enumeration value; "" for a field
  };
  /// Turns the unknown parts for which `excused` returns true into a single warning, which ends
  /// with `why`.
  void Excuse(const std::function<bool(const Unknown&)>& excused, const std::string& why);

  /// Appends hint(unknown) to the problem of each unknown field.
  void Explain(const std::function<std::string(const Unknown&)>& hint);

  /// Logs a warning for each fork's field without effect, with its first place and its number of
  /// occurrences.
  void WarnAboutForkFields() const;
  /// Returns a line for each problem, as "file:line:column: what"; empty if there are none
  /// (caffe/util/problem_list.hpp).
  std::string text() const;

 private:
  struct Hint {
    std::string place, text;
    int times = 0;
  };
  struct Problem {
    Unknown unknown;  ///< `field` is empty for other problems
    std::string text;
  };

  void Add(int line, int column, const std::string& text);
  void AddUnknown(int line, int column, const std::string& type, const std::string& field);
  std::string Place(int line, int column) const;
  std::string DescribeWrongMessage() const;

  const std::string file_;
  const google::protobuf::Descriptor* const message_;
  bool broken_ = false;                ///< the text has a character that is not allowed
  std::vector<Problem> problems_;      ///< found by the last parse
  std::vector<Problem> values_;        ///< unknown values that were removed from the text
  std::map<std::string, Hint> hints_;  ///< by message and field
  std::set<std::string> unknown_;      ///< unknown fields of message_ itself
};

}  // namespace caffe

#endif  // CAFFE_UTIL_TEXT_PROBLEMS_HPP_
