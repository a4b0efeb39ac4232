#include "layrub/device/copy_lane.hpp"

#include <chrono>
#include <cstring>
#include <limits>
#include <utility>

namespace layrub {
namespace {

// How many times a thread polls before it sleeps: waking a thread costs more than a tiny copy. It
// yields between polls, so that other threads can use the core.
constexpr int kSpins = 100;

template <typename Condition>
void Spin(Condition done) {
  for (int i = 0; i < kSpins && !done(); ++i) std::this_thread::yield();
}

}  // namespace

double Now() {
  using std::chrono::steady_clock;
  return std::chrono::duration<double>(steady_clock::now().time_since_epoch()).count();
}

CopyLane::CopyLane()
    : CopyLane([](void* to, const void* from, int64_t bytes) {
        std::memcpy(to, from, static_cast<size_t>(bytes));
      }) {}

CopyLane::CopyLane(Copier copier) : copier_(std::move(copier)), thread_([this] { Work(); }) {}

CopyLane::~CopyLane() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  queued_.notify_one();
  thread_.join();
}

void CopyLane::Copy(void* to, const void* from, int64_t bytes) {
  if (bytes > 0) Push({.to = to, .from = from, .bytes = bytes});
}

void CopyLane::Call(std::function<void()> function) { Push({.function = std::move(function)}); }

void CopyLane::Wait(const CopyLane* other, uint64_t ticket) {
  Push({.lane = other, .ticket = ticket});
}

uint64_t CopyLane::Record() {
  Push({.ticket = ++recorded_});
  return recorded_;
}

void CopyLane::Push(Item item) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    items_.push_back(std::move(item));
  }
  pushed_.fetch_add(1, std::memory_order_release);
  queued_.notify_one();
}

void CopyLane::Await(uint64_t ticket) const {
  const auto reached = [&] { return reached_.load(std::memory_order_acquire) >= ticket; };
  Spin(reached);
  if (reached()) return;
  std::unique_lock<std::mutex> lock(mutex_);
  marked_.wait(lock, reached);
}

bool CopyLane::idle() const {
  return done_.load(std::memory_order_acquire) == pushed_.load(std::memory_order_relaxed);
}

void CopyLane::Finish() {
  if (!idle()) Await(Record());
}

double CopyLane::SecondsOf(uint64_t ticket) const {
  const uint64_t reached = reached_.load(std::memory_order_acquire);
  const bool known = ticket <= reached && reached - ticket < TicketTimes::kKept;
  return known ? times_.At(ticket) : std::numeric_limits<double>::quiet_NaN();
}

void CopyLane::Work() {
  uint64_t taken = 0;
  for (;;) {
    Spin([&] { return pushed_.load(std::memory_order_acquire) > taken; });
    Item item;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      queued_.wait(lock, [&] { return stop_ || !items_.empty(); });
      if (items_.empty()) return;
      item = std::move(items_.front());
      items_.pop_front();
    }
    ++taken;
    Execute(item);
    done_.store(taken, std::memory_order_release);
  }
}

void CopyLane::Execute(const Item& item) {
  if (item.to != nullptr) {
    if (!error_.some()) error_.Guard([&] { copier_(item.to, item.from, item.bytes); });
  } else if (item.function) {
    error_.Guard(item.function);
  } else if (item.lane != nullptr) {
    item.lane->Await(item.ticket);
  } else {
    times_.Set(item.ticket, Now());
    {
      // Under the lock, so that no thread misses the notification between its check and its wait.
      std::lock_guard<std::mutex> lock(mutex_);
      reached_.store(item.ticket, std::memory_order_release);
    }
    marked_.notify_all();
  }
}

}  // namespace layrub
