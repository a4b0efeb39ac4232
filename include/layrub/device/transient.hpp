#ifndef LAYRUB_DEVICE_TRANSIENT_HPP_
#define LAYRUB_DEVICE_TRANSIENT_HPP_

#include <cstdint>
#include <memory>

#include "layrub/device/backend.hpp"

namespace layrub {

class Arena;

/// Device memory for values that live no longer than one pass. Users that never run at the same
/// time, such as a training net and its test nets, may share it. The user that begins a pass takes
/// the memory over, and the values of the user before are lost. Not thread safe.
class TransientMemory {
 public:
  class User {
   public:
    virtual ~User() = default;
    /// Called when another user takes the memory over, or when it moves: none of this user's values
    /// are in it any more.
    virtual void Evict() = 0;
  };

  explicit TransientMemory(std::shared_ptr<Backend> backend);
  ~TransientMemory();
  TransientMemory(const TransientMemory&) = delete;
  TransientMemory& operator=(const TransientMemory&) = delete;

  /// Announces that `user` needs `bytes`, patterned or not (see Arena). Allocates the memory anew
  /// if it is too small. Throws std::bad_alloc when the backend does not have enough.
  void Join(User* user, int64_t bytes, bool patterned);
  /// Must be called before `user` is destroyed.
  void Leave(User* user);
  /// Gives the memory to `user`. Evicts the user before, if it is another one.
  void Take(User* user);

  Arena& arena() { return *arena_; }
  const Arena& arena() const { return *arena_; }
  /// Bytes allocated: the most that any user that joined asked for.
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
