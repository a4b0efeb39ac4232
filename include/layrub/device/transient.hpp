#ifndef LAYRUB_DEVICE_TRANSIENT_HPP_
#define LAYRUB_DEVICE_TRANSIENT_HPP_

#include <cstdint>
#include <memory>

#include "layrub/device/backend.hpp"

namespace layrub {

class Arena;

/// Device memory for values that live no longer than one pass. Users that never run at the same
/// time, a training net and its test nets, may share it: whoever begins a pass takes it over, and
/// what the one before had there is gone. Not thread safe.
class TransientMemory {
 public:
  class User {
   public:
    virtual ~User() = default;
    /// Another user takes the memory over, or it moves: nothing of this user's is in it any more.
    virtual void Evict() = 0;
  };

  explicit TransientMemory(std::shared_ptr<Backend> backend);
  ~TransientMemory();
  TransientMemory(const TransientMemory&) = delete;
  TransientMemory& operator=(const TransientMemory&) = delete;

  /// `user` needs `bytes`, patterned or not (see Arena). Memory that is too small is allocated
  /// anew. Throws std::bad_alloc when the backend has not enough.
  void Join(User* user, int64_t bytes, bool patterned);
  /// Before `user` ends.
  void Leave(User* user);
  /// From now on the memory is `user`'s; evicts the one before, if it is another.
  void Take(User* user);

  Arena& arena() { return *arena_; }
  const Arena& arena() const { return *arena_; }
  /// Bytes allocated: what the most demanding of those who joined asked for.
  int64_t bytes() const;
  const std::shared_ptr<Backend>& backend() const { return backend_; }

 private:
  void EvictTaker();

  const std::shared_ptr<Backend> backend_;
  std::unique_ptr<Arena> arena_;
  bool patterned_ = false;
  User* taker_ = nullptr;
};

}  // namespace layrub

#endif  // LAYRUB_DEVICE_TRANSIENT_HPP_
