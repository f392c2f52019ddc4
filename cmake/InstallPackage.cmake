# What `cmake --install` adds to the programs: the configurations, the scripts that work without the
# sources, and what another program needs to link a robot with find_package(CacheInf) and
# cacheinf::client (docs/example).
include(CMakePackageConfigHelpers)

install(DIRECTORY configs/ DESTINATION share/cacheinf)
install(PROGRAMS scripts/name-server scripts/setup DESTINATION share/cacheinf/scripts)
install(FILES scripts/internal/mend_ros.py scripts/internal/ros_requirements.txt
              scripts/internal/steps.sh DESTINATION share/cacheinf/scripts/internal)
install(
  DIRECTORY client common sparse_ops
  DESTINATION include/cacheinf
  FILES_MATCHING
  PATTERN "*.h"
  PATTERN "function_core.inc"
  PATTERN "*-inl.h" EXCLUDE
  PATTERN "client/calibrate" EXCLUDE
  PATTERN "client/python" EXCLUDE
  PATTERN "client/record" EXCLUDE
  PATTERN "client/ros/ros1" EXCLUDE
  PATTERN "client/ros/ros2" EXCLUDE
  PATTERN "client/run" EXCLUDE
  PATTERN "common/model/onnx" EXCLUDE
  PATTERN "common/model/torchscript/importer.h" EXCLUDE
  PATTERN "sparse_ops/cuda" EXCLUDE)

install(TARGETS client profiler common sparse_ops onnx_messages EXPORT CacheInf)
install(EXPORT CacheInf NAMESPACE cacheinf:: DESTINATION lib/cmake/CacheInf)
configure_package_config_file(
  cmake/CacheInfConfig.cmake.in ${PROJECT_BINARY_DIR}/CacheInfConfig.cmake
  INSTALL_DESTINATION lib/cmake/CacheInf)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/CacheInfConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/CacheInfConfig.cmake
              ${PROJECT_BINARY_DIR}/CacheInfConfigVersion.cmake
        DESTINATION lib/cmake/CacheInf)
