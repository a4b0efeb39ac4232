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

/// Returns an array of `shape` that shows `memory`. Values that Python writes into the array are
/// written to `memory` at the next call into the library, and after the call the array shows the
/// current values.
///
/// The bytes of a blob may move from pass to pass, but those of a NumPy array cannot. So arrays
/// have their own copy of the bytes, one for all arrays of the same memory. It is exchanged with
/// the blob when Python and the library call each other (InLibrary, InPython), and when the last
/// array is deleted. It may outlive blob and net. If a plan drops the value later, the array shows
/// NaN and the log has a warning. Throws caffe::Error, with the reason, if there is no value now.
py::array_t<float> ViewOf(const boost::shared_ptr<caffe::SyncedMemory>& memory,
                          const std::vector<int>& shape);
/// Whether the memory has a value, so that ViewOf does not throw.
bool Readable(const caffe::SyncedMemory& memory);

/// The nets and blobs that a call uses. Only arrays that show their memory are exchanged, since
/// other threads may be using others.
struct Owners {
  std::vector<const caffe::Net<float>*> nets;
  std::vector<const caffe::Blob<float>*> blobs;
};
inline Owners Of(const caffe::Net<float>& net) { return {{&net}, {}}; }

/// Scope of a call from Python into the library. The constructor writes the arrays of `owners` to
/// the blobs, and the destructor shows the new values in the arrays. If several solvers train, each
/// in its own thread, the scope releases Python's lock so that other threads can run.
class InLibrary {
 public:
  explicit InLibrary(Owners owners = {});
  ~InLibrary();

 private:
  const Owners owners_;
  std::optional<py::gil_scoped_release> others_run_;
};

/// Scope of a call from the library, which is working for `owners`, into Python. Holds Python's
/// lock.
class InPython {
 public:
  enum Caller {
    kCallback,  ///< any existing value may be read
    kLayer,     ///< a running layer: only its operands may be read
    kShapes     ///< a layer's setup or reshape: an operand without a value is NaN
  };
  InPython(Caller caller, Owners owners);
  ~InPython();
  /// Writes the arrays to the blobs. Call it last, unless there was an error.
  void Return();

 private:
  py::gil_scoped_acquire lock_;
  const Caller outer_;
  const Owners owners_;
};

}  // namespace pycaffe

#endif  // PYTHON_MODULE_ARRAY_VIEW_HPP_
