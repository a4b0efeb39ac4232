#include "caffe/kernels/exchange/device_sum.hpp"

#include <algorithm>

#include "caffe/kernels/exchange/boxes.hpp"

namespace caffe {

using layrub::Parcel;

DeviceSum::DeviceSum(const std::vector<layrub::Level>& levels, int64_t most_in_flight)
    : most_in_flight_(most_in_flight) {
  for (const layrub::Level& level : levels) {
    const bool part = level.share == layrub::Share::kPart;
    devices_ *= 2;
    parts_ *= part ? 2 : 1;
    summed_ = 2 * summed_ + (part ? 1 : 0);
  }
}

int64_t DeviceSum::Quota(int64_t count) const {
  return std::min((count + parts_ - 1) / parts_, most_in_flight_ / parts_);
}

int64_t DeviceSum::workspace(int64_t count) const { return (parts_ - 1) * Quota(count); }

template <typename Dtype>
void DeviceSum::Run(const DeviceContext& context, layrub::Communicator* communicator, int64_t count,
                    Dtype* numbers, Dtype* workspace) const {
  if (nothing() || count == 0) return;
  if (parts_ == devices_ && context.gpu == (communicator->device() != nullptr)) {
    const std::vector<layrub::Values> all{layrub::ValuesOf(numbers, count)};
    communicator->Sum(all);
    communicator->Wait();
    return;
  }
  const int64_t quota = Quota(count), piece = parts_ * quota;
  for (int64_t begin = 0; begin < count; begin += piece) {
    RunRound(context, communicator, std::min(piece, count - begin), quota, numbers + begin,
             workspace);
  }
}

/// Each of the members that add up gets a range of `quota` numbers from all of them, adds, and
/// sends the sums to all.
template <typename Dtype>
void DeviceSum::RunRound(const DeviceContext& context, layrub::Communicator* communicator,
                         int64_t count, int64_t quota, Dtype* numbers, Dtype* workspace) const {
  const int rank = communicator->rank();
  std::vector<int> members;
  for (int other = 0; other < devices_; ++other) {
    if (((other ^ rank) & ~summed_) == 0) members.push_back(other);
  }
  const auto own = std::find(members.begin(), members.end(), rank) - members.begin();
  const auto range_of = [&](int64_t member) {
    const int64_t begin = std::min(member * quota, count);
    return layrub::ValuesOf(numbers + begin, std::min(quota, count - begin));
  };
  const layrub::Values range = range_of(own);
  std::vector<Parcel> ranges, summands, sums;  // of others; of the own range
  for (int64_t i = 0; i < parts_; ++i) {
    if (i == own) continue;
    const int member = members[static_cast<size_t>(i)];
    const layrub::Values values = range_of(i);
    if (values.count > 0) ranges.push_back({member, values});
    if (range.count == 0) continue;
    const auto place = static_cast<int64_t>(summands.size());
    summands.push_back({member, layrub::ValuesOf(workspace + place * quota, range.count)});
    sums.push_back({member, range});
  }
  ExchangeOn(context, communicator, ranges, summands);
  kernels::AddInOrder(context, range.count, parts_, static_cast<int>(own), workspace, quota,
                      static_cast<Dtype*>(range.first));
  ExchangeOn(context, communicator, sums, ranges);
}

template void DeviceSum::Run(const DeviceContext&, layrub::Communicator*, int64_t, float*,
                             float*) const;
template void DeviceSum::Run(const DeviceContext&, layrub::Communicator*, int64_t, double*,
                             double*) const;

}  // namespace caffe
