#ifndef LAYRUB_BASE_STANDARD_STREAMS_HPP_
#define LAYRUB_BASE_STANDARD_STREAMS_HPP_

#include <string>

namespace layrub {

/// Programs call this once, before anything else. Afterwards:
///
/// - A file that the program opens never takes the place of a standard stream that was closed when
///   it began.
/// - SIGPIPE is ignored: writing to a pipe whose reader has gone is an error and does not end the
///   program.
/// - If not all of the standard output could be written, the program prints "<program>: cannot
///   write ..." at its end and exits with 1, whatever its exit code would have been.
void GuardStandardStreams(const std::string& program);

}  // namespace layrub

#endif  // LAYRUB_BASE_STANDARD_STREAMS_HPP_
