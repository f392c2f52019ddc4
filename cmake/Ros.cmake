# Finds ROS 2: the distribution that was sourced, or else what scripts/setup --ros installed. Sets
# CACHEINF_HAS_ROS and CACHEINF_ROS_PYTHON, the Python that has rclpy. What links cacheinf_rcl has
# rcl and the messages named below.
set(CACHEINF_ROS AUTO CACHE STRING "Build what needs ROS 2: ON, OFF, or AUTO (if it is found)")
set_property(CACHE CACHEINF_ROS PROPERTY STRINGS AUTO ON OFF)
set(CACHEINF_ROS_PREFIX "" CACHE STRING "Folders of ROS 2 (default: $AMENT_PREFIX_PATH when first seen,\
 else that of scripts/setup --ros)")
set(CACHEINF_ROS_MESSAGES sensor_msgs std_msgs std_srvs diagnostic_msgs rcl_interfaces lifecycle_msgs)

# In a function, because the packages set variables as they like.
function(cacheinf_find_ros)
  # The next build notices a new one.
  file(GLOB wheels CONFIGURE_DEPENDS ${cacheinf_cache}/ros-venv/.cacheinf-mended)
  if(NOT CACHEINF_ROS_PREFIX AND NOT "$ENV{AMENT_PREFIX_PATH}" STREQUAL "")
    string(REPLACE ":" ";" prefixes "$ENV{AMENT_PREFIX_PATH}")
    set(CACHEINF_ROS_PREFIX "${prefixes}" CACHE STRING "" FORCE)
  endif()
  set(prefixes ${CACHEINF_ROS_PREFIX})
  if(NOT prefixes AND wheels)
    cmake_path(GET wheels PARENT_PATH prefixes)
    set(Python3_EXECUTABLE ${prefixes}/bin/python)
    set(CACHEINF_ROS_PYTHON ${Python3_EXECUTABLE})
  elseif(prefixes)
    find_program(CACHEINF_ROS_PYTHON python3)
    mark_as_advanced(CACHEINF_ROS_PYTHON)
  else()
    return()
  endif()

  list(JOIN prefixes ":" ament_prefixes)
  list(TRANSFORM prefixes APPEND /share/rcl/cmake OUTPUT_VARIABLE places_of_rcl)
  if(rcl_DIR AND NOT rcl_DIR IN_LIST places_of_rcl)
    message(FATAL_ERROR "This build folder uses ROS 2 in ${rcl_DIR}; to build with ${ament_prefixes}"
                        " please start anew (cmake --fresh).")
  endif()
  set(ENV{AMENT_PREFIX_PATH} "${ament_prefixes}")
  list(PREPEND CMAKE_PREFIX_PATH ${prefixes})
  set(AMENT_CMAKE_UNINSTALL_TARGET OFF CACHE INTERNAL "")
  foreach(package rcl rcl_lifecycle ${CACHEINF_ROS_MESSAGES})
    find_package(${package} CONFIG QUIET)
    if(NOT ${package}_FOUND)
      message(NOTICE "ROS 2 in ${ament_prefixes} has no ${package}.")
      return()
    endif()
  endforeach()
  find_package(vision_msgs CONFIG QUIET)
  set(packages ${CACHEINF_ROS_MESSAGES})
  if(vision_msgs_FOUND)
    list(APPEND packages vision_msgs)
  endif()
  add_library(cacheinf_rcl INTERFACE)
  target_link_libraries(cacheinf_rcl INTERFACE rcl::rcl rcl_lifecycle::rcl_lifecycle)
  foreach(package ${packages})
    target_link_libraries(
      cacheinf_rcl
      INTERFACE ${package}::${package}__rosidl_generator_c
                ${package}::${package}__rosidl_typesupport_c
                ${package}::${package}__rosidl_generator_cpp
                ${package}::${package}__rosidl_typesupport_cpp)
  endforeach()
  if(vision_msgs_FOUND)
    target_compile_definitions(cacheinf_rcl INTERFACE CACHEINF_HAS_VISION_MSGS)
  endif()
  # rcl names libraries that only Python needs. It loads others by name while it runs, for which the
  # new kind of library path does not count.
  target_link_options(cacheinf_rcl INTERFACE -Wl,--as-needed -Wl,--disable-new-dtags)
  set(CACHEINF_HAS_ROS ON PARENT_SCOPE)
  set(CACHEINF_ROS_PYTHON ${CACHEINF_ROS_PYTHON} PARENT_SCOPE)
  # Generates our own messages.
  set(ENV{ROS_VERSION} 2)
  if(wheels)
    set(Python3_FIND_VIRTUALENV ONLY)
    set(ENV{VIRTUAL_ENV} ${prefixes})
  endif()
  set(CMAKE_INSTALL_RPATH "$ORIGIN") # its libraries find each other
  add_subdirectory(${PROJECT_SOURCE_DIR}/client/ros/cacheinf_msgs
                   ${PROJECT_BINARY_DIR}/cacheinf_msgs)
endfunction()

set(CACHEINF_HAS_ROS OFF)
# Sanitizers watch our code, not that of ROS.
if(CACHEINF_ROS AND NOT CACHEINF_SANITIZE)
  cacheinf_find_ros()
  if(NOT CACHEINF_HAS_ROS AND NOT CACHEINF_ROS STREQUAL "AUTO")
    message(FATAL_ERROR "ROS 2 was not found: run scripts/setup --ros, or source a distribution.")
  endif()
endif()
if(NOT CACHEINF_HAS_ROS)
  message(STATUS "ROS 2 is left out (neither sourced nor installed by scripts/setup --ros, or"
                 " CACHEINF_ROS is OFF).")
endif()
