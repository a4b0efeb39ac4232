# Installs the files, and the package that find_package(Caffe) reads.
include(CMakePackageConfigHelpers)

set(caffe_package_dir share/Caffe)
get_property(programs GLOBAL PROPERTY LAYRUB_PROGRAMS)
get_property(examples GLOBAL PROPERTY LAYRUB_EXAMPLES)
list(REMOVE_ITEM programs ${examples} "")
install(TARGETS caffe EXPORT CaffeTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(programs)
  install(TARGETS ${programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(examples)
  install(TARGETS ${examples} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT examples)
endif()
if(TARGET layrub)
  install(FILES ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/caffe DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY include/ ${PROJECT_BINARY_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h" PATTERN "*.cuh")
install(FILES src/caffe/proto/caffe.proto DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/caffe/proto)

install(EXPORT CaffeTargets DESTINATION ${caffe_package_dir})
# For find_package(Caffe) with Caffe_DIR=<build>. export() would need caffe_deps, whose parts CaffeConfig.cmake names.
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/CaffeTargets.cmake CONTENT
"add_library(caffe SHARED IMPORTED)
set_target_properties(caffe PROPERTIES
  IMPORTED_LOCATION \"$<TARGET_FILE:caffe>\"
  IMPORTED_SONAME \"$<TARGET_SONAME_FILE_NAME:caffe>\"
  INTERFACE_COMPILE_FEATURES \"$<TARGET_PROPERTY:caffe,INTERFACE_COMPILE_FEATURES>\"
  INTERFACE_INCLUDE_DIRECTORIES \"${PROJECT_SOURCE_DIR}/include;${PROJECT_BINARY_DIR}/include\")
")

get_target_property(Caffe_DEPENDENCY_INCLUDES caffe_deps INTERFACE_SYSTEM_INCLUDE_DIRECTORIES)
get_target_property(Caffe_DEPENDENCY_LIBRARIES caffe_deps INTERFACE_LINK_LIBRARIES)
configure_package_config_file(cmake/CaffeConfig.cmake.in ${PROJECT_BINARY_DIR}/CaffeConfig.cmake
                              INSTALL_DESTINATION ${caffe_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/CaffeConfigVersion.cmake
                                 COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/CaffeConfig.cmake ${PROJECT_BINARY_DIR}/CaffeConfigVersion.cmake
        DESTINATION ${caffe_package_dir})

# Man pages and completion for bash, made from the programs' --help.
find_program(PYTHON3 python3)
if(PYTHON3 AND TARGET layrub AND NOT SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  set(described layrub compute_image_mean convert_annoset convert_imageset extract_features upgrade_net_proto_binary
                upgrade_net_proto_text upgrade_solver_proto_text)
  set(describe ${PYTHON3} ${PROJECT_SOURCE_DIR}/packaging/describe_programs.py)
  set(pages ${PROJECT_BINARY_DIR}/man)
  set(completion ${PROJECT_BINARY_DIR}/layrub.bash)
  list(TRANSFORM described REPLACE "(.+)" "${pages}/\\1.1" OUTPUT_VARIABLE page_files)
  add_custom_command(
    OUTPUT ${pages}/caffe.1.gz ${completion}
    COMMAND ${describe} man ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} ${pages} ${described}
    COMMAND gzip -9nf ${page_files} ${pages}/caffe.1
    COMMAND ${describe} completion ${CMAKE_RUNTIME_OUTPUT_DIRECTORY} ${completion}
    DEPENDS ${described} ${PROJECT_SOURCE_DIR}/packaging/describe_programs.py VERBATIM)
  add_custom_target(man_pages ALL DEPENDS ${pages}/caffe.1.gz)
  install(DIRECTORY ${pages}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1.gz")
  foreach(name layrub caffe)
    install(FILES ${completion} DESTINATION share/bash-completion/completions RENAME ${name})
  endforeach()
endif()

add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -P ${PROJECT_SOURCE_DIR}/cmake/Uninstall.cmake
                  WORKING_DIRECTORY ${PROJECT_BINARY_DIR})
add_custom_target(lint COMMAND ${PROJECT_SOURCE_DIR}/scripts/lint.sh)
if(BUILD_TESTS)
  add_custom_target(runtest COMMAND ${CMAKE_CTEST_COMMAND} --output-on-failure WORKING_DIRECTORY ${PROJECT_BINARY_DIR})
endif()

# cpack -G DEB: library, headers and programs below /usr, the Python package in Debian's folder for packages, no
# examples. DEBFULLNAME and DEBEMAIL name the maintainer, as for Debian's own tools.
set(changelog ${PROJECT_BINARY_DIR}/changelog)
add_custom_command(
  OUTPUT ${changelog}.gz
  COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_SOURCE_DIR}/packaging/changelog ${changelog}
  COMMAND gzip -9nf ${changelog}
  DEPENDS ${PROJECT_SOURCE_DIR}/packaging/changelog VERBATIM)
add_custom_target(package_documents ALL DEPENDS ${changelog}.gz)
install(FILES ${changelog}.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/layrub)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/layrub RENAME copyright)
set(maintainer "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
if(NOT maintainer MATCHES ".+ <.+>")
  set(maintainer "Layrub developers <developers@layrub.invalid>")
endif()
set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_NAME layrub)
set(CPACK_PACKAGE_CONTACT "${maintainer}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Caffe that trains nets which do not fit the GPU")
set(CPACK_PACKAGE_DESCRIPTION
"Layrub trains neural nets from Caffe's model and solver files, with Caffe's
command line, C++ API and Python package. It plans their memory before training
begins, so that nets train within a budget, to the same weights.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};Layrub;Unspecified;/")
if(TARGET _caffe)
  list(APPEND CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};Layrub;dist_packages;/")
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3-numpy, python3-protobuf")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "graphviz, cmake, libboost-dev, libgflags-dev, libgoogle-glog-dev, libprotobuf-dev")
set(CPACK_DEBIAN_PACKAGE_CONFLICTS "caffe-cpu, caffe-cuda, libcaffe-cpu-dev, libcaffe-cuda-dev, python3-caffe-cpu")
include(CPack)
