#ifndef LAYRUB_DEVICE_MPI_CONNECT_HPP_
#define LAYRUB_DEVICE_MPI_CONNECT_HPP_

#include <string>

namespace layrub {
class RankCommunicator;
}

/// The entry point of liblayrub_mpi.so; see layrub::ConnectRanks. The caller owns the result.
extern "C" __attribute__((visibility("default"))) layrub::RankCommunicator* layrub_connect_mpi(
    std::string* why_not);

#endif  // LAYRUB_DEVICE_MPI_CONNECT_HPP_
