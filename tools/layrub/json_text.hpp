#ifndef TOOLS_LAYRUB_JSON_TEXT_HPP_
#define TOOLS_LAYRUB_JSON_TEXT_HPP_

#include <nlohmann/json.hpp>

#include <string>

namespace layrub_tool {

/// `json` as the text of a file. Bytes that are not UTF-8, which users' names may have, become
/// U+FFFD.
template <typename Json>
std::string JsonText(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_JSON_TEXT_HPP_
