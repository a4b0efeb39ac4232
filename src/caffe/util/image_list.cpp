#include "caffe/util/image_list.hpp"

#include <charconv>
#include <sstream>

#include "caffe/util/control_characters.hpp"
#include "caffe/util/io.hpp"

namespace caffe {

namespace {

const char kBlanks[] = " \t\r";

int Label(const string& text, const string& where) {
  int label = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, label);
  CHECK(error == std::errc() && stop == end)
      << where << "'" << text << "' is no label; a line is \"path label\".";
  return label;
}

/// Calls `take` with each nonempty line of the text file, without trailing blanks.
template <typename Take>
void ForLines(const string& source, const string& what, const char* form, const Take& take) {
  string text;
  CHECK(ReadFileToString(source, &text)) << what << "cannot open the image list " << source << ".";
  std::istringstream file(text);
  string line;
  for (int number = 1; std::getline(file, line); ++number) {
    line.erase(line.find_last_not_of(kBlanks) + 1);
    if (line.empty()) continue;
    CHECK(!HasControlCharacters(line))
        << what << source << ":" << number
        << ": this is no text; an image list is a text file, and a line of it \"" << form << "\".";
    take(line, number);
  }
}

}  // namespace

vector<ListedImage> ReadImageList(const string& source, const string& what) {
  vector<ListedImage> images;
  int unlabelled = 0;
  ForLines(source, what, "path label", [&](const string& line, int number) {
    ListedImage image{line, 0, number};
    if (const size_t blank = line.find_last_of(kBlanks); blank != string::npos) {
      image.label =
          Label(line.substr(blank + 1), what + source + ":" + std::to_string(number) + ": ");
      image.path.erase(line.find_last_not_of(kBlanks, blank) + 1);
    } else {
      ++unlabelled;
    }
    images.push_back(image);
  });
  CHECK(!images.empty()) << what << "the image list " << source << " names no image.";
  LOG_IF(WARNING, unlabelled > 0) << what << unlabelled << " of " << images.size() << " lines of "
                                  << source << " have no label: those images are of class 0.";
  return images;
}

vector<ListedImage> ReadImagePairs(const string& source, const string& what,
                                   vector<string>* labels) {
  vector<ListedImage> images;
  ForLines(source, what, "image label", [&](const string& line, int number) {
    std::istringstream words(line);
    ListedImage image{"", static_cast<int>(labels->size()), number};
    string label, more;
    words >> image.path >> label;
    CHECK(!label.empty() && !(words >> more))
        << what << source << ":" << number << ": a line is \"image label\", two paths.";
    images.push_back(image);
    labels->push_back(label);
  });
  CHECK(!images.empty()) << what << "the image list " << source << " names no image.";
  return images;
}

}  // namespace caffe
