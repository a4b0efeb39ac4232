# Functions by which a folder's CMakeLists.txt makes it a part of libcaffe or a program. Sources are found by pattern,
# so a new file needs no entry; just run cmake again.

# layrub_library(<name> [PURE] [FLAGS <flag>...]): an object library of all .cpp files below this folder, except those
# in folders test, onednn and mpi; of cuda and no_cuda it has the one that suits the build. All that it defines,
# registrations included, becomes part of libcaffe. PURE: it needs only the standard library and nlohmann-json. FLAGS:
# additional flags for its files, after all others.
function(layrub_library name)
  cmake_parse_arguments(arg "PURE" "" "FLAGS" ${ARGN})
  layrub_sources(sources)
  if(arg_FLAGS)
    set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS "${arg_FLAGS}")
  endif()
  add_library(${name} OBJECT ${sources})
  set_property(GLOBAL APPEND PROPERTY LAYRUB_OBJECTS ${name})
  if(arg_PURE)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${name} PRIVATE layrub_flags nlohmann_json::nlohmann_json)
  else()
    layrub_see_caffe(${name})
  endif()
endfunction()

# layrub_sources(<result>): the files that layrub_library compiles. Files that depend on the device are in no group
# (layrub_in_groups), since libcaffe for GPUs replaces their objects and shares all others.
function(layrub_sources result)
  set(variant cuda)
  if(CPU_ONLY)
    set(variant no_cuda)
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cpp)
  list(FILTER sources EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/(.+/)?(test|onednn|mpi|cuda|no_cuda)/")
  file(GLOB by_device CONFIGURE_DEPENDS ${variant}/*.cpp)
  set_source_files_properties(${by_device} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set(${result} ${sources} ${by_device} PARENT_SCOPE)
endfunction()

# layrub_see_caffe(<target>): lets the target include all of the project's headers and those of the libraries that it
# uses.
function(layrub_see_caffe target)
  target_include_directories(${target} PRIVATE
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${PROJECT_BINARY_DIR}/include)
  target_link_libraries(${target} PRIVATE layrub_flags caffe_deps nlohmann_json::nlohmann_json)
  add_dependencies(${target} caffeproto_sources)
endfunction()

# layrub_optimize(<target> <level>): the optimization level of the target in the default build type, instead of -O2.
# Loops over elements and the planner's search use a higher one; tests and commands, for which the time to compile
# matters more, a lower one.
function(layrub_optimize target level)
  if(NOT SANITIZE)
    target_compile_options(${target} PRIVATE "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:RelWithDebInfo>>:${level}>")
  endif()
endfunction()

# layrub_precompile(<group> <target> <header>...): precompiles headers that most of the target's files include. The
# targets of a group have the same flags and share the precompiled header of the first. Not in a build for GPUs, in
# which nvcc takes most of the time; that build shows that each file includes what it needs.
function(layrub_precompile group target)
  if(NOT CPU_ONLY)
    return()
  endif()
  get_property(first GLOBAL PROPERTY ${group})
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    set_property(GLOBAL PROPERTY ${group} ${target})
    list(TRANSFORM ARGN REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>")
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

# layrub_in_groups(<target> [GNU]): compiles its files in groups (JUMBO), so that headers and templates are compiled
# once per group. Names in the unnamed namespaces of a target's files must therefore differ. GNU: with GCC only, because
# clang refuses a group in which several files instantiate members of the same class.
function(layrub_in_groups target)
  if(JUMBO AND NOT ("GNU" IN_LIST ARGN AND CMAKE_CXX_COMPILER_ID MATCHES "Clang"))
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
    # GCC treats each file of a group as a header, and warns of types that use an unnamed namespace.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# layrub_static_library(<name> <object library>...): a static library of parts of libcaffe, for tests which prove that
# these parts need nothing else. <name>_whole links all of it, so registrations stay.
function(layrub_static_library name)
  list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
  add_library(${name} STATIC ${ARGN})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  add_library(${name}_whole INTERFACE)
  target_link_libraries(${name}_whole INTERFACE
    -Wl,--whole-archive ${name} -Wl,--no-whole-archive layrub_flags nlohmann_json::nlohmann_json
    Threads::Threads ${CMAKE_DL_LIBS})
  target_include_directories(${name}_whole INTERFACE ${PROJECT_SOURCE_DIR}/include)
endfunction()

# layrub_shared_library(<name> [<objects>...]): libcaffe, from all object libraries unless objects are named.
function(layrub_shared_library name)
  set(objects ${ARGN})
  if(NOT objects)
    layrub_objects_but(objects)
  endif()
  add_library(${name} SHARED ${objects})
  set_target_properties(${name} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION}
                                           LINKER_LANGUAGE CXX)
  target_include_directories(${name} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>)
  target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:layrub_flags>
                                PUBLIC $<BUILD_INTERFACE:caffe_deps>)
  if(TARGET TBB::tbb)
    target_link_libraries(${name} PRIVATE TBB::tbb)
  endif()
  target_link_libraries(${name} PRIVATE ${CMAKE_DL_LIBS})
  target_compile_features(${name} INTERFACE cxx_std_17)
endfunction()

# layrub_objects_but(<result> [<object library>...]): the objects of all parts of libcaffe except these.
function(layrub_objects_but result)
  get_property(parts GLOBAL PROPERTY LAYRUB_OBJECTS)
  list(REMOVE_ITEM parts "" ${ARGN})
  list(TRANSFORM parts REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
  set(${result} ${parts} PARENT_SCOPE)
endfunction()

# layrub_gpu_library(<name> <folder> <kernels> [<objects>...]): in a CPU-only build, a second libcaffe in <folder>, with
# the backend for GPUs and these objects of kernels. Only files that depend on CPU_ONLY are compiled for it
# (caffe_for_gpus). It has the same interface as libcaffe, so the build's programs use it if it is preloaded.
function(layrub_gpu_library name folder kernels)
  layrub_objects_but(objects caffe_kernels caffe_core)
  list(TRANSFORM LAYRUB_BY_DEVICE REPLACE "^.*/" "/" OUTPUT_VARIABLE files)
  list(JOIN files "|" files)
  list(TRANSFORM objects REPLACE "(.+)" "$<FILTER:\\1,EXCLUDE,/no_cuda/|${files}>")
  layrub_shared_library(${name} ${objects} $<TARGET_OBJECTS:${kernels}> $<TARGET_OBJECTS:caffe_for_gpus>
    $<TARGET_OBJECTS:layrub_cuda_on_host> ${ARGN})
  set_target_properties(${name} PROPERTIES OUTPUT_NAME caffe LIBRARY_OUTPUT_DIRECTORY ${folder})
endfunction()

# layrub_program(<name> <source>...): a program that uses libcaffe through include/ only.
function(layrub_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE caffe layrub_flags nlohmann_json::nlohmann_json)
  target_compile_definitions(${name} PRIVATE LAYRUB_VERSION="${PROJECT_VERSION}")
  set_property(GLOBAL APPEND PROPERTY LAYRUB_PROGRAMS ${name})
endfunction()

# layrub_kernels_beside(<result> <file>): in a build with CUDA, the .cu file next to the .cpp file; else nothing.
function(layrub_kernels_beside result file)
  string(REGEX REPLACE "cpp$" "cu" kernels ${file})
  set(${result} "" PARENT_SCOPE)
  if(NOT CPU_ONLY AND EXISTS ${kernels})
    set_source_files_properties(${kernels} PROPERTIES COMPILE_OPTIONS "${layrub_cuda_flags}")
    set(${result} ${kernels} PARENT_SCOPE)
  endif()
endfunction()

# layrub_for_gpus(<program> <source> [<object>...]): if the source mentions CPU_ONLY, builds the program a second time
# as <program>_for_gpus, with the kernels in the .cu file next to it and with libcaffe for GPUs. Part of the target cuda
# (GPU_CHECK).
function(layrub_for_gpus name source)
  file(STRINGS ${source} mentions REGEX "CPU_ONLY")
  if(NOT GPU_CHECK OR NOT mentions)
    return()
  endif()
  string(REGEX REPLACE "cpp$" "cu" kernels ${source})
  if(NOT EXISTS ${kernels})
    set(kernels)
  endif()
  add_executable(${name}_for_gpus EXCLUDE_FROM_ALL ${source} ${kernels} ${ARGN})
  target_compile_options(${name}_for_gpus PRIVATE -UCPU_ONLY)
  target_compile_options(${name}_for_gpus PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:${layrub_cuda_flags}>")
  target_link_libraries(${name}_for_gpus PRIVATE layrub_cuda_headers)
  add_dependencies(cuda ${name}_for_gpus)
endfunction()
