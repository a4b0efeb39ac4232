#ifndef CAFFE_UTIL_TEST_UPGRADE_CHECK_HPP_
#define CAFFE_UTIL_TEST_UPGRADE_CHECK_HPP_

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "caffe/util/upgrade_proto.hpp"

namespace caffe {

template <typename Message>
Message Parse(const string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

/// UpgradeNetAsNeeded turns `before` into `after`, and finds nothing to do there.
inline void ExpectUpgrade(const string& before, const string& after) {
  NetParameter net = Parse<NetParameter>(before);
  EXPECT_TRUE(NetNeedsUpgrade(net));
  EXPECT_TRUE(UpgradeNetAsNeeded("net.prototxt", &net));
  EXPECT_EQ(net.DebugString(), Parse<NetParameter>(after).DebugString());
  EXPECT_FALSE(NetNeedsUpgrade(net));
}

}  // namespace caffe

#endif  // CAFFE_UTIL_TEST_UPGRADE_CHECK_HPP_
