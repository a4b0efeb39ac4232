#ifndef PYTHON_MODULE_EXPORTED_HPP_
#define PYTHON_MODULE_EXPORTED_HPP_

#include <pybind11/pybind11.h>

#include <boost/shared_ptr.hpp>
#include <concepts>
#include <string>
#include <utility>

#include "caffe/net.hpp"
#include "caffe/parallel.hpp"
#include "caffe/sgd_solvers.hpp"
#include "caffe/util/benchmark.hpp"

namespace pycaffe {

namespace py = pybind11;

class BlobHandle;
class BlobVec;
class LayerHandle;

template <typename T, typename... Types>
concept OneOf = (std::same_as<T, Types> || ...);

/// The classes of the module. A function that takes one of them, by reference, pointer or
/// boost::shared_ptr, always gets an object: None, or an object whose __init__ was not called,
/// raises TypeError.
template <typename T>
concept Exported =
    OneOf<T, BlobHandle, BlobVec, LayerHandle, caffe::Net<float>, caffe::Solver<float>,
          caffe::SGDSolver<float>, caffe::NesterovSolver<float>, caffe::AdaGradSolver<float>,
          caffe::RMSPropSolver<float>, caffe::AdaDeltaSolver<float>, caffe::AdamSolver<float>,
          caffe::SolverParameter, caffe::NCCL<float>, caffe::Timer>;

/// py::class_ for these classes only. Holders are boost::shared_ptr, or pybind11's default if no
/// function takes a holder.
template <Exported T, typename... Options>
using Class = py::class_<T, Options...>;

/// The Python object that a method was called on.
template <Exported T>
py::object ObjectOf(T* self) {
  return py::cast(self);
}

}  // namespace pycaffe

namespace pybind11::detail {

template <typename Caster>
class initialised_caster : public Caster {
 public:
  bool load(handle source, bool convert) {
    return !source.is_none() && this->template load_impl<initialised_caster>(source, convert);
  }
  /// Called by load_impl.
  void load_value(value_and_holder&& found) {
    if (!found.value_ptr()) {
      const std::string name = Py_TYPE(reinterpret_cast<PyObject*>(found.inst))->tp_name;
      throw type_error("This " + name + " is not initialised: " + name +
                       ".__init__ was not called.");
    }
    Caster::load_value(std::move(found));
  }
};

template <pycaffe::Exported T>
class type_caster<T> : public initialised_caster<type_caster_base<T>> {};

template <pycaffe::Exported T>
class type_caster<boost::shared_ptr<T>>
    : public initialised_caster<copyable_holder_caster<T, boost::shared_ptr<T>>> {};

}  // namespace pybind11::detail

#endif  // PYTHON_MODULE_EXPORTED_HPP_
