#ifndef CAFFE_UTIL_BLAS_MEMORY_HPP_
#define CAFFE_UTIL_BLAS_MEMORY_HPP_

namespace caffe {

// OpenBLAS gives each of its threads, and each caller of a product of matrices, a buffer of its
// own. Where a limit of the address space (ulimit -v; batch systems set one) leaves no room for it,
// it tries again for ever: its threads from the moment the library is loaded, so that not even exit
// returns. Without such a limit neither function does anything.

/// For programs, first of all: where the buffers of OpenBLAS's threads do not fit, starts the
/// program anew with one thread, which needs no buffer before its first product. Ends it with exit
/// code 1 and one sentence where OPENBLAS_NUM_THREADS asks for more threads.
void FitBlasIntoAddressSpace(char** argv);

/// Before a product of matrices: a failed check where the calling thread's first one finds no room
/// for its buffer.
void CheckRoomForBlas();

}  // namespace caffe

#endif  // CAFFE_UTIL_BLAS_MEMORY_HPP_
