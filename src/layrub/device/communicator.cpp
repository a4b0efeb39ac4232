#include "layrub/device/communicator.hpp"

#include <glog/logging.h>

#include <cstring>

namespace layrub {
namespace {

size_t BytesOf(const Values& values) {
  return static_cast<size_t>(values.count) *
         (values.element == Element::kFloat ? sizeof(float) : sizeof(double));
}

void Copy(Device* device, void* to, const void* from, size_t bytes) {
  if (device != nullptr) {
    device->Copy(to, from, static_cast<int64_t>(bytes));
  } else {
    std::memcpy(to, from, bytes);
  }
}

}  // namespace

void ExchangeByMessages(Communicator* member, Device* device, const std::vector<Parcel>& sent,
                        const std::vector<Parcel>& received) {
  for (const auto& [to, values] : sent) {
    std::string message(BytesOf(values), '\0');
    Copy(device, message.data(), values.first, message.size());
    member->Send(to, std::move(message), Channel::kValues);
  }
  for (const auto& [from, values] : received) {
    const std::string message = member->Receive(from, Channel::kValues);
    CHECK_EQ(message.size(), BytesOf(values))
        << "Members of a group exchange different values: their nets differ.";
    Copy(device, values.first, message.data(), message.size());
  }
}

void Communicator::Exchange(const std::vector<Parcel>& sent, const std::vector<Parcel>& received) {
  ExchangeByMessages(this, device(), sent, received);
}

}  // namespace layrub
