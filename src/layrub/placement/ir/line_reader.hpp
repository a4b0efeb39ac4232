#ifndef LAYRUB_PLACEMENT_IR_LINE_READER_HPP_
#define LAYRUB_PLACEMENT_IR_LINE_READER_HPP_

#include <string>
#include <string_view>
#include <vector>

#include "layrub/base/status.hpp"

namespace layrub::placement {

/// The last record of every text. A text without it has been cut off.
inline constexpr std::string_view kEnd = "end";

/// The records of a text format: one a line, fields separated by single spaces; empty lines and
/// lines that begin with '#' are left out. `text` must outlive the reader and all views it gives.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : rest_(text) {}

  /// Reads the first record, which has to be `header`: the name of the format and its version.
  Status ReadHeader(const std::string& header);
  /// Moves to the next record. Returns false at the last record, "end", or at the end of the text.
  bool Next();
  /// Call after Next has returned false. Returns kInvalid if the text lacks "end" or continues
  /// after it.
  Status Finish();
  /// The fields of the record at hand, of which there is at least one.
  const std::vector<std::string_view>& fields() const { return fields_; }
  std::string_view keyword() const { return fields_[0]; }
  /// The whole record at hand.
  std::string_view record() const { return record_; }

  /// Returns kInvalid with `what` and the line number of the record at hand.
  Status Error(const std::string& what) const;
  /// Returns an Error that says how a record of this keyword has to look.
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

/// Sets `value` to the value among the first `count` of Enum whose Name is `word`. Returns false if
/// there is none.
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
