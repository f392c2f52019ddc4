option(CACHEINF_WERROR "Treat warnings as errors" OFF)
option(CACHEINF_COVERAGE "Count which lines run (gcov)" OFF)
option(CACHEINF_FUZZ "Build the fuzz targets (libFuzzer, needs clang)" OFF)
set(CACHEINF_SANITIZE "" CACHE STRING "Sanitizers to build with: address,undefined or thread")

# Contraction is off everywhere: a * b + c is fused only where the code asks for it, so that every
# build computes the same bits.
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-ffp-contract=off>"
                    "$<$<COMPILE_LANGUAGE:CUDA>:-fmad=false;-Xcompiler=-Wall,-Wextra,-ffp-contract=off>")
# Kernels call constexpr functions as the host does. Views convert to views of const, of which the
# compiler says that those of const never do (554).
add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;--diag-suppress=554>")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 sees overlaps within std::string that are none (its bug 105651).
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>")
endif()
if(CACHEINF_WERROR)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Werror>"
                      "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>")
endif()

# For what no frame's time depends on (command lines, JSON, importers): mostly templates of others
# that take long to optimise.
set(CACHEINF_QUICK_TO_COMPILE "$<$<CONFIG:Release>:-O1>")

# What nearly every file reads of the standard library, precompiled. Files include what they use all
# the same: clang-tidy reads them without.
set(CACHEINF_STANDARD_HEADERS
    <algorithm> <array> <chrono> <cmath> <filesystem> <functional> <map> <memory> <optional> <span>
    <string> <string_view> <utility> <variant> <vector>)

# The standard library's own checks, in every build that is not timed.
add_compile_definitions("$<$<NOT:$<CONFIG:Release>>:_GLIBCXX_ASSERTIONS>")

# A linker that takes a quarter of the time: for test programs, and for everything that is not timed.
find_program(CACHEINF_QUICK_LINKER NAMES mold ld.lld)
set(CACHEINF_LINK_QUICKLY)
if(CACHEINF_QUICK_LINKER)
  cmake_path(GET CACHEINF_QUICK_LINKER FILENAME quick_linker)
  string(REPLACE "ld.lld" "lld" quick_linker ${quick_linker})
  set(CACHEINF_LINK_QUICKLY -fuse-ld=${quick_linker})
  add_link_options("$<$<NOT:$<CONFIG:Release>>:${CACHEINF_LINK_QUICKLY}>")
endif()

if(CACHEINF_SANITIZE)
  add_compile_options(-fsanitize=${CACHEINF_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${CACHEINF_SANITIZE})
endif()
if(CACHEINF_SANITIZE MATCHES "address")
  # The largest tiles take minutes to compile once every access in them is checked. AVX2's and the
  # scalar kernels are the same code.
  add_compile_definitions(HWY_BROKEN_TARGETS=HWY_AVX3)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    add_compile_definitions(__SANITIZE_ADDRESS__)  # as g++ says by itself
  endif()
endif()

if(CACHEINF_COVERAGE)
  # Atomic counters make the kernels' threads a hundred times as slow; plain ones may lose counts
  # between threads, but no line.
  add_compile_options(--coverage -fprofile-update=single)
  add_link_options(--coverage)
endif()

if(CACHEINF_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "CACHEINF_FUZZ needs clang: use the fuzz preset, or set CMAKE_CXX_COMPILER.")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
