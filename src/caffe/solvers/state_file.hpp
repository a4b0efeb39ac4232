#ifndef CAFFE_SOLVERS_STATE_FILE_HPP_
#define CAFFE_SOLVERS_STATE_FILE_HPP_

#include <cstdint>
#include <string>
#include <vector>

#include "caffe/proto/caffe.pb.h"
#include "caffe/util/hdf5.hpp"

namespace caffe {

// Reading and verifying solver states. A head is a state without its history.

/// Returns the CRC-32 of a head, without the field that stores it. The CRC continues over the
/// history: for each blob in turn its shape, if the head has has_checksum, and its values, as
/// floats or doubles.
uint32_t HeadCrc32(const SolverState& head);

uint32_t ShapeCrc32(const vector<int>& shape, uint32_t crc);

/// Returns `state` without its history.
SolverState TakeHead(const SolverState& state);
/// Continues `crc` over the history.
uint32_t HistoryCrc32(const SolverState& state, uint32_t crc);

#ifdef USE_HDF5
/// Aborts if the file holds no solver state.
SolverState LoadHead(hid_t file, const string& state_file);
uint32_t HistoryCrc32(hid_t history, const SolverState& head, uint32_t crc);
#endif

/// Returns the time at which a state was written, in nanoseconds since 1970: as stored in it,
/// otherwise the file's time. Reads little more than the head of a binary file.
int64_t WrittenAt(const string& state_file);

/// Returns a sentence about what is wrong with the state, or "". `crc32` is that of head and
/// history as they were read.
string StateFault(const string& state_file, const SolverState& head, uint32_t crc32);
/// Returns a sentence about what is wrong with the weights file that the state names, or "" if no
/// fault is found.
string WeightsFault(const string& state_file, const SolverState& head);

}  // namespace caffe

#endif  // CAFFE_SOLVERS_STATE_FILE_HPP_
