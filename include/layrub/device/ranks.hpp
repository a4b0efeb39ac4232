#ifndef LAYRUB_DEVICE_RANKS_HPP_
#define LAYRUB_DEVICE_RANKS_HPP_

#include <memory>
#include <string>

#include "layrub/device/communicator.hpp"

// Groups of the processes that mpirun has started together, on one or several machines.

namespace layrub {

/// This process's member of a group in which each process is one member. Values go through host
/// memory and are summed in the order of ranks, as in ConnectThreads, so that both give the same
/// bits.
///
/// The thread that exchanges values gives a sign of life every second. If a process of the group
/// does not run for kMaxSilence, for instance because a debugger has stopped it or its machine is
/// lost, all others end, with a line on stderr that names it.
class RankCommunicator : public Communicator {
 public:
  static constexpr int kMaxSilence = 7;  ///< seconds

  /// The rank of this process among those of the group on the same machine, and their number.
  virtual int local_rank() const = 0;
  virtual int local_size() const = 0;
  /// How many of the processes on this machine, this one included, may run on the same cores as
  /// this one.
  virtual int sharers() const = 0;
  /// The number of cores of this machine on which none of these processes may run.
  virtual int idle_cores() const = 0;

  /// Sets the device whose memory has the member's values (null, the default: memory of the
  /// process). Call it before the first values are exchanged.
  virtual void UseDevice(Device* device) = 0;
};

/// Whether mpirun (or srun with PMIx) has started this process together with others, according to
/// the environment.
bool StartedByMpi();
/// Whether that is so and this process does not have rank 0.
bool StartedAsFollower();

/// Joins the group of all processes that were started together. Every one of them must call this,
/// once. Opens liblayrub_mpi.so, the library beside libcaffe through which MPI is used. Returns
/// null if that is missing or cannot be used; then `*why_not` is a sentence. The destructor of the
/// result waits until all processes have reached theirs, unless the group has failed.
std::unique_ptr<RankCommunicator> ConnectRanks(std::string* why_not);

}  // namespace layrub

#endif  // LAYRUB_DEVICE_RANKS_HPP_
