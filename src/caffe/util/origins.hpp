#ifndef CAFFE_UTIL_ORIGINS_HPP_
#define CAFFE_UTIL_ORIGINS_HPP_

#include <google/protobuf/text_format.h>

#include <string>
#include <vector>

#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// What a text says of each layer of a net, and upgrades do not keep: where it is written, as
/// "net.prototxt:12" (LayerParameter.origin), and a type of the V1 format that is not known.
class Origins {
 public:
  /// `places` are those of the fields of `net`, as it was read from the text `file`.
  Origins(const std::string& file, const google::protobuf::TextFormat::ParseInfoTree& places,
          const NetParameter& net);
  /// The layer of the V1 format with this index is of a type that is not known.
  void AddUnknownType(int index, const std::string& type);
  /// `net` is the same after upgrades, which may have added layers and left some out.
  void Set(NetParameter* net) const;

 private:
  struct Entry {
    std::string name, origin;
    std::string unknown_type;
  };
  std::vector<Entry> layers_;  ///< in order
  size_t new_layers_ = 0;      ///< of them, not of the V1 format
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
