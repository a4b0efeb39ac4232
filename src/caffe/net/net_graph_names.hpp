#ifndef CAFFE_NET_NET_GRAPH_NAMES_HPP_
#define CAFFE_NET_NET_GRAPH_NAMES_HPP_

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <vector>

#include "layrub/placement/ir/graph.hpp"

namespace caffe {

/// Returns `name` as one word.
inline std::string Word(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isspace(c); }, '_');
  return name.empty() ? "unnamed" : name;
}

inline std::string Unique(std::string name, std::set<string>* taken) {
  std::string unique = name;
  for (int i = 2; !taken->insert(unique).second; ++i) unique = name + "#" + std::to_string(i);
  return unique;
}

inline void AddOnce(layrub::TensorId tensor, std::vector<layrub::TensorId>* list) {
  if (std::find(list->begin(), list->end(), tensor) == list->end()) list->push_back(tensor);
}

}  // namespace caffe

#endif  // CAFFE_NET_NET_GRAPH_NAMES_HPP_
