# In a CPU-only build with tests: finds CUDA's headers, with which the backend for GPUs is compiled against fake CUDA
# libraries (src/layrub/device/cuda/test). Needs neither CUDA's compiler nor a GPU. layrub_cuda_headers  the target to
# link to, if the headers are found LAYRUB_FAKE_GPU      the environment in which a program runs on the fake GPU; empty
# if headers are missing
set(LAYRUB_FAKE_GPU)
find_path(CUDA_HEADERS cuda_runtime.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES include)
if(NOT CUDA_HEADERS OR NOT EXISTS ${CUDA_HEADERS}/curand.h)
  message(STATUS "No cuda_runtime.h with curand.h: the tests of src/layrub/device/cuda are left out")
  return()
endif()
add_library(layrub_cuda_headers INTERFACE)
target_include_directories(layrub_cuda_headers SYSTEM INTERFACE ${CUDA_HEADERS})
layrub_find_nccl(${CUDA_HEADERS})
find_path(CUDNN_INCLUDE_DIR cudnn.h HINTS ${CUDA_HEADERS})
foreach(library NCCL CUDNN)
  if(${library}_INCLUDE_DIR)
    target_include_directories(layrub_cuda_headers SYSTEM INTERFACE ${${library}_INCLUDE_DIR})
    target_compile_definitions(layrub_cuda_headers INTERFACE USE_${library})
  endif()
endforeach()
if(NOT CPU_ONLY)
  return()
endif()

find_path(CUBLAS_INCLUDE_DIR cublas_v2.h HINTS ${CUDA_HEADERS})
if(NOT CUBLAS_INCLUDE_DIR OR NOT CUDNN_INCLUDE_DIR)
  message(STATUS "No cublas_v2.h with cudnn.h: the tests on a fake GPU are left out")
  return()
endif()
set(LAYRUB_FAKE_GPU_FOLDER ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/fake_gpu)
set(preload $<TARGET_FILE:caffe_with_fake_gpu>)
set(search)
if(SANITIZE)
  # GCC's sanitizer runtime must be the first library; clang's is part of the programs. Both open libraries on behalf of
  # other libraries, so the search path of the latter is not used.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(address asan)
    set(thread tsan)
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=lib${${SANITIZE}}.so OUTPUT_VARIABLE runtime
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
    set(preload ${runtime}:${preload})
  endif()
  set(search
      LD_LIBRARY_PATH=${LAYRUB_FAKE_GPU_FOLDER}:${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/fakes_of_test_nccl_communicator)
endif()
set(LAYRUB_FAKE_GPU LD_PRELOAD=${preload} ${search})
