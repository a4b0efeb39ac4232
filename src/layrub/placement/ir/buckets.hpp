#ifndef LAYRUB_PLACEMENT_IR_BUCKETS_HPP_
#define LAYRUB_PLACEMENT_IR_BUCKETS_HPP_

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace layrub::placement {

/// A list of values for each of the keys 0 .. size() - 1, in two flat arrays: plans of deep nets
/// have hundreds of thousands of short lists.
template <typename Value>
class Buckets {
 public:
  Buckets() = default;
  /// `fill(add)` calls add(key, value) for all values; those of one key keep their order. It is
  /// called twice, to count and to fill, and must make the same calls both times.
  template <typename Fill>
  Buckets(size_t keys, Fill fill) : first_(keys + 2) {
    fill([this](size_t key, const Value&) { ++first_[key + 2]; });
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    values_.resize(first_.back());
    // While values are filled in, first_[key + 1] is the place of the next value of `key`.
    fill([this](size_t key, const Value& value) { values_[first_[key + 1]++] = value; });
  }

  size_t size() const { return first_.empty() ? 0 : first_.size() - 2; }
  std::span<const Value> operator[](size_t key) const {
    return {values_.data() + first_[key], first_[key + 1] - first_[key]};
  }
  std::span<Value> operator[](size_t key) {
    return {values_.data() + first_[key], first_[key + 1] - first_[key]};
  }

 private:
  std::vector<Value> values_;
  std::vector<uint32_t> first_;  ///< by key, plus one entry at the end: where its values begin
};

}  // namespace layrub::placement

#endif  // LAYRUB_PLACEMENT_IR_BUCKETS_HPP_
