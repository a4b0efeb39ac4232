#include "caffe/util/hdf5_list.hpp"

#include <sstream>

#include "caffe/common.hpp"
#include "caffe/util/control_characters.hpp"
#include "caffe/util/io.hpp"

namespace caffe {

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
    if (!file.empty()) files.push_back(file);
  }
  CHECK(!files.empty()) << what << source << " names no HDF5 file; " << needed;
  return files;
}

}  // namespace caffe
