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

/// What processes of a group tell each other besides values. For the thread that calls MPI.
class MpiLetters {
 public:
  /// The messages of a channel have the tag kMessages and its number.
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

  /// All processes make theirs at the same time. `received` is called for each message and failure.
  explicit MpiLetters(std::function<void(int from, Tag tag, std::string text)> received);

  /// Begins to send letters, in this order, and takes them out of the list.
  void Send(std::list<Letter>* letters);
  /// Goes on with what is sent and receives what has come. Whether there was anything but signs of
  /// life. Once a second it gives one to rank 0, as that does to all others, and ends all where
  /// none has come for RankCommunicator::kMostSilence.
  bool Serve();
  /// Whether all letters are on their way.
  bool sent() const { return sending_.empty(); }

 private:
  bool Receive();
  void GiveSignOfLife();
  void EndAllFor(int silent);

  const std::function<void(int, Tag, std::string)> received_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  std::vector<char> hosts_;  ///< by rank, MPI_MAX_PROCESSOR_NAME characters each
  std::list<Letter> sending_;
  std::vector<int> silence_;  ///< by rank: seconds since anything came from there
  std::chrono::steady_clock::time_point next_sign_;
};

}  // namespace layrub

#endif  // LAYRUB_DEVICE_MPI_MPI_LETTERS_HPP_
