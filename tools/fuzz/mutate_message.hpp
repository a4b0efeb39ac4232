#ifndef TOOLS_FUZZ_MUTATE_MESSAGE_HPP_
#define TOOLS_FUZZ_MUTATE_MESSAGE_HPP_

#include <google/protobuf/message.h>

#include <random>
#include <string>
#include <vector>

namespace layrub_fuzz {

/// Changes one field somewhere in `message`: sets, clears, copies or swaps it. New numbers are
/// often those at which sizes overflow. New strings are from `words` or from elsewhere in the
/// message.
void MutateMessage(const std::vector<std::string>& words, std::mt19937* random,
                   google::protobuf::Message* message);

}  // namespace layrub_fuzz

#endif  // TOOLS_FUZZ_MUTATE_MESSAGE_HPP_
