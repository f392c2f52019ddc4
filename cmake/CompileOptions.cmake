option(CACHEINF_WERROR "Treat warnings as errors" OFF)
option(CACHEINF_COVERAGE "Count which lines run (gcov)" OFF)
option(CACHEINF_FUZZ "Build the fuzz targets (libFuzzer, needs clang)" OFF)
set(CACHEINF_SANITIZE "" CACHE STRING "Sanitizers to build with: address,undefined or thread")

# Contraction is off everywhere: a * b + c is fused only where the code asks for it, so that every
# build computes the same bits.
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-ffp-contract=off>"
                    "$<$<COMPILE_LANGUAGE:CUDA>:-fmad=false;-Xcompiler=-Wall,-Wextra,-ffp-contract=off>")
# Kernels call constexpr functions as the host does. Views convert to views of const; nvcc warns that
# views of const never use that conversion (554).
add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;--diag-suppress=554>")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 warns of overlaps in std::string that do not exist (its bug 105651).
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>")
endif()
if(CACHEINF_WERROR)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Werror>"
                      "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>")
endif()

# For files that no frame's time depends on (command lines, JSON, importers): mostly other people's
# templates, which take long to optimise.
set(CACHEINF_QUICK_TO_COMPILE "$<$<CONFIG:Release>:-O1>")

# Precompiles what nearly every file reads from the standard library. Files still include what they
# use: clang-tidy reads them without.
set(CACHEINF_STANDARD_HEADERS
    <algorithm> <array> <chrono> <cmath> <filesystem> <functional> <map> <memory> <optional> <span>
    <string> <string_view> <utility> <variant> <vector>)

# Turns on the standard library's checks in every build that is not timed.
add_compile_definitions("$<$<NOT:$<CONFIG:Release>>:_GLIBCXX_ASSERTIONS>")

# A linker that takes a quarter of the time, for test programs and for everything that is not timed.
find_program(CACHEINF_QUICK_LINKER NAMES mold ld.lld)
set(CACHEINF_LINK_QUICKLY)
if(CACHEINF_QUICK_LINKER)
  cmake_path(GET CACHEINF_QUICK_LINKER FILENAME quick_linker)
  string(REPLACE "ld.lld" "lld" quick_linker ${quick_linker})
  set(CACHEINF_LINK_QUICKLY -fuse-ld=${quick_linker})
  add_link_options("$<$<NOT:$<CONFIG:Release>>:${CACHEINF_LINK_QUICKLY}>")
endif()

# cacheinf_compile_for_modules(TARGET): so that a shared library, such as Python's module, can hold it.
# Nothing may take the place of its functions, which are inlined as in a program.
function(cacheinf_compile_for_modules target)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target}
                         PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fPIC;-fno-semantic-interposition>)
endfunction()

if(CACHEINF_SANITIZE)
  add_compile_options(-fsanitize=${CACHEINF_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${CACHEINF_SANITIZE})
endif()
if(CACHEINF_SANITIZE MATCHES "address")
  # The largest tiles take minutes to compile if every access in them is checked. The AVX2 and scalar
  # kernels are the same code.
  add_compile_definitions(HWY_BROKEN_TARGETS=HWY_AVX3)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    add_compile_definitions(__SANITIZE_ADDRESS__)  # as g++ says by itself
  endif()
endif()

if(CACHEINF_COVERAGE)
  # Atomic counters make the kernels' threads a hundred times slower; plain ones may lose counts
  # between threads, but never a line.
  add_compile_options(--coverage -fprofile-update=single)
  add_link_options(--coverage)
endif()

if(CACHEINF_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "CACHEINF_FUZZ needs clang: use the fuzz preset, or set CMAKE_CXX_COMPILER.")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
