#ifndef CAFFE_UTIL_TEXT_FILE_HPP_
#define CAFFE_UTIL_TEXT_FILE_HPP_

#include <google/protobuf/text_format.h>

#include <functional>
#include <memory>
#include <string>

#include "caffe/util/text_problems.hpp"

namespace caffe {

/// Says on which line each field of a text is.
using TextPlaces = std::unique_ptr<google::protobuf::TextFormat::ParseInfoTree>;
/// Looks at what is wrong with a text before it is told, and may excuse some of it.
using ReviewProblems = std::function<void(const TextPlaces& places, TextProblems* problems)>;

/// As ReadProtoFromTextFileOrDie.
void ReadTextFileOrDie(const std::string& filename, google::protobuf::Message* proto,
                       TextPlaces* places, const ReviewProblems& review = {});

}  // namespace caffe

#endif  // CAFFE_UTIL_TEXT_FILE_HPP_
