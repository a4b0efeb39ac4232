#ifndef CAFFE_SOLVERS_STATE_FILE_HPP_
#define CAFFE_SOLVERS_STATE_FILE_HPP_

#include <cstdint>
#include <string>
#include <vector>

#include "caffe/proto/caffe.pb.h"
#include "caffe/util/hdf5.hpp"

namespace caffe {

// What a solver state says, and whether it is right. A head is a state without its history.

/// The CRC-32 of a head, without its field for that, with which that of the history goes on: of
/// each blob in turn its shape, where the head has_checksum, and its values, as floats or doubles.
uint32_t HeadCrc32(const SolverState& head);

uint32_t ShapeCrc32(const vector<int>& shape, uint32_t crc);

/// Takes the history out of `state`.
SolverState TakeHead(const SolverState& state);
/// Goes on with `crc` over the history.
uint32_t HistoryCrc32(const SolverState& state, uint32_t crc);

#ifdef USE_HDF5
/// Aborts where the file holds no solver state.
SolverState LoadHead(hid_t file, const string& state_file);
uint32_t HistoryCrc32(hid_t history, const SolverState& head, uint32_t crc);
#endif

/// When it was written, in nanoseconds since 1970: as it says or, where it does not, its file. Of a
/// binary file, little more than the head is read.
int64_t WrittenAt(const string& state_file);

/// What is wrong with the state, in a sentence; "" where nothing is. `crc32` is that of head and
/// history as they were read.
string StateFault(const string& state_file, const SolverState& head, uint32_t crc32);
/// What is wrong with the file of weights that it names; "" where nothing is known to be.
string WeightsFault(const string& state_file, const SolverState& head);

}  // namespace caffe

#endif  // CAFFE_SOLVERS_STATE_FILE_HPP_
