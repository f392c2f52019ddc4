find_package(Threads REQUIRED)
find_package(LibTorch 2.1 QUIET)
if(NOT LibTorch_FOUND)
  message(FATAL_ERROR "LibTorch 2.1 or newer was not found"
                      " (${LibTorch_NOT_FOUND_MESSAGE}): run scripts/setup,"
                      " or give -DLibTorch_ROOT=/path/to/libtorch.")
endif()
find_package(OpenCV 4.5 REQUIRED COMPONENTS core imgproc imgcodecs videoio video features2d)
find_package(Protobuf REQUIRED)
find_package(nlohmann_json 3.10 REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(CODECS REQUIRED IMPORTED_TARGET libturbojpeg libzstd libavcodec libavutil)
find_package(PNG REQUIRED)
# What benchmarks send values and pictures with.
pkg_check_modules(BENCH_CODECS REQUIRED IMPORTED_TARGET libzstd libavcodec libavutil libswscale)

find_package(MPI QUIET COMPONENTS C)
find_path(OpenMPI_EXTENSIONS mpi-ext.h HINTS ${MPI_C_INCLUDE_DIRS})
mark_as_advanced(OpenMPI_EXTENSIONS)
if(MPI_C_FOUND AND OpenMPI_EXTENSIONS)
  set(CACHEINF_HAS_MPI ON)
else()
  set(CACHEINF_HAS_MPI OFF)
  message(NOTICE "Open MPI's development files are missing (Debian: apt-get install libopenmpi-dev);"
                 " CacheInf is built without MPI.")
endif()

# The ONNX messages that libonnx-dev holds compiled, under the names that it was compiled with.
add_library(onnx_messages INTERFACE)
target_compile_definitions(onnx_messages INTERFACE ONNX_NAMESPACE=onnx ONNX_ML=1)
target_link_libraries(onnx_messages INTERFACE onnx_proto protobuf::libprotobuf)
