#include "caffe/util/hdf5_list.hpp"

#include <filesystem>
#include <sstream>

#include "caffe/common.hpp"
#include "caffe/util/control_characters.hpp"
#include "caffe/util/io.hpp"

namespace caffe {

namespace {

/// Returns the words of a line that does not name a file itself but whose words all do; else
/// nothing.
vector<string> WordsThatAreFiles(const string& line) {
  std::error_code missing;
  if (std::filesystem::exists(line, missing)) return {};
  std::istringstream words(line);
  vector<string> files;
  for (string word; words >> word;) {
    if (!std::filesystem::exists(word, missing)) return {};
    files.push_back(word);
  }
  return files;
}

}  // namespace

vector<string> ReadHdf5List(const string& source, const string& what) {
  const string needed = "source must be a text file that names an HDF5 file in each line.";
  string list;
  CHECK(ReadFileToString(source, &list)) << what << "cannot open source file " << source << ".";
  CHECK(!list.starts_with("\x89HDF\r\n"))
      << what << source << " is an HDF5 file itself; " << needed;
  CHECK(!HasControlCharacters(list)) << what << source << " is no text; " << needed;
  std::istringstream text(list);
  vector<string> files;
  const char blanks[] = " \t\r";
  for (string file; std::getline(text, file);) {
    file.erase(file.find_last_not_of(blanks) + 1);
    file.erase(0, file.find_first_not_of(blanks));
    if (file.empty()) continue;
    const vector<string> several = WordsThatAreFiles(file);
    if (several.empty()) {
      files.push_back(file);
    } else {
      files.insert(files.end(), several.begin(), several.end());
    }
  }
  CHECK(!files.empty()) << what << source << " names no HDF5 file; " << needed;
  return files;
}

}  // namespace caffe
