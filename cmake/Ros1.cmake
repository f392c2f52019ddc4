# Finds ROS 1: Debian's packages, which scripts/setup --ros1 installs. Sets CACHEINF_HAS_ROS1. What
# links cacheinf_roscpp has roscpp and the messages named below; cacheinf_nodelet_api, nodelets.
set(CACHEINF_ROS1 AUTO CACHE STRING "Build what needs ROS 1: ON, OFF, or AUTO (if it is found)")
set_property(CACHE CACHEINF_ROS1 PROPERTY STRINGS AUTO ON OFF)

# Its headers name what C++20 has left out of std::allocator; these get copies that do without.
set(CACHEINF_ROS1_MENDED
    ros/serialization.h
    diagnostic_msgs/DiagnosticArray.h
    diagnostic_msgs/DiagnosticStatus.h
    diagnostic_msgs/KeyValue.h
    rosgraph_msgs/Log.h
    sensor_msgs/CompressedImage.h
    sensor_msgs/Image.h
    std_msgs/Header.h
    std_msgs/String.h
    std_srvs/SetBoolResponse.h
    std_srvs/TriggerResponse.h)

function(cacheinf_mend_ros1 from to)
  foreach(header ${CACHEINF_ROS1_MENDED})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${from}/${header})
    file(READ ${from}/${header} text)
    string(REPLACE "ContainerAllocator::template rebind<"
                   "std::allocator_traits<ContainerAllocator>::template rebind_alloc<" text "${text}")
    string(REPLACE ">::other" ">" text "${text}")
    string(REGEX REPLACE "#include \"([a-z_]+[.]h)\"" "#include <ros/\\1>" text "${text}")
    file(CONFIGURE OUTPUT ${to}/${header} CONTENT "${text}" @ONLY)
  endforeach()
endfunction()

# Our own messages, by catkin in a build of its own, into a folder as an installation has it.
function(cacheinf_add_ros1_messages ros1_prefix to)
  set(source ${PROJECT_SOURCE_DIR}/client/ros/cacheinf_msgs)
  set(build ${PROJECT_BINARY_DIR}/ros1-messages)
  file(GLOB definitions CONFIGURE_DEPENDS ${source}/*/*.msg ${source}/*/*.srv)
  set(headers ${definitions})
  list(TRANSFORM headers REPLACE ".*/([A-Za-z]+)[.](msg|srv)" "${to}/include/cacheinf_msgs/\\1.h")
  set(environment ${CMAKE_COMMAND} -E env --unset=CMAKE_PREFIX_PATH --unset=AMENT_PREFIX_PATH
                  --unset=ROS_DISTRO ROS_VERSION=1)
  add_custom_command(
    OUTPUT ${build}/installed
    BYPRODUCTS ${headers}
    COMMAND
      ${environment} ${CMAKE_COMMAND} -S ${source} -B ${build} -G ${CMAKE_GENERATOR}
      -DCMAKE_PREFIX_PATH=${ros1_prefix} -DCMAKE_INSTALL_PREFIX=${to}
      -DPYTHON_EXECUTABLE=/usr/bin/python3 -DCATKIN_ENABLE_TESTING=OFF > ${build}.log
    COMMAND ${environment} ${CMAKE_COMMAND} --build ${build} --target install >> ${build}.log
    COMMAND ${CMAKE_COMMAND} -E touch ${build}/installed
    DEPENDS ${definitions} ${source}/CMakeLists.txt ${source}/package.xml
    COMMENT "Generating the messages of ROS 1"
    VERBATIM)
  add_custom_target(cacheinf_ros1_messages DEPENDS ${build}/installed)
endfunction()

function(cacheinf_find_ros1)
  pkg_check_modules(ROS1 QUIET IMPORTED_TARGET roscpp)
  if(NOT ROS1_FOUND)
    return()
  endif()
  pkg_get_variable(prefix roscpp prefix)
  foreach(library nodeletlib class_loader console_bridge rcpputils rcutils)
    find_library(ROS1_${library} ${library} HINTS ${prefix}/lib)
    mark_as_advanced(ROS1_${library})
    list(APPEND libraries ${ROS1_${library}})
  endforeach()
  foreach(file nodelet/nodelet.h std_srvs/SetBool.h diagnostic_msgs/DiagnosticArray.h
               sensor_msgs/Image.h)
    list(APPEND needed ${prefix}/include/${file})
  endforeach()
  foreach(file catkin/cmake/catkinConfig.cmake genpy/cmake/genpyConfig.cmake
               std_msgs/msg/Header.msg)
    list(APPEND needed ${prefix}/share/${file})
  endforeach()
  foreach(file ${needed} ${libraries})
    if(NOT EXISTS ${file})
      message(NOTICE "ROS 1 in ${prefix} is not whole: there is no ${file}.")
      return()
    endif()
  endforeach()

  set(own ${PROJECT_BINARY_DIR}/ros1)
  cacheinf_mend_ros1(${prefix}/include ${PROJECT_BINARY_DIR}/ros1-mended)
  cacheinf_add_ros1_messages(${prefix} ${own})
  add_library(cacheinf_roscpp INTERFACE)
  add_dependencies(cacheinf_roscpp cacheinf_ros1_messages)
  target_include_directories(cacheinf_roscpp SYSTEM INTERFACE ${PROJECT_BINARY_DIR}/ros1-mended
                                                              ${own}/include)
  target_link_libraries(cacheinf_roscpp INTERFACE PkgConfig::ROS1)
  add_library(cacheinf_nodelet_api INTERFACE)
  foreach(package ament_index_cpp class_loader pluginlib rcpputils rcutils)
    target_include_directories(cacheinf_nodelet_api SYSTEM INTERFACE ${prefix}/include/${package})
  endforeach()
  target_link_libraries(cacheinf_nodelet_api INTERFACE cacheinf_roscpp ${libraries})
  set(CACHEINF_HAS_ROS1 ON PARENT_SCOPE)
endfunction()

set(CACHEINF_HAS_ROS1 OFF)
# Sanitizers watch our code, not that of ROS.
if(CACHEINF_ROS1 AND NOT CACHEINF_SANITIZE)
  cacheinf_find_ros1()
  if(NOT CACHEINF_HAS_ROS1 AND NOT CACHEINF_ROS1 STREQUAL "AUTO")
    message(FATAL_ERROR "ROS 1 was not found: run scripts/setup --ros1.")
  endif()
endif()
if(NOT CACHEINF_HAS_ROS1)
  message(STATUS "ROS 1 is left out (not installed by scripts/setup --ros1, or CACHEINF_ROS1 is OFF).")
endif()
