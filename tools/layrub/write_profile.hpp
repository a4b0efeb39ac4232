#ifndef TOOLS_LAYRUB_WRITE_PROFILE_HPP_
#define TOOLS_LAYRUB_WRITE_PROFILE_HPP_

#include <string>

#include "caffe/proto/caffe.pb.h"

namespace layrub_tool {

/// Trains `net` for some iterations, at a learning rate of 0, and writes what this machine and each
/// operation of the net were found to do to `path`, for --machine.
void WriteProfile(const caffe::NetParameter& net, int iterations, const std::string& path);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_WRITE_PROFILE_HPP_
