#ifndef LAYRUB_PLACEMENT_IR_SHORT_LIST_HPP_
#define LAYRUB_PLACEMENT_IR_SHORT_LIST_HPP_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <utility>

namespace layrub::placement {

/// A list of plain values that usually has at most one. The first value is stored in the list
/// itself, so that a program about a deep net does not make hundreds of thousands of allocations.
/// Its functions behave as those of std::vector.
template <typename Value>
class ShortList {
 public:
  ShortList() = default;
  ShortList(std::initializer_list<Value> values) { Fill(values.begin(), values.size()); }
  ShortList(const ShortList& other) { Fill(other.begin(), other.size()); }
  ShortList(ShortList&& other) noexcept { Swap(&other); }
  ShortList& operator=(ShortList other) noexcept {
    Swap(&other);
    return *this;
  }
  ~ShortList() = default;

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Value* begin() { return more_ ? more_.get() : &one_; }
  Value* end() { return begin() + size_; }
  const Value* begin() const { return more_ ? more_.get() : &one_; }
  const Value* end() const { return begin() + size_; }
  Value& operator[](size_t i) { return begin()[i]; }
  const Value& operator[](size_t i) const { return begin()[i]; }
  const Value& front() const { return *begin(); }
  const Value& back() const { return *(end() - 1); }

  void push_back(Value value) {
    if (size_ == room_) Grow();
    (more_ ? more_[size_] : one_) = value;
    ++size_;
  }
  void pop_back() { --size_; }
  void insert(Value* before, Value value) {
    const auto at = before - begin();
    push_back(value);
    std::rotate(begin() + at, end() - 1, end());
  }
  void erase(Value* at) {
    std::copy(at + 1, end(), at);
    --size_;
  }
  void clear() { size_ = 0; }

  bool operator==(const ShortList& other) const {
    return std::equal(begin(), end(), other.begin(), other.end());
  }
  bool operator!=(const ShortList& other) const { return !(*this == other); }

 private:
  /// Called once, by a constructor.
  void Fill(const Value* values, size_t count) {
    if (count == 1) one_ = *values;
    if (count > 1) {
      more_ = std::make_unique<Value[]>(count);
      std::copy(values, values + count, more_.get());
      room_ = static_cast<uint32_t>(count);
    }
    size_ = static_cast<uint32_t>(count);
  }
  void Grow() {
    const uint32_t room = std::max(2 * room_, 2u);
    auto more = std::make_unique<Value[]>(room);
    std::copy_n(begin(), size_, more.get());
    more_ = std::move(more);
    room_ = room;
  }
  void Swap(ShortList* other) noexcept {
    std::swap(size_, other->size_);
    std::swap(room_, other->room_);
    std::swap(one_, other->one_);
    std::swap(more_, other->more_);
  }

  uint32_t size_ = 0;
  uint32_t room_ = 1;
  Value one_{};
  std::unique_ptr<Value[]> more_;  ///< all values, if there are more than one
};

}  // namespace layrub::placement

#endif  // LAYRUB_PLACEMENT_IR_SHORT_LIST_HPP_
