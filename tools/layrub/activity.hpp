#ifndef TOOLS_LAYRUB_ACTIVITY_HPP_
#define TOOLS_LAYRUB_ACTIVITY_HPP_

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "layrub/base/progress_line.hpp"

namespace layrub_tool {

/// While an object exists, a terminal shows what the program is doing and for how long: "looking
/// for plans of 120 operations, 12s". Nothing is shown in the first second. A thread updates the
/// line, so a program that forks must do so before it makes one.
class Activity {
 public:
  explicit Activity(const std::string& what);
  ~Activity();
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

  /// Replaces the text; the time is not reset.
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
