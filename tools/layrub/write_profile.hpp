#ifndef TOOLS_LAYRUB_WRITE_PROFILE_HPP_
#define TOOLS_LAYRUB_WRITE_PROFILE_HPP_

#include <cstdint>
#include <string>

#include "caffe/proto/caffe.pb.h"
#include "layrub/placement/cost/machine.hpp"

namespace layrub_tool {

/// How much copies are measured with: more than caches hold.
inline constexpr int64_t kBytesToCopy = int64_t{32} << 20;

/// The device of Caffe::mode(), by its name, with the rates of its arithmetic as measured now.
layrub::Machine MeasureDevice();

/// Trains `net` for some iterations, at a learning rate of 0, and writes what this machine and each
/// operation of the net were found to do to `path`, for --machine.
void WriteProfile(const caffe::NetParameter& net, int iterations, const std::string& path);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_WRITE_PROFILE_HPP_
