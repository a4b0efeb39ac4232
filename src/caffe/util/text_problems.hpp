#ifndef CAFFE_UTIL_TEXT_PROBLEMS_HPP_
#define CAFFE_UTIL_TEXT_PROBLEMS_HPP_

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/message.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace caffe {

/// What is wrong with a text that protobuf parses, all of it: fields that are not known, up to the
/// first place where the text is none. The parser must allow unknown fields: it then tells of them
/// as warnings, and skips them. Fields that a fork of Caffe has, and that have no effect here, are
/// warned of instead.
class TextProblems : public google::protobuf::io::ErrorCollector {
 public:
  /// `file` is what is parsed as `message`.
  TextProblems(const std::string& file, const google::protobuf::Message& message)
      : file_(file), message_(message.GetDescriptor()) {}

  void AddError(int line, int column, const std::string& text) override;
  void AddWarning(int line, int column, const std::string& text) override;

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

  void AddUnknown(const std::string& place, const std::string& type, const std::string& field);
  std::string Place(int line, int column) const;
  std::string OfAnotherMessage() const;

  const std::string file_;
  const google::protobuf::Descriptor* const message_;
  std::vector<std::string> problems_;
  std::map<std::string, Hint> hints_;  ///< by message and field
  std::set<std::string> unknown_;      ///< fields of message_ itself
};

}  // namespace caffe

#endif  // CAFFE_UTIL_TEXT_PROBLEMS_HPP_
