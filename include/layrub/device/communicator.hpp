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

/// `count` numbers one after the other, in memory of the member's device.
struct Values {
  void* first = nullptr;
  int64_t count = 0;
  Element element = Element::kFloat;
};

/// Why a group has ended: what() is the reason that was given to Communicator::Abort.
class GroupFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The seconds of Communicator::Receive that never end.
inline constexpr double kForever = std::numeric_limits<double>::infinity();

/// What a message is about. Those of one channel do not wait for those of another.
enum class Channel : uint8_t {
  kControl,  ///< what members are to do
  kValues,   ///< parts of the arrays of a net that is divided among them
};

/// A member of a group of devices that train one net. All members call Broadcast and Sum in the
/// same order with values of the same counts and elements; the group fails when they do not.
///
/// Threads: each member is driven by one thread of its own; Abort may be called from any thread.
/// Calls that queue return at once; the work is done beside what the member computes, in the order
/// of the calls. Every call but Abort throws GroupFailed once the group has failed.
class Communicator {
 public:
  /// Waits until the group no longer touches this member's values. What it had queued and the
  /// others have not is an Abort.
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Where the member's values are; null: in the memory of the process.
  virtual Device* device() const = 0;

  /// Queues, after what the member has computed so far: the values of all members become those of
  /// rank 0.
  virtual void Broadcast(const std::vector<Values>& values) = 0;
  /// Queues, after what the member has computed so far: the values of all members become their
  /// sum, the same bits in each of them.
  virtual void Sum(const std::vector<Values>& values) = 0;
  /// What the member computes from now on comes after all that it has queued here.
  virtual void Wait() = 0;
  /// As Wait, and returns when all members' values are exchanged.
  virtual void Synchronize() = 0;

  /// Gives member `to`, another one, a message, which comes after those that this member has sent
  /// it before on the same channel. Returns at once.
  virtual void Send(int to, std::string message, Channel channel) = 0;
  void Send(int to, std::string message) { Send(to, std::move(message), Channel::kControl); }
  /// The oldest message of member `from` on the channel that has not been received; waits for it at
  /// most for `seconds`. Empty: none came in that time.
  virtual std::optional<std::string> Receive(int from, double seconds, Channel channel) = 0;
  std::optional<std::string> Receive(int from, double seconds) {
    return Receive(from, seconds, Channel::kControl);
  }
  std::string Receive(int from, Channel channel = Channel::kControl) {
    return *Receive(from, kForever, channel);
  }

  /// Ends the group: nobody waits any longer, and when it returns no values are touched any more.
  /// The first reason counts.
  virtual void Abort(const std::string& reason) = 0;
};

using Group = std::vector<std::unique_ptr<Communicator>>;

/// A group of threads of this process, one for each of `devices` (null: the CPU), by rank. Values
/// go through host memory and are summed in the order of ranks by one more thread, so that each run
/// gives the same bits.
Group ConnectThreads(const std::vector<Device*>& devices);
/// A group of threads of this process, one for each of `gpus`, that exchanges values by NCCL: on a
/// stream of its own on each GPU; but for Synchronize, no call waits for it on the host but each
/// member's first, until they are connected. NCCL's library is opened here, and takes its memory of
/// the GPUs, which their DeviceUsage tells: the group comes before plans. It is empty where there
/// is no NCCL, and `*why_not` a sentence that says what to do about it.
Group ConnectGpus(const std::vector<Device*>& gpus, std::string* why_not);
/// Whether this build and this machine have NCCL.
bool HasNccl();
/// The fastest that there is for `devices`: several GPUs by NCCL, or else, which is said in the
/// log, through host memory.
Group Connect(const std::vector<Device*>& devices);

}  // namespace layrub

#endif  // LAYRUB_DEVICE_COMMUNICATOR_HPP_
