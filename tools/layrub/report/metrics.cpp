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
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "caffe/planned_net.hpp"
#include "caffe/util/atomic_file.hpp"
#include "layrub/commands.hpp"
#include "layrub/report/put_aside.hpp"

namespace layrub_tool {

namespace fs = std::filesystem;
using layrub::Result;
using layrub::Status;
using nlohmann::json;
using nlohmann::ordered_json;

namespace {

/// The double that prints with as few digits as the float: 0.1 rather than 0.10000000149.
double ShortestDouble(float value) {
  char text[64];
  double same = value;
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  std::from_chars(text, end, same);
  return same;
}

std::string Line(const ordered_json& object) {
  return object.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Status::Invalid("cannot read " + path + ": " + std::strerror(errno));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// The lines of `text`, without an incomplete last line.
std::vector<std::string_view> WholeLines(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t begin = 0, end; (end = text.find('\n', begin)) != text.npos; begin = end + 1)
    lines.push_back(text.substr(begin, end - begin));
  return lines;
}

/// The JSON object in line `i` of the file at `path`; kInvalid if the line is not an object.
Result<json> ObjectOf(const std::string& path, const std::vector<std::string_view>& lines,
                      size_t i) {
  json object = json::parse(lines[i].begin(), lines[i].end(), nullptr, false);
  if (object.is_object()) return object;
  return Status::Invalid(path + ", line " + std::to_string(i + 1) +
                         " is not a JSON object: move the file away, or correct it.");
}

/// Keeps only the lines of iterations before `iteration` in the file. If there are others, the old
/// file is kept under another name.
void CutLines(const std::string& path, int iteration) {
  const Result<std::string> text = ReadFile(path);
  if (!text.ok()) Fail(text.status().message);
  const std::vector<std::string_view> lines = WholeLines(text.value());
  std::string kept;
  int cut = 0;
  for (size_t i = 0; i < lines.size(); ++i) {
    const Result<json> object = ObjectOf(path, lines, i);
    if (!object.ok()) Fail(object.status().message);
    const auto at = object.value().find("iteration");
    const bool before = at != object.value().end() && at->is_number() && *at < iteration;
    if (before) kept.append(lines[i]) += '\n';
    cut += !before;
  }
  std::string words;
  if (cut > 0) {
    words =
        ", " + std::to_string(cut) + " later lines are cut; they are in " + CopyToFreeName(path);
  }
  if (kept.size() != text.value().size()) WriteFile(path, kept);
  LOG(INFO) << "Metrics: " << path << " goes on at iteration " << iteration << words;
}

/// The curve that a line belongs to: "" for lines of iterations, else the text that has the number
/// of the test net.
std::string_view CurveOf(std::string_view line) {
  const size_t begin = line.find("\"test\":");
  return begin == line.npos ? "" : line.substr(begin, line.find(',', begin) - begin);
}

}  // namespace

void CheckMetricsFile(const std::string& path) {
  std::error_code missing;
  const fs::file_status status = fs::status(path, missing);
  if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status))
    Fail(path + " is no regular file, so no metrics can be added to it. Remove it.");
  if (const std::string why = caffe::WhyLinkIsRefused(path); !why.empty())
    Fail("cannot write " + path + ": " + why + ". Remove it, or name another folder.");
  CheckWritable(path);
}

Metrics::Metrics(caffe::Solver<float>* solver, const std::string& path, bool resumed)
    : solver_(solver), path_(path) {
  std::error_code missing;
  if (resumed && fs::file_size(path, missing) > 0 && !missing) CutLines(path, solver->iter());
  file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
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
         {"loss", ShortestDouble(solver_->loss())},
         {"smoothed_loss", ShortestDouble(solver_->smoothed_loss())},
         {"lr", ShortestDouble(solver_->learning_rate())},
         {"seconds", std::round(seconds.count() * 1e6) / 1e6},
         {"device_bytes", solver_->planned_device_bytes()},
         {"host_bytes", planned != nullptr ? planned->plan().host_bytes : 0},
         {"spill_bytes", planned != nullptr ? planned->plan().spill_bytes : 0}});
}

void Metrics::on_test_done(int net) {
  ordered_json scores = ordered_json::object();
  for (const auto& [name, value] : solver_->test_scores()[net]) {
    ordered_json& score = scores[name];
    if (score.is_null()) {
      score = ShortestDouble(value);
      continue;
    }
    if (!score.is_array()) score = ordered_json::array({score});  // an output of several values
    score.push_back(ShortestDouble(value));
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

Result<json> ReadMetrics(const std::string& path, size_t most) {
  const Result<std::string> text = ReadFile(path);
  if (!text.ok()) return text.status();
  const std::vector<std::string_view> lines = WholeLines(text.value());
  std::map<std::string_view, std::vector<size_t>> curves;
  for (size_t i = 0; i < lines.size(); ++i) curves[CurveOf(lines[i])].push_back(i);
  std::set<size_t> wanted;
  for (const auto& [curve, of_curve] : curves) {
    const size_t stride = (of_curve.size() + most - 1) / most;
    for (size_t i = 0; i < of_curve.size(); i += stride) wanted.insert(of_curve[i]);
    wanted.insert(of_curve.back());
  }
  json objects = json::array();
  for (const size_t i : wanted) {
    Result<json> object = ObjectOf(path, lines, i);
    if (!object.ok()) return object.status();
    objects.push_back(std::move(object.value()));
  }
  return objects;
}

}  // namespace layrub_tool
