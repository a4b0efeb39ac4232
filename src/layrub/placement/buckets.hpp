#ifndef LAYRUB_PLACEMENT_BUCKETS_HPP_
#define LAYRUB_PLACEMENT_BUCKETS_HPP_

#include <cstddef>
#include <span>
#include <vector>

namespace layrub {

/// A list of values for each of the keys 0 .. size() - 1, in two flat arrays: plans of deep nets
/// have hundreds of thousands of short lists.
template <typename Value>
class Buckets {
 public:
  Buckets() = default;
  /// `fill(add)` calls add(key, value) for all values; those of one key keep their order. It is
  /// called twice, to count and to fill, and says the same both times.
  template <typename Fill>
  Buckets(size_t keys, Fill fill) : first_(keys + 1) {
    fill([this](size_t key, const Value&) { ++first_[key + 1]; });
    for (size_t key = 0; key < keys; ++key) first_[key + 1] += first_[key];
    values_.resize(first_.back());
    std::vector<size_t> next(first_.begin(), first_.end() - 1);
    fill([&](size_t key, const Value& value) { values_[next[key]++] = value; });
  }

  size_t size() const { return first_.empty() ? 0 : first_.size() - 1; }
  std::span<const Value> operator[](size_t key) const {
    return {values_.data() + first_[key], first_[key + 1] - first_[key]};
  }

 private:
  std::vector<Value> values_;
  std::vector<size_t> first_;  ///< by key, and one more: where its values begin
};

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_BUCKETS_HPP_
