#ifndef TOOLS_LAYRUB_WRITE_PROFILE_HPP_
#define TOOLS_LAYRUB_WRITE_PROFILE_HPP_

#include <cstdint>
#include <string>

#include "caffe/proto/caffe.pb.h"
#include "layrub/placement/cost/machine.hpp"

namespace layrub_tool {

/// Size of the copies that are measured: larger than the caches.
inline constexpr int64_t kBytesToCopy = int64_t{32} << 20;

/// The device of Caffe::mode(): its name, and the measured rates of its arithmetic.
layrub::Machine MeasureDevice();

/// Trains `net` for `iterations` iterations with learning rate 0, measures this machine and each
/// operation of the net, and writes the profile to `path`, for --machine.
void WriteProfile(const caffe::NetParameter& net, int iterations, const std::string& path);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_WRITE_PROFILE_HPP_
