# Finds libtorch inside an unpacked torch wheel and makes the imported target LibTorch::LibTorch of its CPU half.
#
# LIBTORCH (cache variable or environment) names the folder `torch` that holds `include/` and `lib/`. The CUDA-enabled wheel's
# own CMake package insists on a CUDA toolkit, and its include folder shadows the system's fmt and protobuf: hence this
# module, and a folder of links to the four header trees that are torch's own.

set(LIBTORCH "$ENV{LIBTORCH}" CACHE PATH "The folder `torch` of an unpacked torch ${LibTorch_FIND_VERSION} wheel")
if(NOT LIBTORCH)
  if(DEFINED ENV{XDG_CACHE_HOME} AND NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
    set(_cache "$ENV{XDG_CACHE_HOME}")
  else()
    set(_cache "$ENV{HOME}/.cache")
  endif()
  set(LIBTORCH "${_cache}/debias/torch-${LibTorch_FIND_VERSION}/torch" CACHE PATH "" FORCE)
endif()

set(LibTorch_VERSION "")
if(EXISTS "${LIBTORCH}/version.py")
  file(STRINGS "${LIBTORCH}/version.py" _line REGEX "^__version__")
  string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" LibTorch_VERSION "${_line}")
endif()

find_library(LibTorch_CPU torch_cpu PATHS "${LIBTORCH}/lib" NO_DEFAULT_PATH)
find_library(LibTorch_C10 c10 PATHS "${LIBTORCH}/lib" NO_DEFAULT_PATH)
file(GLOB LibTorch_GOMP "${LIBTORCH}/lib/libgomp*.so*")

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  LibTorch
  REQUIRED_VARS LibTorch_CPU LibTorch_C10 LibTorch_GOMP
  VERSION_VAR LibTorch_VERSION
  REASON_FAILURE_MESSAGE "no torch ${LibTorch_FIND_VERSION} in '${LIBTORCH}': run scripts/bootstrap.sh, or set LIBTORCH")
if(LibTorch_VERSION AND NOT LibTorch_VERSION VERSION_EQUAL LibTorch_FIND_VERSION)
  message(FATAL_ERROR "torch ${LibTorch_FIND_VERSION} is asked for, '${LIBTORCH}' holds ${LibTorch_VERSION}")
endif()

if(LibTorch_FOUND AND NOT TARGET LibTorch::LibTorch)
  set(_links "${CMAKE_BINARY_DIR}/libtorch_include")
  file(MAKE_DIRECTORY "${_links}")
  foreach(_tree ATen c10 caffe2 torch)
    file(CREATE_LINK "${LIBTORCH}/include/${_tree}" "${_links}/${_tree}" SYMBOLIC)
  endforeach()
  add_library(LibTorch::LibTorch INTERFACE IMPORTED)
  set_target_properties(
    LibTorch::LibTorch PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${_links};${_links}/torch/csrc/api/include"
    INTERFACE_COMPILE_OPTIONS "-fopenmp"
    # libtorch_cpu registers its kernels when it is loaded, and torch's own OpenMP runtime must be the only one.
    INTERFACE_LINK_LIBRARIES "-Wl,--no-as-needed;${LibTorch_CPU};-Wl,--as-needed;${LibTorch_C10};${LibTorch_GOMP}"
    INTERFACE_LINK_OPTIONS "-Wl,-rpath,${LIBTORCH}/lib;-Wl,-rpath-link,${LIBTORCH}/lib;-Wl,-rpath-link,${LIBTORCH}/../nvidia/cu13/lib")
endif()
