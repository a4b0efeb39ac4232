#ifndef CAFFE_UTIL_TEXT_FILE_HPP_
#define CAFFE_UTIL_TEXT_FILE_HPP_

#include <google/protobuf/text_format.h>

#include <functional>
#include <memory>
#include <string>

#include "caffe/util/text_problems.hpp"

namespace caffe {

/// The line and column of each field of a text.
using TextPlaces = std::unique_ptr<google::protobuf::TextFormat::ParseInfoTree>;
/// Inspects the problems of a text before they are reported, and may excuse some.
using ReviewProblems = std::function<void(const TextPlaces& places, TextProblems* problems)>;

/// ReadProtoFromTextFileOrDie, which also sets `places`.
void ReadTextFileOrDie(const std::string& filename, google::protobuf::Message* proto,
                       TextPlaces* places, const ReviewProblems& review = {});

}  // namespace caffe

#endif  // CAFFE_UTIL_TEXT_FILE_HPP_
