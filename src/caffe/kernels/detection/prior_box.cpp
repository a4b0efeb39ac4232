#include "caffe/kernels/detection/prior_box.hpp"

#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {

template <typename Dtype>
void PriorBoxes(const DeviceContext& context, const PriorMap& map, int64_t index, double box_w,
                double box_h, Dtype* to) {
  const PriorMap m = map;
  ParallelFor(context, m.Positions(), [=] LAYRUB_HOST_DEVICE(int64_t position) {
    const double x = (static_cast<double>(position % m.width) + m.offset) * m.step_w;
    const double y = (static_cast<double>(position / m.width) + m.offset) * m.step_h;
    const double corners[] = {(x - box_w / 2) / m.image_w, (y - box_h / 2) / m.image_h,
                              (x + box_w / 2) / m.image_w, (y + box_h / 2) / m.image_h};
    for (int k = 0; k < 4; ++k) {
      const double corner = corners[k], above = corner < 0 ? 0 : corner;
      const double inside = above > 1 ? 1 : above;
      to[(position * m.boxes + index) * 4 + k] = static_cast<Dtype>(m.clip ? inside : corner);
    }
  });
}

template <typename Dtype>
void PriorVariances(const DeviceContext& context, const PriorMap& map, const Dtype (&variances)[4],
                    Dtype* to) {
  const Dtype v0 = variances[0], v1 = variances[1], v2 = variances[2], v3 = variances[3];
  ParallelFor(context, map.Positions() * map.boxes, [=] LAYRUB_HOST_DEVICE(int64_t box) {
    to[box * 4] = v0;
    to[box * 4 + 1] = v1;
    to[box * 4 + 2] = v2;
    to[box * 4 + 3] = v3;
  });
}

#define INSTANTIATE(Dtype)                                                                 \
  template void PriorBoxes(const DeviceContext&, const PriorMap&, int64_t, double, double, \
                           Dtype*);                                                        \
  template void PriorVariances(const DeviceContext&, const PriorMap&, const Dtype(&)[4], Dtype*)
INSTANTIATE(float);
INSTANTIATE(double);
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
