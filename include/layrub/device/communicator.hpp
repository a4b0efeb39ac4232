#ifndef LAYRUB_DEVICE_COMMUNICATOR_HPP_
#define LAYRUB_DEVICE_COMMUNICATOR_HPP_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "layrub/device/device.hpp"

namespace layrub {

enum class Element : uint8_t { kFloat, kDouble };

/// `count` consecutive numbers in memory of the member's device.
struct Values {
  void* first = nullptr;
  int64_t count = 0;
  Element element = Element::kFloat;
};

template <typename Number>
Values ValuesOf(Number* first, int64_t count) {
  const bool single = sizeof(Number) == sizeof(float);
  return {first, count, single ? Element::kFloat : Element::kDouble};
}

/// Values that go to another member of a group, or come from it.
struct Parcel {
  int member = 0;
  Values values;
};

/// Thrown when a group has ended. what() is the reason that was given to Communicator::Abort.
class GroupFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// For `seconds` of Communicator::Receive: wait without limit.
inline constexpr double kForever = std::numeric_limits<double>::infinity();

/// What a message is about. Messages of one channel do not wait for those of the other.
enum class Channel : uint8_t {
  kControl,  ///< what members are to do
  kValues,   ///< parts of the arrays of a net that is divided among them
};

/// A member of a group of devices that train one net. All members must call Broadcast and Sum in
/// the same order, with values of the same counts and elements; otherwise the group fails. Members
/// that exchange parcels must also call Exchange in that order.
///
/// Threads: each member is driven by one thread of its own; Abort may be called from any thread.
/// Calls that queue work return at once. The work runs beside what the member computes, in the
/// order of the calls. Once the group has failed, every call but Abort throws GroupFailed.
class Communicator {
 public:
  /// Waits until the group no longer touches this member's values. Aborts the group if this member
  /// has queued work that the others have not.
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// The device that has the member's values; null: they are in the memory of the process.
  virtual Device* device() const = 0;

  /// Queues, after what the member has computed so far: the values of rank 0 replace those of all
  /// members.
  virtual void Broadcast(const std::vector<Values>& values) = 0;
  /// Queues, after what the member has computed so far: the sum of all members' values replaces
  /// them. Every member gets the same bits.
  virtual void Sum(const std::vector<Values>& values) = 0;
  /// Queues, after what the member has computed so far: each of `sent` goes to its member, and each
  /// of `received` comes from its member. Between two members, the first parcel sent becomes the
  /// first one received, and so on; both have the same count and element. This default does all at
  /// once, by ExchangeByMessages.
  virtual void Exchange(const std::vector<Parcel>& sent, const std::vector<Parcel>& received);
  /// Makes what the member computes from now on wait for everything that it has queued here.
  virtual void Wait() = 0;
  /// As Wait, and blocks until all members' values are exchanged.
  virtual void Synchronize() = 0;

  /// Sends a message to member `to`, another one. It arrives after earlier messages from this
  /// member on the same channel. Returns at once.
  virtual void Send(int to, std::string message, Channel channel) = 0;
  void Send(int to, std::string message) { Send(to, std::move(message), Channel::kControl); }
  /// Returns the oldest message from member `from` on the channel that has not been received yet.
  /// Waits for one for at most `seconds`; returns nothing if none came.
  virtual std::optional<std::string> Receive(int from, double seconds, Channel channel) = 0;
  std::optional<std::string> Receive(int from, double seconds) {
    return Receive(from, seconds, Channel::kControl);
  }
  std::string Receive(int from, Channel channel = Channel::kControl) {
    return *Receive(from, kForever, channel);
  }

  /// Ends the group: no member waits any longer, and when this returns no values are touched any
  /// more. Only the first reason counts.
  virtual void Abort(const std::string& reason) = 0;
};

/// Communicator::Exchange through messages of Channel::kValues, for values in memory of `device`
/// (null: of the process). Waits until they have arrived. Throws GroupFailed.
void ExchangeByMessages(Communicator* member, Device* device, const std::vector<Parcel>& sent,
                        const std::vector<Parcel>& received);

using Group = std::vector<std::unique_ptr<Communicator>>;

/// Makes a group of threads of this process, one for each of `devices` (null: the CPU), by rank.
/// Values go through host memory. One more thread sums them in the order of ranks, so that each run
/// gives the same bits.
Group ConnectThreads(const std::vector<Device*>& devices);
/// Makes a group of threads of this process, one for each of `gpus`, that exchanges values by NCCL
/// on a separate stream of each GPU. Calls do not wait for NCCL on the host, except Synchronize,
/// and each member's first call, which waits until the members are connected. Opens NCCL's library.
/// NCCL takes memory of the GPUs, which is part of their DeviceUsage, so make the group before
/// plans. Without NCCL the group is empty, and `*why_not` is a sentence that says what to do about
/// it.
Group ConnectGpus(const std::vector<Device*>& gpus, std::string* why_not);
/// Whether this build and this machine have NCCL.
bool HasNccl();
/// Makes the fastest group that is possible for `devices`: by NCCL for several GPUs, otherwise
/// through host memory. Logs a warning if NCCL is missing for GPUs.
Group Connect(const std::vector<Device*>& devices);

}  // namespace layrub

#endif  // LAYRUB_DEVICE_COMMUNICATOR_HPP_
