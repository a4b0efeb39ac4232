#ifndef CAFFE_FILLER_HPP
#define CAFFE_FILLER_HPP

#include <string>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/syncedmem.hpp"
#include "caffe/util/math_functions.hpp"

namespace caffe {

/// Fills a blob's data with initial values. Random values come from the calling thread's stream.
template <typename Dtype>
class Filler {
 public:
  explicit Filler(const FillerParameter& param) : filler_param_(param) {}
  virtual ~Filler() {}
  virtual void Fill(Blob<Dtype>* blob) = 0;

 protected:
  /// The number by which Xavier and MSRA divide the variance: inputs per output, outputs per input,
  /// or their mean.
  Dtype FanOf(const Blob<Dtype>& blob) const;
  /// Aborts if the parameter asks for sparsity or the blob is empty.
  void CheckDense(const Blob<Dtype>& blob) const;

  FillerParameter filler_param_;
};

/// x = value
template <typename Dtype>
class ConstantFiller : public Filler<Dtype> {
 public:
  explicit ConstantFiller(const FillerParameter& param) : Filler<Dtype>(param) {}
  virtual void Fill(Blob<Dtype>* blob);
};

/// x ~ U(min, max)
template <typename Dtype>
class UniformFiller : public Filler<Dtype> {
 public:
  explicit UniformFiller(const FillerParameter& param) : Filler<Dtype>(param) {}
  virtual void Fill(Blob<Dtype>* blob);
};

/// x ~ N(mean, std^2). With `sparse` >= 0, each value is kept with probability sparse / (number of
/// outputs).
template <typename Dtype>
class GaussianFiller : public Filler<Dtype> {
 public:
  explicit GaussianFiller(const FillerParameter& param) : Filler<Dtype>(param) {}
  virtual void Fill(Blob<Dtype>* blob);
};

/// x ~ U(0, 1), divided so that the values of each output sum to 1.
template <typename Dtype>
class PositiveUnitballFiller : public Filler<Dtype> {
 public:
  explicit PositiveUnitballFiller(const FillerParameter& param) : Filler<Dtype>(param) {}
  virtual void Fill(Blob<Dtype>* blob);
};

/// x ~ U(-a, a), a = sqrt(3 / fan).
/// Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks",
/// 2010.
template <typename Dtype>
class XavierFiller : public Filler<Dtype> {
 public:
  explicit XavierFiller(const FillerParameter& param) : Filler<Dtype>(param) {}
  virtual void Fill(Blob<Dtype>* blob);
};

/// x ~ N(0, 2 / fan).
/// He, Zhang, Ren and Sun, "Delving deep into rectifiers", 2015.
template <typename Dtype>
class MSRAFiller : public Filler<Dtype> {
 public:
  explicit MSRAFiller(const FillerParameter& param) : Filler<Dtype>(param) {}
  virtual void Fill(Blob<Dtype>* blob);
};

/// The weights of bilinear interpolation, for a Deconvolution that enlarges by ceil(kernel / 2).
/// Four axes, square.
template <typename Dtype>
class BilinearFiller : public Filler<Dtype> {
 public:
  explicit BilinearFiller(const FillerParameter& param) : Filler<Dtype>(param) {}
  virtual void Fill(Blob<Dtype>* blob);
};

/// All filler types, sorted.
std::vector<std::string> FillerTypes();

/// Returns a new filler of `param.type()`, owned by the caller. Aborts if there is no such type.
template <typename Dtype>
Filler<Dtype>* GetFiller(const FillerParameter& param);

}  // namespace caffe

#endif  // CAFFE_FILLER_HPP
