# Finds LibTorch >= 2.1 without its own TorchConfig.cmake, which insists on a CUDA toolkit.
#
#   LibTorch_ROOT          where to look: a LibTorch folder or a Python package's torch/ folder;
#                          by default what scripts/setup installed
#
# Gives the imported target LibTorch::LibTorch (CPU only) and LibTorch_VERSION.

set(_cacheinf_cache "$ENV{CACHEINF_CACHE}")
if(NOT _cacheinf_cache)
  set(_cacheinf_cache "$ENV{HOME}/.cache/cacheinf")
endif()
file(GLOB _libtorch_hints ${_cacheinf_cache}/libtorch*/lib/python3*/site-packages/torch)

find_path(LibTorch_INCLUDE_DIR torch/script.h HINTS ${_libtorch_hints} PATH_SUFFIXES include)
find_library(LibTorch_CPU_LIBRARY torch_cpu HINTS ${_libtorch_hints} PATH_SUFFIXES lib)
find_library(LibTorch_C10_LIBRARY c10 HINTS ${_libtorch_hints} PATH_SUFFIXES lib)

if(LibTorch_INCLUDE_DIR AND EXISTS ${LibTorch_INCLUDE_DIR}/torch/headeronly/version.h)
  set(_libtorch_version_file ${LibTorch_INCLUDE_DIR}/torch/headeronly/version.h)
elseif(LibTorch_INCLUDE_DIR)
  set(_libtorch_version_file ${LibTorch_INCLUDE_DIR}/torch/csrc/api/include/torch/version.h)
endif()
if(_libtorch_version_file AND EXISTS ${_libtorch_version_file})
  file(READ ${_libtorch_version_file} _libtorch_version_text)
  foreach(_part MAJOR MINOR PATCH)
    string(REGEX MATCH "TORCH_VERSION_${_part} ([0-9]+)" _ "${_libtorch_version_text}")
    list(APPEND _libtorch_version_parts ${CMAKE_MATCH_1})
  endforeach()
  list(JOIN _libtorch_version_parts "." LibTorch_VERSION)
  unset(_libtorch_version_parts)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  LibTorch
  REQUIRED_VARS LibTorch_INCLUDE_DIR LibTorch_CPU_LIBRARY LibTorch_C10_LIBRARY
  VERSION_VAR LibTorch_VERSION
  REASON_FAILURE_MESSAGE "run scripts/setup, or give -DLibTorch_ROOT=/path/to/libtorch")

if(LibTorch_FOUND AND NOT TARGET LibTorch::LibTorch)
  add_library(LibTorch::C10 SHARED IMPORTED)
  set_target_properties(LibTorch::C10 PROPERTIES IMPORTED_LOCATION ${LibTorch_C10_LIBRARY})
  add_library(LibTorch::LibTorch SHARED IMPORTED)
  set_target_properties(
    LibTorch::LibTorch
    PROPERTIES IMPORTED_LOCATION ${LibTorch_CPU_LIBRARY}
               INTERFACE_INCLUDE_DIRECTORIES
               "${LibTorch_INCLUDE_DIR};${LibTorch_INCLUDE_DIR}/torch/csrc/api/include"
               INTERFACE_LINK_LIBRARIES LibTorch::C10)
endif()
