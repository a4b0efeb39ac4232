#ifndef TOOLS_SHARED_START_HPP_
#define TOOLS_SHARED_START_HPP_

// The start of the small programs that Caffe has besides `caffe`.
#include <glog/logging.h>

#include <iostream>
#include <optional>
#include <string>

#include "caffe/common.hpp"
#include "caffe/util/blas_memory.hpp"
#include "caffe/util/failure.hpp"
#include "layrub/base/standard_streams.hpp"

DECLARE_bool(help);

namespace tools {

/// The text that --help prints, and that is printed if the number of arguments is wrong.
struct Help {
  const char* name;
  const char* arguments;  ///< "IN OUT"
  const char* text;       ///< what the program does, and its flags
};

/// Parses flags and sets up logging. Returns an exit code if the program should end now: 0 after
/// --help, 1 if there are fewer arguments than `least` or more than `most`.
inline std::optional<int> Start(int* argc, char*** argv, const Help& help, int least, int most) {
  layrub::GuardStandardStreams(help.name);
  caffe::FitBlasIntoAddressSpace(*argv);
  FLAGS_alsologtostderr = true;
  // Programs that read logs expect glog's older prefix, without the year.
  gflags::SetCommandLineOption("log_year_in_prefix", "false");
  gflags::ParseCommandLineNonHelpFlags(argc, argv, true);
  const int given = *argc - 1;
  if (FLAGS_help || given < least || given > most) {
    (FLAGS_help ? std::cout : std::cerr) << "usage: " << help.name << " " << help.arguments << "\n"
                                         << help.text << "\n";
    return FLAGS_help ? 0 : 1;
  }
  caffe::NoLogFilesByDefault();
  caffe::GlobalInit(argc, argv);
  caffe::ExitOnFailure(1);
  return std::nullopt;
}

}  // namespace tools

#endif  // TOOLS_SHARED_START_HPP_
