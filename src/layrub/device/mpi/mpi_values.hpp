#ifndef LAYRUB_DEVICE_MPI_MPI_VALUES_HPP_
#define LAYRUB_DEVICE_MPI_MPI_VALUES_HPP_

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "layrub/device/communicator.hpp"

namespace layrub {

struct MpiTask {
  enum class Kind : uint8_t { kBroadcast, kSum } kind;
  std::vector<Values> values;
};

/// Broadcasts and sums over the processes of a group. For the thread that calls MPI.
class MpiValues {
 public:
  /// Returns when the requests are done, or throws. `all_are_here`: all processes have begun the
  /// task, so values flow without waiting for anyone.
  using Await = std::function<void(std::vector<MPI_Request>* requests, bool all_are_here)>;

  /// Collective: all processes must construct theirs at the same time.
  explicit MpiValues(Await await);

  /// Does the task together with all other processes. The values of this process are on `device`
  /// (null: in memory of the host). Sums are added in the order of ranks. Throws GroupFailed if the
  /// tasks of the processes do not match, and whatever Await throws.
  void Do(const MpiTask& task, Device* device);

  MPI_Comm comm() const { return comm_; }

 private:
  template <typename Number>
  struct Segment {
    Number* first;
    int64_t count;
  };

  void CheckTasksMatch(const MpiTask& task);
  void AwaitRequests() { await_(&requests_, true); }
  template <typename Number>
  void DoSameElement(MpiTask::Kind kind, const std::vector<Values>& values);
  template <typename Number>
  void DoPiece(MpiTask::Kind kind, const std::vector<Segment<Number>>& piece, int64_t count);
  template <typename Number>
  void Exchange(MpiTask::Kind kind, Number* numbers, int64_t count);
  template <typename Number>
  void SumPiece(Number* numbers, int64_t count);
  template <typename Number>
  void AddInOrder(const Number* received, int64_t part, Number* sum, int64_t count) const;
  void Copy(void* to, const void* from, int64_t bytes) const;

  const Await await_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  Device* device_ = nullptr;
  std::vector<MPI_Request> requests_;
  std::vector<char> gathered_, parts_;  ///< a piece's values, and parts of it sent by others
};

}  // namespace layrub

#endif  // LAYRUB_DEVICE_MPI_MPI_VALUES_HPP_
