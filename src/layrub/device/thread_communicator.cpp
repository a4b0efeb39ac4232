#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

#include "layrub/communicator.hpp"

namespace layrub {
namespace {

constexpr int64_t kChunk = 16384;  ///< values that are summed at a time: a part of a cache

struct Task {
  enum class Kind : uint8_t { kBroadcast, kSum } kind;
  std::vector<Values> values;
};

bool Match(const Task& a, const Task& b) {
  const auto same = [](const Values& x, const Values& y) {
    return x.count == y.count && x.element == y.element;
  };
  return a.kind == b.kind &&
         std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(), same);
}

template <typename Number>
Number* At(const Task& task, size_t index, int64_t offset) {
  return static_cast<Number*>(task.values[index].first) + offset;
}

/// What the members share: a queue each, and a thread that does a task as soon as all have queued
/// it.
class Lane {
 public:
  explicit Lane(int size) : queues_(size), thread_([this] { Work(); }) {}
  ~Lane() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  int size() const { return static_cast<int>(queues_.size()); }

  void Push(int rank, Task task) {
    {
      const std::lock_guard lock(mutex_);
      if (failed_) throw GroupFailed(reason_);
      queues_[rank].push_back(std::move(task));
    }
    changed_.notify_all();
  }

  void Await(int rank) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !busy_ && (failed_ || queues_[rank].empty()); });
    if (failed_) throw GroupFailed(reason_);
  }

  void Abort(const std::string& reason) {
    std::unique_lock lock(mutex_);
    Fail(reason);
    changed_.wait(lock, [&] { return !busy_; });
  }

  void Leave(int rank) {
    std::unique_lock lock(mutex_);
    if (!queues_[rank].empty()) Fail("member " + std::to_string(rank) + " has left its group");
    changed_.wait(lock, [&] { return !busy_; });
  }

 private:
  void Fail(const std::string& reason) {
    if (!failed_) reason_ = reason;
    failed_ = true;
    changed_.notify_all();
  }

  bool Ready() const {
    return !failed_ && std::none_of(queues_.begin(), queues_.end(),
                                    [](const auto& queue) { return queue.empty(); });
  }

  void Work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return stop_ || Ready(); });
      if (stop_) return;
      std::vector<Task> tasks;  // by rank
      for (std::deque<Task>& queue : queues_) {
        tasks.push_back(std::move(queue.front()));
        queue.pop_front();
      }
      for (size_t rank = 1; rank < tasks.size() && !failed_; ++rank) {
        if (!Match(tasks[0], tasks[rank])) {
          Fail("members 0 and " + std::to_string(rank) +
               " of a group exchange different values: their nets differ");
        }
      }
      if (failed_) continue;
      busy_ = true;
      lock.unlock();
      Do(tasks);
      lock.lock();
      busy_ = false;
      changed_.notify_all();
    }
  }

  void Do(const std::vector<Task>& tasks) {
    for (size_t i = 0; i < tasks[0].values.size(); ++i) {
      if (tasks[0].values[i].element == Element::kFloat) {
        Exchange<float>(tasks, i, &floats_);
      } else {
        Exchange<double>(tasks, i, &doubles_);
      }
    }
  }

  template <typename Number>
  void Exchange(const std::vector<Task>& tasks, size_t index, std::vector<Number>* sum) {
    const int64_t count = tasks[0].values[index].count;
    sum->resize(kChunk);
    for (int64_t begin = 0; begin < count; begin += kChunk) {
      const int64_t n = std::min(kChunk, count - begin);
      const size_t bytes = static_cast<size_t>(n) * sizeof(Number);
      std::memcpy(sum->data(), At<Number>(tasks[0], index, begin), bytes);
      for (size_t rank = 1; tasks[0].kind == Task::Kind::kSum && rank < tasks.size(); ++rank) {
        const Number* part = At<Number>(tasks[rank], index, begin);
        for (int64_t k = 0; k < n; ++k) (*sum)[k] += part[k];
      }
      for (const Task& task : tasks) {
        std::memcpy(At<Number>(task, index, begin), sum->data(), bytes);
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::deque<Task>> queues_;  ///< by rank
  bool busy_ = false;                     ///< the thread touches values
  bool failed_ = false;
  std::string reason_;
  bool stop_ = false;
  std::vector<float> floats_;
  std::vector<double> doubles_;
  std::thread thread_;  ///< last: it uses all of the above
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<Lane> lane, int rank) : lane_(std::move(lane)), rank_(rank) {}
  ~ThreadCommunicator() override { lane_->Leave(rank_); }

  int rank() const override { return rank_; }
  int size() const override { return lane_->size(); }
  void Broadcast(const std::vector<Values>& values) override {
    lane_->Push(rank_, {Task::Kind::kBroadcast, values});
  }
  void Sum(const std::vector<Values>& values) override {
    lane_->Push(rank_, {Task::Kind::kSum, values});
  }
  void Wait() override { lane_->Await(rank_); }
  void Abort(const std::string& reason) override { lane_->Abort(reason); }

 private:
  const std::shared_ptr<Lane> lane_;
  const int rank_;
};

}  // namespace

Group ConnectThreads(int size) {
  const auto lane = std::make_shared<Lane>(size);
  Group group;
  for (int rank = 0; rank < size; ++rank) {
    group.push_back(std::make_unique<ThreadCommunicator>(lane, rank));
  }
  return group;
}

}  // namespace layrub
