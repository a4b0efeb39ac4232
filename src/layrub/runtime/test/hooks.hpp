#ifndef LAYRUB_RUNTIME_TEST_HOOKS_HPP_
#define LAYRUB_RUNTIME_TEST_HOOKS_HPP_

#include <functional>
#include <map>
#include <vector>

#include "layrub/runtime/executor.hpp"

namespace layrub::testing {

/// An OpRunner that calls functions at chosen operations.
class Hooks : public OpRunner {
 public:
  void Run(const Step& step) override {
    ran.push_back(step.op);
    const auto found = at.find(step.op);
    if (found != at.end()) found->second();
  }
  std::map<OpId, std::function<void()>> at;
  std::vector<OpId> ran;
};

}  // namespace layrub::testing

#endif  // LAYRUB_RUNTIME_TEST_HOOKS_HPP_
