#include "layrub/device/memory.hpp"

#include <algorithm>

namespace layrub {

Memory::Memory(Backend* backend, Tier tier, int64_t own, int64_t bytes, bool patterned,
               TransientMemory* rest)
    : own_(backend, tier, own, patterned), rest_(rest), bytes_(bytes) {}

char* Memory::at(int64_t offset) const {
  return offset < own_.bytes() || rest_ == nullptr ? own_.at(offset)
                                                   : rest_->arena().at(offset - own_.bytes());
}

bool Memory::Contains(int64_t begin, int64_t size) const {
  return begin >= 0 && size >= 0 && begin <= bytes_ && size <= bytes_ - begin &&
         (begin >= own_.bytes() || begin + size <= own_.bytes());
}

void Memory::Restore(int64_t begin, int64_t end) {
  const int64_t own = own_.bytes();
  if (begin < own) own_.Restore(begin, std::min(end, own));
  if (end > own) rest_->arena().Restore(std::max(begin, own) - own, end - own);
}

int64_t Memory::EndOfChanges(int64_t begin, int64_t end) const {
  const int64_t own = own_.bytes();
  if (end > own) {
    const int64_t first = std::max(begin, own);
    const int64_t changed = own + rest_->arena().EndOfChanges(first - own, end - own);
    if (changed > first || begin >= own) return changed;
  }
  return own_.EndOfChanges(begin, std::min(end, own));
}

}  // namespace layrub
