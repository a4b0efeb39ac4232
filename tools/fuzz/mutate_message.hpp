#ifndef TOOLS_FUZZ_MUTATE_MESSAGE_HPP_
#define TOOLS_FUZZ_MUTATE_MESSAGE_HPP_

#include <google/protobuf/message.h>

#include <random>
#include <string>
#include <vector>

namespace layrub_fuzz {

/// Changes one field somewhere in `message`: sets, clears, copies or swaps it. Numbers are often
/// those at which sizes overflow; strings are `words` or others of the message.
void MutateMessage(const std::vector<std::string>& words, std::mt19937* random,
                   google::protobuf::Message* message);

}  // namespace layrub_fuzz

#endif  // TOOLS_FUZZ_MUTATE_MESSAGE_HPP_
