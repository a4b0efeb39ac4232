#include "caffe/util/algorithm_table.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "caffe/util/atomic_file.hpp"
#include "layrub/base/algorithm_cost.hpp"

namespace caffe {

using nlohmann::json;

namespace {

constexpr const char* kFormat = "layrub algorithms 1";

/// Combines `first`, the choice for the steps so far, with `second`, the algorithm of the next
/// step.
Algorithm Join(const Algorithm& first, const Algorithm& second) {
  if (first.name.empty()) return second;
  return {first.name + "+" + second.name, std::max(first.bytes, second.bytes),
          first.seconds + second.seconds, first.deterministic && second.deterministic};
}

bool Beats(const Algorithm& a, const Algorithm& b) {
  if (a.bytes > b.bytes || a.seconds > b.seconds || a.deterministic < b.deterministic) return false;
  return a.bytes < b.bytes || a.seconds < b.seconds || a.deterministic > b.deterministic;
}

/// Removes the choices that others beat; of equally good ones the first is kept.
AlgorithmTable BestOf(const AlgorithmTable& choices) {
  AlgorithmTable best;
  for (size_t i = 0; i < choices.size(); ++i) {
    const Algorithm& choice = choices[i];
    bool beaten = false;
    for (size_t k = 0; k < choices.size(); ++k) {
      const bool equal = choices[k].bytes == choice.bytes && choices[k].seconds == choice.seconds &&
                         choices[k].deterministic == choice.deterministic;
      beaten |= Beats(choices[k], choice) || (equal && k < i);
    }
    if (!beaten) best.push_back(choice);
  }
  std::stable_sort(best.begin(), best.end(),
                   [](const Algorithm& a, const Algorithm& b) { return a.bytes < b.bytes; });
  return best;
}

/// Returns the algorithm of `table` to use without times; null if there is none.
const Algorithm* Granted(const AlgorithmTable& table) {
  const Algorithm* smallest = nullptr;
  for (const Algorithm& algorithm : table) {
    if (!algorithm.deterministic) continue;
    if (algorithm.bytes <= layrub::kWorkspaceCap) return &algorithm;
    if (!smallest || algorithm.bytes < smallest->bytes) smallest = &algorithm;
  }
  return smallest;
}

}  // namespace

AlgorithmTable Combine(const std::vector<AlgorithmTable>& steps) {
  AlgorithmTable choices(1);
  for (const AlgorithmTable& step : steps) {
    AlgorithmTable longer;
    for (const Algorithm& choice : choices) {
      for (const Algorithm& algorithm : step) longer.push_back(Join(choice, algorithm));
    }
    choices = BestOf(longer);
  }
  return steps.empty() ? AlgorithmTable() : choices;
}

AlgorithmTable WithoutTimes(const std::vector<AlgorithmTable>& steps) {
  Algorithm choice;
  for (const AlgorithmTable& step : steps) {
    const Algorithm* granted = Granted(step);
    if (!granted) return {};
    choice = Join(choice, *granted);
  }
  choice.seconds = 0;
  return steps.empty() ? AlgorithmTable() : AlgorithmTable{choice};
}

std::string_view AlgorithmOf(std::string_view choice, int step) {
  for (; step > 0; --step) {
    const size_t end = choice.find('+');
    if (end == std::string_view::npos) return {};
    choice.remove_prefix(end + 1);
  }
  return choice.substr(0, choice.find('+'));
}

AlgorithmCache::AlgorithmCache(std::string path) : path_(std::move(path)) {
  std::error_code unknown;
  if (!path_.empty() && std::filesystem::exists(path_, unknown)) Read();
}

void AlgorithmCache::Read() {
  try {
    std::ifstream file(path_);
    const json root = json::parse(file);
    if (root.at("format") != kFormat) throw std::runtime_error("it has another format");
    std::map<std::string, AlgorithmTable> tables;
    for (const auto& [name, rows] : root.at("tables").items()) {
      for (const json& row : rows) {
        Algorithm algorithm;
        algorithm.name = row.at("algorithm").get<std::string>();
        algorithm.seconds = row.at("seconds").get<double>();
        algorithm.deterministic = row.at("deterministic").get<bool>();
        if (!(algorithm.seconds > 0)) throw std::runtime_error("a time is not above 0");
        tables[name].push_back(algorithm);
      }
    }
    tables_ = std::move(tables);
  } catch (const std::exception& error) {
    LOG(WARNING) << path_ << " cannot be used, so everything is measured again: " << error.what();
  }
}

bool AlgorithmCache::Find(const std::string& name, AlgorithmTable* table) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = tables_.find(name);
  if (found == tables_.end()) return false;
  *table = found->second;
  return true;
}

void AlgorithmCache::Store(const std::string& name, const AlgorithmTable& table) {
  const std::lock_guard<std::mutex> lock(mutex_);
  AlgorithmTable& stored = tables_[name] = table;
  for (Algorithm& algorithm : stored) algorithm.bytes = 0;
  if (!path_.empty()) Write();
}

/// Only warns on errors: a cache that cannot be written must not end the program.
void AlgorithmCache::Write() const {
  json root = {{"format", kFormat}, {"tables", json::object()}};
  for (const auto& [name, table] : tables_) {
    json& rows = root["tables"][name] = json::array();
    for (const Algorithm& algorithm : table) {
      rows.push_back({{"algorithm", algorithm.name},
                      {"seconds", algorithm.seconds},
                      {"deterministic", algorithm.deterministic}});
    }
  }
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), error);
  const ThrowOnError scope(ThrowOnError::kNotLogged);
  try {
    AtomicFile file(path_);
    file.Write(root.dump(1) + "\n");
    file.Commit();
  } catch (const Error& failure) {
    LOG(WARNING) << failure.what() << "; measured times are not kept.";
  }
}

std::string AlgorithmCache::PathFor(const std::string& name) {
  std::string file = name;
  std::replace_if(
      file.begin(), file.end(),
      [](unsigned char c) { return !std::isalnum(c) && c != '-' && c != '.'; }, '_');
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  if (cache && *cache) return std::string(cache) + "/layrub/" + file + ".json";
  if (home && *home) return std::string(home) + "/.cache/layrub/" + file + ".json";
  return "";
}

}  // namespace caffe
