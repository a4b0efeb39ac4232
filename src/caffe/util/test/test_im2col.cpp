#include "caffe/util/im2col.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace caffe {
namespace {

struct Plane {
  int channels, height, width, kernel_h, kernel_w, pad_h, pad_w, stride_h, stride_w, dilation_h,
      dilation_w;
};

int Output(int image, int kernel, int pad, int stride, int dilation) {
  return (image + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
}

std::vector<double> Random(size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  for (double& value : values) value = normal(generator);
  return values;
}

double Dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

class Im2col : public testing::TestWithParam<Plane> {
 protected:
  const Plane p = GetParam();
  const int out_h = Output(p.height, p.kernel_h, p.pad_h, p.stride_h, p.dilation_h);
  const int out_w = Output(p.width, p.kernel_w, p.pad_w, p.stride_w, p.dilation_w);
  const int rows = p.channels * p.kernel_h * p.kernel_w;
  const std::vector<double> image = Random(p.channels * p.height * p.width, 1);
  const std::vector<double> columns = Random(rows * out_h * out_w, 2);
  const std::vector<int> im_shape = {p.channels, p.height, p.width},
                         col_shape = {rows, out_h, out_w};
  const std::vector<int> kernel = {p.kernel_h, p.kernel_w}, pad = {p.pad_h, p.pad_w};
  const std::vector<int> stride = {p.stride_h, p.stride_w}, dilation = {p.dilation_h, p.dilation_w};

  std::vector<double> ToColumns() const {
    std::vector<double> out(columns.size(), 7);
    im2col_cpu(image.data(), p.channels, p.height, p.width, p.kernel_h, p.kernel_w, p.pad_h,
               p.pad_w, p.stride_h, p.stride_w, p.dilation_h, p.dilation_w, out.data());
    return out;
  }
  std::vector<double> ToImage() const {
    std::vector<double> out(image.size(), 7);
    col2im_cpu(columns.data(), p.channels, p.height, p.width, p.kernel_h, p.kernel_w, p.pad_h,
               p.pad_w, p.stride_h, p.stride_w, p.dilation_h, p.dilation_w, out.data());
    return out;
  }
};

TEST_P(Im2col, CopiesEachWindowToAColumn) {
  const std::vector<double> out = ToColumns();
  for (int row = 0; row < rows; ++row) {
    const int channel = row / p.kernel_w / p.kernel_h;
    for (int i = 0; i < out_h * out_w; ++i) {
      const int y = i / out_w * p.stride_h - p.pad_h + row / p.kernel_w % p.kernel_h * p.dilation_h;
      const int x = i % out_w * p.stride_w - p.pad_w + row % p.kernel_w * p.dilation_w;
      const bool inside = y >= 0 && y < p.height && x >= 0 && x < p.width;
      ASSERT_EQ(out[row * out_h * out_w + i],
                inside ? image[(channel * p.height + y) * p.width + x] : 0);
    }
  }
}

TEST_P(Im2col, Col2imIsItsAdjoint) {
  EXPECT_NEAR(Dot(ToColumns(), columns), Dot(image, ToImage()), 1e-9);
}

TEST_P(Im2col, AgreesWithTheNdFunctions) {
  std::vector<double> general_columns(columns.size(), 7), general_image(image.size(), 7);
  im2col_nd_cpu(image.data(), 2, im_shape.data(), col_shape.data(), kernel.data(), pad.data(),
                stride.data(), dilation.data(), general_columns.data());
  EXPECT_EQ(general_columns, ToColumns());
  col2im_nd_cpu(columns.data(), 2, im_shape.data(), col_shape.data(), kernel.data(), pad.data(),
                stride.data(), dilation.data(), general_image.data());
  EXPECT_EQ(general_image, ToImage());
}

INSTANTIATE_TEST_SUITE_P(Planes, Im2col,
                         testing::Values(Plane{2, 5, 4, 3, 3, 0, 0, 1, 1, 1, 1},
                                         Plane{1, 6, 7, 3, 2, 1, 2, 2, 3, 1, 1},
                                         Plane{3, 4, 4, 2, 2, 3, 3, 1, 1, 3, 2},
                                         Plane{1, 2, 2, 3, 3, 4, 4, 3, 3, 2, 2},
                                         Plane{1, 7, 3, 1, 1, 0, 0, 2, 2, 1, 1},
                                         Plane{2, 3, 3, 3, 3, 1, 1, 1, 1, 1, 1}));

}  // namespace
}  // namespace caffe
