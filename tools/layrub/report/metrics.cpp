#include "layrub/report/metrics.hpp"

#include <fcntl.h>
#include <glog/logging.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <vector>

#include "caffe/planned_net.hpp"
#include "layrub/commands.hpp"

namespace layrub_tool {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;

namespace {

/// The double that is written with as few digits as the float: 0.1 rather than 0.10000000149.
double Short(float value) {
  char text[64];
  double same = value;
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  std::from_chars(text, end, same);
  return same;
}

std::string Line(const ordered_json& object) {
  return object.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

/// A file of lines. One at the end that was cut short does not count.
class Lines {
 public:
  explicit Lines(const std::string& path) : path_(path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) Fail("cannot read " + path + ": " + std::strerror(errno));
    text_.assign(std::istreambuf_iterator<char>(file), {});
    const std::string_view text = text_;
    for (size_t begin = 0, end; (end = text.find('\n', begin)) != text.npos; begin = end + 1)
      lines_.push_back(text.substr(begin, end - begin));
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  size_t size() const { return lines_.size(); }
  std::string_view operator[](size_t i) const { return lines_[i]; }
  /// The object that line `i` is; ends the program if it is none.
  json Object(size_t i) const {
    json object = json::parse(lines_[i].begin(), lines_[i].end(), nullptr, false);
    if (object.is_object()) return object;
    Fail(path_ + ", line " + std::to_string(i + 1) +
         " is no JSON object: move the file away, or correct it.");
  }

 private:
  const std::string path_;
  std::string text_;
  std::vector<std::string_view> lines_;  ///< parts of text_
};

/// Gives the file a free name beside it, with a number: metrics.1.jsonl.
void PutAside(const std::string& path) {
  const fs::path old(path);
  fs::path aside;
  int number = 0;
  do {
    aside = old;
    aside.replace_filename(old.stem().string() + "." + std::to_string(++number) +
                           old.extension().string());
  } while (fs::exists(aside));
  std::error_code error;
  fs::rename(old, aside, error);
  if (error) Fail("cannot rename " + path + " to " + aside.string() + ": " + error.message());
  LOG(INFO) << "Metrics: " << path << " is of another training; it is " << aside.string() << " now";
}

/// Leaves those of iterations before `iteration` in the file.
void CutLines(const std::string& path, int iteration) {
  const Lines lines(path);
  std::string kept;
  int cut = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    const json object = lines.Object(i);
    const auto at = object.find("iteration");
    const bool before = at != object.end() && at->is_number() && *at < iteration;
    if (before) kept.append(lines[i]) += '\n';
    cut += !before;
  }
  WriteFile(path, kept);
  LOG(INFO) << "Metrics: " << path << " goes on at iteration " << iteration
            << (cut > 0 ? ", " + std::to_string(cut) + " later lines are cut" : "");
}

}  // namespace

Metrics::Metrics(caffe::Solver<float>* solver, const std::string& path, bool resumed)
    : solver_(solver), path_(path) {
  std::error_code missing;
  if (fs::file_size(path, missing) > 0 && !missing) {
    if (resumed) {
      CutLines(path, solver->iter());
    } else {
      PutAside(path);
    }
  }
  file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file_ < 0) Fail("cannot write " + path + ": " + std::strerror(errno));
  bytes_ = lseek(file_, 0, SEEK_END);
  solver->add_callback(this);
}

Metrics::~Metrics() { close(file_); }

void Metrics::on_start() { start_ = std::chrono::steady_clock::now(); }

void Metrics::on_update_done() {
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start_;
  const caffe::PlannedNet<float>* const planned = solver_->net()->planned();
  Write({{"iteration", solver_->iter() - 1},
         {"loss", Short(solver_->loss())},
         {"smoothed_loss", Short(solver_->smoothed_loss())},
         {"lr", Short(solver_->learning_rate())},
         {"seconds", std::round(seconds.count() * 1e6) / 1e6},
         {"device_bytes", solver_->planned_device_bytes()},
         {"host_bytes", planned != nullptr ? planned->plan().host_bytes : 0}});
}

void Metrics::on_test_done(int net) {
  ordered_json scores = ordered_json::object();
  for (const auto& [name, value] : solver_->test_scores()[net]) {
    ordered_json& score = scores[name];
    if (score.is_null()) {
      score = Short(value);
      continue;
    }
    if (!score.is_array()) score = ordered_json::array({score});  // an output of several values
    score.push_back(Short(value));
  }
  Write({{"iteration", solver_->iter()}, {"test", net}, {"scores", scores}});
}

void Metrics::Write(const ordered_json& line) {
  const std::string text = Line(line);
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t size = write(file_, text.data() + done, text.size() - done);
    if (size < 0 && errno != EINTR) break;
    done += static_cast<size_t>(std::max<ssize_t>(size, 0));
  }
  if (done < text.size()) {
    const std::string reason = std::strerror(errno);
    LOG_IF(WARNING, !failed_) << "Cannot write " << path_ << ": " << reason
                              << ". Training goes on; lines from iteration " << line["iteration"]
                              << " on may be missing there.";
    failed_ = true;
    if (done == 0 || ftruncate(file_, bytes_) == 0) return;
  }
  bytes_ += static_cast<int64_t>(done);
}

json ReadMetrics(const std::string& path, size_t most) {
  const Lines lines(path);
  const size_t stride = lines.size() > most ? lines.size() / most + 1 : 1;
  json objects = json::array();
  for (size_t i = 0; i < lines.size(); ++i) {
    const bool test = lines[i].find("\"test\":") != std::string_view::npos;
    if (i % stride == 0 || test) objects.push_back(lines.Object(i));
  }
  return objects;
}

}  // namespace layrub_tool
