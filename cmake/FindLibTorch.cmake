# Finds LibTorch >= 2.1 without its own TorchConfig.cmake, which insists on a CUDA toolkit.
#
#   LibTorch_ROOT          where to look: a LibTorch folder or a Python package's torch/ folder;
#                          by default the one that scripts/setup installed
#
# Provides the imported target LibTorch::LibTorch (CPU only), LibTorch_VERSION, and, if it is not
# found, LibTorch_NOT_FOUND_MESSAGE.

set(_libtorch_places ${LibTorch_ROOT} $ENV{LibTorch_ROOT})
if(NOT _libtorch_places)
  set(_cacheinf_cache "$ENV{CACHEINF_CACHE}")
  if(NOT _cacheinf_cache)
    set(_cacheinf_cache "$ENV{HOME}/.cache/cacheinf")
  endif()
  file(GLOB _libtorch_places ${_cacheinf_cache}/libtorch-venv/lib/python3*/site-packages/torch)
endif()

find_path(LibTorch_INCLUDE_DIR torch/script.h
          PATHS ${_libtorch_places} PATH_SUFFIXES include NO_DEFAULT_PATH)
find_library(LibTorch_CPU_LIBRARY torch_cpu
             PATHS ${_libtorch_places} PATH_SUFFIXES lib NO_DEFAULT_PATH)
find_library(LibTorch_C10_LIBRARY c10
             PATHS ${_libtorch_places} PATH_SUFFIXES lib NO_DEFAULT_PATH)

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

# We exchange std::string with it, so both must use the same one.
set(LibTorch_HAS_CXX11_ABI FALSE)
if(LibTorch_C10_LIBRARY)
  file(STRINGS ${LibTorch_C10_LIBRARY} _libtorch_new_strings REGEX "__cxx11" LIMIT_COUNT 1)
  if(_libtorch_new_strings)
    set(LibTorch_HAS_CXX11_ABI TRUE)
  endif()
endif()

if(NOT LibTorch_INCLUDE_DIR OR NOT LibTorch_CPU_LIBRARY OR NOT LibTorch_C10_LIBRARY)
  set(LibTorch_NOT_FOUND_MESSAGE "no torch/script.h with libtorch_cpu and libc10")
elseif(NOT LibTorch_HAS_CXX11_ABI)
  set(LibTorch_NOT_FOUND_MESSAGE
      "the one in ${LibTorch_INCLUDE_DIR} is built for the string type from before C++11")
else()
  set(LibTorch_NOT_FOUND_MESSAGE "the one in ${LibTorch_INCLUDE_DIR} is ${LibTorch_VERSION}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  LibTorch
  REQUIRED_VARS LibTorch_INCLUDE_DIR LibTorch_CPU_LIBRARY LibTorch_C10_LIBRARY
                LibTorch_HAS_CXX11_ABI
  VERSION_VAR LibTorch_VERSION)

if(LibTorch_FOUND AND NOT TARGET LibTorch::LibTorch)
  add_library(LibTorch::C10 SHARED IMPORTED)
  set_target_properties(LibTorch::C10 PROPERTIES IMPORTED_LOCATION ${LibTorch_C10_LIBRARY})
  add_library(LibTorch::LibTorch SHARED IMPORTED)
  set_target_properties(
    LibTorch::LibTorch
    PROPERTIES IMPORTED_LOCATION ${LibTorch_CPU_LIBRARY}
               INTERFACE_INCLUDE_DIRECTORIES
               "${LibTorch_INCLUDE_DIR};${LibTorch_INCLUDE_DIR}/torch/csrc/api/include"
               # Files include the operators that they call, not the headers of all.
               INTERFACE_COMPILE_DEFINITIONS AT_PER_OPERATOR_HEADERS
               INTERFACE_LINK_LIBRARIES LibTorch::C10)
endif()
