# What `cmake --install` copies, and the package that find_package(Caffe) reads.
include(CMakePackageConfigHelpers)

set(caffe_package_dir share/Caffe)
get_property(programs GLOBAL PROPERTY LAYRUB_PROGRAMS)
install(TARGETS caffe EXPORT CaffeTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(programs)
  install(TARGETS ${programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET layrub)
  install(FILES ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/caffe DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY include/ ${PROJECT_BINARY_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h" PATTERN "*.cuh")
install(FILES src/caffe/proto/caffe.proto DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/caffe/proto)

install(EXPORT CaffeTargets DESTINATION ${caffe_package_dir})

get_target_property(Caffe_DEPENDENCY_INCLUDES caffe_deps INTERFACE_SYSTEM_INCLUDE_DIRECTORIES)
get_target_property(Caffe_DEPENDENCY_LIBRARIES caffe_deps INTERFACE_LINK_LIBRARIES)
configure_package_config_file(cmake/CaffeConfig.cmake.in ${PROJECT_BINARY_DIR}/CaffeConfig.cmake
                              INSTALL_DESTINATION ${caffe_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/CaffeConfigVersion.cmake
                                 COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/CaffeConfig.cmake ${PROJECT_BINARY_DIR}/CaffeConfigVersion.cmake
        DESTINATION ${caffe_package_dir})
