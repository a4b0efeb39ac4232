#include "layrub/placement/ir/line_reader.hpp"

#include <algorithm>

#include "layrub/base/text.hpp"

namespace layrub::placement {

Status LineReader::ReadHeader(const std::string& header) {
  if (Next() && record_ == header) return Status::Ok();
  const std::string_view name = std::string_view(header).substr(0, header.rfind(' ') + 1);
  int64_t version = 0, current = 0;
  ParseNumber(std::string_view(header).substr(name.size()), &current);
  if (!record_.starts_with(name) || !ParseNumber(record_.substr(name.size()), &version) ||
      version < 1 || version >= current) {
    return Malformed(header);
  }
  return Error("this is version " + std::to_string(version) +
               " of the format, which older versions of Layrub wrote; make it again with 'layrub "
               "plan --dump'; expected '" +
               header + "'");
}

bool LineReader::Next() {
  while (!rest_.empty()) {
    const size_t end = rest_.find('\n');
    record_ = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    ++line_;
    if (record_.empty() || record_.front() == '#') continue;
    fields_ = Split(record_, ' ');
    return record_ != kEnd;
  }
  record_ = {};
  return false;
}

Status LineReader::Finish() {
  if (record_ != kEnd) return Error("the text is cut off: its last line has to be 'end'");
  return Next() || record_ == kEnd ? Error("there is more after 'end'") : Status::Ok();
}

Status LineReader::Error(const std::string& what) const {
  return Status::Invalid("line " + std::to_string(std::max(line_, 1)) + ": " + what);
}

Status LineReader::Malformed(const std::string& expected) const {
  return Error("expected '" + expected + "'");
}

Status ReadName(const LineReader& reader, std::string* name) {
  if (reader.fields().size() != 2 || reader.fields()[1].empty()) {
    return reader.Malformed(std::string(reader.keyword()) + " <name>");
  }
  *name = FromDash(reader.fields()[1]);
  return Status::Ok();
}

}  // namespace layrub::placement
