#ifndef LAYRUB_BASE_STANDARD_STREAMS_HPP_
#define LAYRUB_BASE_STANDARD_STREAMS_HPP_

#include <string>

namespace layrub {

/// For programs, once, before anything else. A file that the program opens never takes the place of
/// a standard stream that was closed when it began. SIGPIPE is ignored: to write to a pipe whose
/// reader has gone is an error, and does not end the program. And where not all of the standard
/// output could be written, the program says so in one sentence at its end, "<program>: cannot
/// write ...", and exits with 1, whatever it was to exit with.
void GuardStandardStreams(const std::string& program);

}  // namespace layrub

#endif  // LAYRUB_BASE_STANDARD_STREAMS_HPP_
