#ifndef CAFFE_UTIL_TEXT_FILE_HPP_
#define CAFFE_UTIL_TEXT_FILE_HPP_

#include <google/protobuf/text_format.h>

#include <string>

namespace caffe {

/// As ReadProtoFromTextFileOrDie; `places` says on which line each field is.
void ReadTextFileOrDie(const std::string& filename, google::protobuf::Message* proto,
                       google::protobuf::TextFormat::ParseInfoTree* places);

}  // namespace caffe

#endif  // CAFFE_UTIL_TEXT_FILE_HPP_
