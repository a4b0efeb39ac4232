# The CUDA compiler and libraries, for builds with CPU_ONLY=OFF. Building needs neither a GPU nor a driver, because the
# library links only to the CUDA runtime.
find_program(NVCC nvcc HINTS ENV CUDACXX PATHS /usr/local/cuda/bin)
if(NOT NVCC)
  message(FATAL_ERROR "CPU_ONLY=OFF needs the CUDA toolkit, and there is no nvcc in PATH or "
                      "/usr/local/cuda/bin. CPU_ONLY=ON builds without a GPU.")
endif()

include(CudaArchitectures)
find_program(NVIDIA_SMI nvidia-smi)
layrub_cuda_architectures(CMAKE_CUDA_ARCHITECTURES "${CUDA_ARCH}" "${NVCC}" "${NVIDIA_SMI}")
message(STATUS "CUDA architectures: ${CMAKE_CUDA_ARCHITECTURES}")

set(CMAKE_CUDA_COMPILER ${NVCC})
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)  # one runtime for the library and the .cu files of its users
if(CCACHE_PROGRAM AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()
enable_language(CUDA)
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  # CMake 3.25 and older do not know nvcc's flag for C++20.
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
find_package(CUDAToolkit REQUIRED)

# Forms of an operation must give the same bits: no contraction of a*b+c, as with -ffp-contract=off
# on the host.
set(layrub_cuda_flags --extended-lambda -fmad=false
    -Xcompiler=-Wall,-Wextra,-Wno-unknown-pragmas,-ffp-contract=off)
if(WERROR)
  list(APPEND layrub_cuda_flags -Werror=all-warnings -Xcompiler=-Werror)
endif()
