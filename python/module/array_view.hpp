#ifndef PYTHON_MODULE_ARRAY_VIEW_HPP_
#define PYTHON_MODULE_ARRAY_VIEW_HPP_

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <optional>
#include <vector>

#include "caffe/syncedmem.hpp"

namespace pycaffe __attribute__((visibility("hidden"))) {

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

  /// While one lives, Python has called the library: what was written into arrays is in the blobs,
  /// and what the library does shows in the arrays afterwards. Where several solvers train, each in
  /// a thread of its own, arrays are those of the thread, and other threads run meanwhile.
  class InLibrary {
   public:
    InLibrary();
    ~InLibrary();

   private:
    std::optional<py::gil_scoped_release> others_run_;
  };

  /// While one lives, the library has called Python, whose lock it holds.
  class InPython {
   public:
    enum Caller {
      kCallback,  ///< any value that is there can be had
      kLayer      ///< a layer at work, of its own net: its operands can be had
    };
    explicit InPython(Caller caller);
    ~InPython();
    /// To be called last, unless there was an error: what was written into arrays goes into blobs.
    void Return();

   private:
    py::gil_scoped_acquire lock_;
    const Caller outer_;
  };

}  // namespace )

#endif  // PYTHON_MODULE_ARRAY_VIEW_HPP_
