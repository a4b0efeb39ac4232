#include "layrub/device/transient.hpp"

#include <algorithm>
#include <utility>

#include "layrub/device/arena.hpp"
#include "layrub/device/failure.hpp"

namespace layrub {

TransientMemory::TransientMemory(std::shared_ptr<Backend> backend) : backend_(std::move(backend)) {}

TransientMemory::~TransientMemory() = default;

void TransientMemory::Join(User*, int64_t bytes, bool patterned) {
  if (arena_ && arena_->bytes() >= bytes && (patterned_ || !patterned)) return;
  EvictTaker();
  bytes = std::max(bytes, this->bytes());
  patterned_ = patterned_ || patterned;
  arena_.reset();  // first: both together may not fit
  arena_ = std::make_unique<Arena>(backend_.get(), Tier::kDevice, bytes, patterned_);
}

void TransientMemory::Leave(User* user) {
  if (taker_ == user) taker_ = nullptr;
}

void TransientMemory::Take(User* user) {
  if (!arena_)
    Fail("The memory that nets share has been freed: there was not enough for the last of them");
  if (taker_ != user) EvictTaker();
  taker_ = user;
}

void TransientMemory::EvictTaker() {
  if (User* const taker = std::exchange(taker_, nullptr)) {
    backend_->Synchronize();
    taker->Evict();
  }
}

int64_t TransientMemory::bytes() const { return arena_ ? arena_->bytes() : 0; }

}  // namespace layrub
