#ifndef LAYRUB_DEVICE_MPI_MPI_LETTERS_HPP_
#define LAYRUB_DEVICE_MPI_MPI_LETTERS_HPP_

#include <mpi.h>

#include <chrono>
#include <functional>
#include <list>
#include <string>
#include <vector>

#include "layrub/device/communicator.hpp"

namespace layrub {

/// Messages, failures and signs of life between the processes of a group. For the thread that calls
/// MPI.
class MpiLetters {
 public:
  /// The messages of a channel have the tag kMessages plus the channel's number.
  enum Tag : int { kFailure = 1, kSignOfLife, kMessages };
  static Tag TagOf(Channel channel) {
    return static_cast<Tag>(kMessages + static_cast<int>(channel));
  }
  static Channel ChannelOf(Tag tag) { return static_cast<Channel>(tag - kMessages); }
  struct Letter {
    int to;
    Tag tag;
    std::string text;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  /// Collective: all processes must construct theirs at the same time. Calls `received` for each
  /// message and failure that arrives.
  explicit MpiLetters(std::function<void(int from, Tag tag, std::string text)> received);

  /// Moves the letters out of the list and starts to send them, in this order.
  void Send(std::list<Letter>* letters);
  /// Continues sending, and receives what has arrived. Returns whether there was anything but signs
  /// of life. Once a second it sends a sign of life to rank 0, and rank 0 sends one to all others.
  /// If none arrives for RankCommunicator::kMaxSilence seconds, it ends all processes.
  bool Serve();
  /// Whether all letters have been sent.
  bool sent() const { return sending_.empty(); }

 private:
  bool Receive();
  void SendSignOfLife();
  void AbortBecauseOfSilent(int silent);

  const std::function<void(int, Tag, std::string)> received_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  std::vector<char> hosts_;  ///< by rank, MPI_MAX_PROCESSOR_NAME characters each
  std::list<Letter> sending_;
  std::vector<int> silence_;  ///< by rank: seconds since anything arrived from there
  std::chrono::steady_clock::time_point next_sign_;
};

}  // namespace layrub

#endif  // LAYRUB_DEVICE_MPI_MPI_LETTERS_HPP_
