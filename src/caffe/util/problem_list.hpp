#ifndef CAFFE_UTIL_PROBLEM_LIST_HPP_
#define CAFFE_UTIL_PROBLEM_LIST_HPP_

#include <string>
#include <vector>

namespace caffe {

/// Maximum number of problems of a file that are reported.
inline constexpr size_t kMaxReportedProblems = 20;

/// Returns one line for each problem, at most kMaxReportedProblems, and then how many more there
/// are. Returns "" if there are none.
inline std::string ProblemList(const std::vector<std::string>& problems) {
  std::string text;
  for (size_t i = 0; i < problems.size() && i < kMaxReportedProblems; ++i)
    text += (i == 0 ? "" : "\n") + problems[i];
  if (problems.size() <= kMaxReportedProblems) return text;
  return text + "\n... and " + std::to_string(problems.size() - kMaxReportedProblems) + " more";
}

}  // namespace caffe

#endif  // CAFFE_UTIL_PROBLEM_LIST_HPP_
