#ifndef CAFFE_UTIL_PROBLEM_LIST_HPP_
#define CAFFE_UTIL_PROBLEM_LIST_HPP_

#include <string>
#include <vector>

namespace caffe {

/// So many problems of a file are told.
inline constexpr size_t kMostProblemsTold = 20;

/// A line for each, at most kMostProblemsTold, then how many more; "" where there is none.
inline std::string ProblemList(const std::vector<std::string>& problems) {
  std::string text;
  for (size_t i = 0; i < problems.size() && i < kMostProblemsTold; ++i)
    text += (i == 0 ? "" : "\n") + problems[i];
  if (problems.size() <= kMostProblemsTold) return text;
  return text + "\n... and " + std::to_string(problems.size() - kMostProblemsTold) + " more";
}

}  // namespace caffe

#endif  // CAFFE_UTIL_PROBLEM_LIST_HPP_
