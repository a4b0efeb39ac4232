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

/// What is wrong with a text that protobuf parses, all of it: fields and values of enumerations
/// that are not known, up to the first place where the text is none. The parser must allow unknown
/// fields: it then tells of them as warnings, and skips them. Fields that a fork of Caffe has, and
/// that have no effect here, are warned of instead.
class TextProblems : public google::protobuf::io::ErrorCollector {
 public:
  /// `file` is what is parsed as `message`.
  TextProblems(const std::string& file, const google::protobuf::Message& message)
      : file_(file), message_(message.GetDescriptor()) {}

  void AddError(int line, int column, const std::string& text) override;
  void AddWarning(int line, int column, const std::string& text) override;

  /// Whether the parse has ended at a value that its enumeration does not have. The field is then
  /// blank in `text`, and another parse comes to what is behind it.
  bool TakeOutUnknownValue(std::string* text);

  /// Something that the text has and that is not known. Lines and columns are counted from 0.
  struct Unknown {
    int line, column;
    std::string message;  ///< that should have the field: "ConvolutionParameter"; "" for a value
    std::string field;
    std::string value;  ///< of an enumeration; "" for a field
  };
  /// What is unknown and excused is no problem, but all of it is one warning, which ends with
  /// `why`.
  void Excuse(const std::function<bool(const Unknown&)>& excused, const std::string& why);

  /// Adds what `hint` says to the problem of each unknown field.
  void Explain(const std::function<std::string(const Unknown&)>& hint);

  /// Logs a warning for each fork's field without effect: its first place, and how often it is
  /// there.
  void WarnOfForks() const;
  /// A line for each problem, as "file:line:column: what", empty where there is none
  /// (caffe/util/problem_list.hpp).
  std::string text() const;

 private:
  struct Hint {
    std::string place, text;
    int times = 0;
  };
  struct Problem {
    Unknown unknown;  ///< without a field where it is something else
    std::string text;
  };

  void Add(int line, int column, const std::string& text);
  void AddUnknown(int line, int column, const std::string& type, const std::string& field);
  std::string Place(int line, int column) const;
  std::string OfAnotherMessage() const;

  const std::string file_;
  const google::protobuf::Descriptor* const message_;
  bool broken_ = false;                ///< a character is outside of what may be there
  std::vector<Problem> problems_;      ///< of the last parse
  std::vector<Problem> values_;        ///< unknown ones, taken out of the text
  std::map<std::string, Hint> hints_;  ///< by message and field
  std::set<std::string> unknown_;      ///< fields of message_ itself
};

}  // namespace caffe

#endif  // CAFFE_UTIL_TEXT_PROBLEMS_HPP_
