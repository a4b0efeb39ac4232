#ifndef LAYRUB_PLACEMENT_IR_LINE_READER_HPP_
#define LAYRUB_PLACEMENT_IR_LINE_READER_HPP_

#include <string>
#include <string_view>
#include <vector>

#include "layrub/base/status.hpp"

namespace layrub::placement {

/// The last record of every text, without which it is cut off.
inline constexpr std::string_view kEnd = "end";

/// The records of a text format: one a line, fields separated by single spaces; empty lines and
/// lines that begin with '#' are left out. `text` must outlive the reader and all views it gives.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : rest_(text) {}

  /// Reads the first record, which has to be `header`: the name of the format and its version.
  Status ReadHeader(const std::string& header);
  /// Moves to the next record; false at the one that is the end, or where the text is over.
  bool Next();
  /// After that: kInvalid where the text is cut off, or goes on.
  Status Finish();
  /// The fields of the record at hand, of which there is at least one.
  const std::vector<std::string_view>& fields() const { return fields_; }
  std::string_view keyword() const { return fields_[0]; }
  /// The whole record at hand.
  std::string_view record() const { return record_; }

  /// kInvalid naming the line of the record at hand.
  Status Error(const std::string& what) const;
  /// Error that says how a record of this keyword has to look.
  Status Malformed(const std::string& expected) const;

 private:
  std::string_view rest_;
  std::string_view record_;
  int line_ = 0;
  std::vector<std::string_view> fields_;
};

/// Names are never empty in a text; "-" stands for the empty name and for no tensor.
inline std::string_view OrDash(std::string_view name) { return name.empty() ? "-" : name; }
inline std::string_view FromDash(std::string_view field) { return field == "-" ? "" : field; }

/// Reads "<keyword> <name>" into `name`, "-" as the empty name.
Status ReadName(const LineReader& reader, std::string* name);

/// The value among the first `count` of an Enum whose Name is `word`; false if there is none.
template <typename Enum>
bool FindName(std::string_view word, int count, Enum* value) {
  for (int i = 0; i < count; ++i) {
    if (Name(static_cast<Enum>(i)) != word) continue;
    *value = static_cast<Enum>(i);
    return true;
  }
  return false;
}

}  // namespace layrub::placement

#endif  // LAYRUB_PLACEMENT_IR_LINE_READER_HPP_
