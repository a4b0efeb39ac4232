#include "layrub/flag_names.hpp"

#include <gflags/gflags.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "caffe/util/nearest_name.hpp"
#include "layrub/commands.hpp"
#include "layrub/flag_table.hpp"

namespace layrub_tool {

namespace {

/// The names of all flags, those of this program first.
std::vector<std::string> FlagNames() {
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  std::stable_partition(flags.begin(), flags.end(), [](const auto& flag) {
    return flag.filename.ends_with("layrub/flags.cpp");
  });
  std::vector<std::string> names;
  for (const gflags::CommandLineFlagInfo& flag : flags) names.push_back(flag.name);
  return names;
}

/// Whether gflags accepts `name`: a flag's name, or "no" and the name of a boolean flag.
/// `has_value`: the flag takes a value.
bool IsFlag(const std::string& name, bool* has_value) {
  gflags::CommandLineFlagInfo flag;
  *has_value = false;
  if (gflags::GetCommandLineFlagInfo(name.c_str(), &flag)) {
    *has_value = flag.type != "bool";
    return true;
  }
  return name.starts_with("no") && gflags::GetCommandLineFlagInfo(name.c_str() + 2, &flag) &&
         flag.type == "bool";
}

/// Refuses a second use of a flag that holds a list, because gflags would keep only the last one.
/// `lists` has the lists that were given so far.
void CheckGivenOnce(const std::string& name, const std::string& value,
                    std::map<std::string, std::string>* lists) {
  const auto [before, fresh] = lists->emplace(name, value);
  if (fresh) return;
  Fail("--" + name + " is given twice, but holds a list: join the values with a comma, as in --" +
       name + "=" + before->second + "," + value + ".");
}

}  // namespace

void CheckFlagNames(int argc, char** argv) {
  std::map<std::string, std::string> lists;
  const std::string command = argc > 1 ? argv[1] : "";
  static char help[] = "--help";
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    if (name == "-h") argv[i] = help;
    if (name == "--") return;
    if (name.size() < 2 || name[0] != '-' || name == "-h") continue;
    name.erase(0, name[1] == '-' ? 2 : 1);
    const size_t equals = name.find('=');
    const bool alone = equals == std::string::npos;
    if (!alone) name.erase(equals);
    bool has_value = false;
    if (name == "undefok") return;  // the user tells gflags which flags may be unknown
    if (!IsFlag(name, &has_value)) {
      const std::string nearest = caffe::NearestName(name, FlagNames());
      Fail("unknown command line flag '" + name + "'" +
           (nearest.empty() ? "; 'layrub COMMAND --help' explains the flags of a command."
                            : "; did you mean --" + nearest + "?"));
    }
    std::string value =
        alone ? "" : std::string(argv[i]).substr(std::string(argv[i]).find('=') + 1);
    if (has_value && alone && ++i < argc) value = argv[i];  // the next argument is the value
    if (HoldsList(command, name)) CheckGivenOnce(name, value, &lists);
  }
}

}  // namespace layrub_tool
