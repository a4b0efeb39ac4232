#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "caffe/util/library_settings.hpp"

namespace caffe {
namespace {

TEST(LibrarySettings, ConvolutionsMayBeRoundedToTf32AndProductsNot) {
  EXPECT_EQ(LibrarySettings().tf32, Tf32::kConvolutions);
}

TEST(ParseTf32, AcceptsCurrentAndOldValues) {
  for (const auto& [text, meant] :
       {std::pair("off", Tf32::kOff), std::pair("conv", Tf32::kConvolutions),
        std::pair("all", Tf32::kAll), std::pair("false", Tf32::kOff),
        std::pair("true", Tf32::kAll)}) {
    for (Tf32 tf32 : {Tf32::kOff, Tf32::kAll}) {
      EXPECT_TRUE(ParseTf32(text, &tf32)) << text;
      EXPECT_EQ(tf32, meant) << text;
    }
  }
}

TEST(ParseTf32, KeepsTheSettingOnAnUnknownValue) {
  for (const char* text : {"", "on", "Conv", "conv,all", "--solver=x"}) {
    Tf32 tf32 = Tf32::kConvolutions;
    EXPECT_FALSE(ParseTf32(text, &tf32)) << text;
    EXPECT_EQ(tf32, Tf32::kConvolutions) << text;
  }
}

}  // namespace
}  // namespace caffe
