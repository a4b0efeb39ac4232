#ifndef TOOLS_LAYRUB_ACTIVITY_HPP_
#define TOOLS_LAYRUB_ACTIVITY_HPP_

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "layrub/base/progress_line.hpp"

namespace layrub_tool {

/// While it lives, a terminal shows what is being done and for how long: "looking for plans of 120
/// operations, 12s". What takes less than a second is not shown. A thread does it: fork before.
class Activity {
 public:
  explicit Activity(const std::string& what);
  ~Activity();
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

  /// From now on it is this. The time goes on.
  void Tell(const std::string& what);

 private:
  void Run();

  layrub::ProgressLine line_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string what_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_ACTIVITY_HPP_
