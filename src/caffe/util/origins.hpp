#ifndef CAFFE_UTIL_ORIGINS_HPP_
#define CAFFE_UTIL_ORIGINS_HPP_

#include <google/protobuf/text_format.h>

#include <string>
#include <utility>
#include <vector>

#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// Where each layer of a net is written, as "net.prototxt:12": LayerParameter.origin.
class Origins {
 public:
  /// `places` are those of the fields of `net`, as it was read from the text `file`.
  Origins(const std::string& file, const google::protobuf::TextFormat::ParseInfoTree& places,
          const NetParameter& net);
  /// `net` is the same after upgrades, which may have added layers and left some out.
  void Set(NetParameter* net) const;

 private:
  std::vector<std::pair<std::string, std::string>> layers_;  ///< in order: name and origin
};

/// Sets SolverParameter.origin of a solver read from `file`, and the origins in the nets that are
/// its fields.
void SetOrigins(const std::string& file, const google::protobuf::TextFormat::ParseInfoTree& places,
                SolverParameter* solver);

/// A copy as a person would write it.
NetParameter WithoutOrigins(const NetParameter& net);
SolverParameter WithoutOrigins(const SolverParameter& solver);

}  // namespace caffe

#endif  // CAFFE_UTIL_ORIGINS_HPP_
