#ifndef CAFFE_UTIL_ORIGINS_HPP_
#define CAFFE_UTIL_ORIGINS_HPP_

#include <google/protobuf/text_format.h>

#include <string>
#include <vector>

#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// Information about a net's layers that upgrades would lose: where each is written, as
/// "net.prototxt:12" (LayerParameter.origin), and unknown layer types of the V1 format.
class Origins {
 public:
  /// `places` are the positions of the fields of `net`, which was read from the text file `file`.
  Origins(const std::string& file, const google::protobuf::TextFormat::ParseInfoTree& places,
          const NetParameter& net);
  /// Records that the V1 layer with this index has an unknown type.
  void AddUnknownType(int index, const std::string& type);
  /// Sets the origins in `net`, the same net after upgrades, which may have added or removed
  /// layers.
  void Set(NetParameter* net) const;

 private:
  struct Entry {
    std::string name, origin;
    std::string unknown_type;
  };
  std::vector<Entry> layers_;  ///< in order
  size_t new_layers_ = 0;      ///< those of them in the current format
};

/// Sets SolverParameter.origin of a solver read from `file`, and the origins in the nets in its
/// fields.
void SetOrigins(const std::string& file, const google::protobuf::TextFormat::ParseInfoTree& places,
                SolverParameter* solver);

/// Returns a copy without the origin fields, as a person would write it.
NetParameter WithoutOrigins(const NetParameter& net);
SolverParameter WithoutOrigins(const SolverParameter& solver);

}  // namespace caffe

#endif  // CAFFE_UTIL_ORIGINS_HPP_
