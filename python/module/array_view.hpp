#ifndef PYTHON_MODULE_ARRAY_VIEW_HPP_
#define PYTHON_MODULE_ARRAY_VIEW_HPP_

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <optional>
#include <vector>

#include "caffe/net.hpp"
#include "caffe/syncedmem.hpp"

namespace pycaffe {

namespace py = pybind11;

/// An array of `shape` that shows `memory`: what Python writes into it is written there, and
/// after each call into the library it shows what is there then.
///
/// The bytes of a blob move from pass to pass, and NumPy's do not. So an array shows bytes of its
/// own, one copy for all arrays of the same memory, which are exchanged with the blob where
/// Python and the library call each other (InLibrary, InPython) and when the last array ends.
/// They outlive blob and net. A value that a plan has given up since then is shown as NaN, with a
/// line in the log. Throws caffe::Error, with the reason, where there is no value already now.
py::array_t<float> ViewOf(const boost::shared_ptr<caffe::SyncedMemory>& memory,
                          const std::vector<int>& shape);
/// Whether ViewOf would find a value.
bool Readable(const caffe::SyncedMemory& memory);

/// Whose arrays a call is about: those that show memory of these nets and blobs. Other threads may
/// be at work with others.
struct Owners {
  std::vector<const caffe::Net<float>*> nets;
  std::vector<const caffe::Blob<float>*> blobs;
};
inline Owners Of(const caffe::Net<float>& net) { return {{&net}, {}}; }

/// While one lives, Python has called the library: what was written into arrays of `owners` is in
/// the blobs, and what the library does shows in the arrays afterwards. Where several solvers
/// train, each in a thread of its own, other threads run meanwhile.
class InLibrary {
 public:
  explicit InLibrary(Owners owners = {});
  ~InLibrary();

 private:
  const Owners owners_;
  std::optional<py::gil_scoped_release> others_run_;
};

/// While one lives, the library, at work for `owners`, has called Python, whose lock it holds.
class InPython {
 public:
  enum Caller {
    kCallback,  ///< any value that is there can be had
    kLayer,     ///< a layer at work, of its own net: its operands can be had
    kShapes     ///< a layer that looks at shapes: an operand may have no value, and is NaN then
  };
  InPython(Caller caller, Owners owners);
  ~InPython();
  /// To be called last, unless there was an error: what was written into arrays goes into blobs.
  void Return();

 private:
  py::gil_scoped_acquire lock_;
  const Caller outer_;
  const Owners owners_;
};

}  // namespace pycaffe

#endif  // PYTHON_MODULE_ARRAY_VIEW_HPP_
