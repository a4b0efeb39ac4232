#include "window_file.hpp"

#include <cctype>
#include <sstream>

#include "caffe/util/io.hpp"

namespace caffe {

namespace {

constexpr char kBlanks[] = " \t\r\v\f";
constexpr int64_t kFarthestCorner = 1 << 24;  ///< keeps coordinates exact as floats

/// Reads the words of a text file and keeps track of their lines.
class Words {
 public:
  Words(const string& source, const string& what) : source_(source), what_(what) {
    string text;
    CHECK(ReadFileToString(source, &text))
        << what << "cannot open the window file " << source << ".";
    file_.str(text);
  }

  /// False at the end of the file.
  bool More() {
    string line;
    while ((text_ >> std::ws).eof() && std::getline(file_, line)) {
      text_.clear();
      text_.str(line);
      ++line_;
    }
    return !text_.eof();
  }
  /// Returns the next word as a T. Messages call it `name`.
  template <typename T>
  T Next(const char* name) {
    T value{};
    CHECK(More()) << what_ << source_ << ":" << line_ << ": the file ends where " << name
                  << " should be.";
    const bool ends = (text_ >> value) && (text_.eof() || std::isspace(text_.peek()));
    CHECK(ends) << what_ << source_ << ":" << line_ << ": this is not " << name << ".";
    return value;
  }
  /// Returns the next word; if it is the first of its line, the whole line, since a path may
  /// contain blanks.
  string NextPath(const char* name) {
    More();
    const string line = text_.str();
    const size_t first = line.find_first_not_of(kBlanks);
    if (text_.eof() || static_cast<size_t>(text_.tellg()) != first) return Next<string>(name);
    text_.str("");
    return line.substr(first, line.find_last_not_of(kBlanks) + 1 - first);
  }
  int line() const { return line_; }

 private:
  const string source_, what_;
  std::istringstream file_;
  std::istringstream text_;  ///< the rest of line `line_`
  int line_ = 0;
};

}  // namespace

vector<WindowedImage> ReadWindowFile(const string& source, const string& what) {
  Words words(source, what);
  vector<WindowedImage> images;
  while (words.More()) {
    const string mark = words.Next<string>("'#'");
    CHECK_EQ(mark, "#") << what << source << ":" << words.line()
                        << ": an image must begin with \"# index\".";
    words.Next<int>("the index of an image");
    WindowedImage image;
    image.path = words.NextPath("the path of an image");
    image.line = words.line();
    image.channels = words.Next<int>("the number of channels");
    image.height = words.Next<int>("the height of an image");
    image.width = words.Next<int>("the width of an image");
    const int windows = words.Next<int>("the number of windows");
    for (int i = 0; i < windows; ++i) {
      FileWindow window;
      window.label = words.Next<int>("the label of a window");
      window.overlap = words.Next<float>("the overlap of a window");
      for (int* place : {&window.x1, &window.y1, &window.x2, &window.y2}) {
        *place = words.Next<int>("a corner of a window");
        CHECK_LE(std::abs(int64_t{*place}), kFarthestCorner)
            << what << source << ":" << words.line() << ": " << *place
            << " is out of range for the corner of a window.";
      }
      CHECK(window.x1 <= window.x2 && window.y1 <= window.y2)
          << what << source << ":" << words.line()
          << ": the second corner of a window must be right of and below the first.";
      image.windows.push_back(window);
    }
    images.push_back(image);
  }
  CHECK(!images.empty()) << what << "the window file " << source << " names no image.";
  return images;
}

}  // namespace caffe
