# Finds libtorch inside a torch wheel (or PyTorch's zip archive of it) and makes the imported target LibTorch::LibTorch of its CPU half.
#
# The folder is the one that holds `include/` and `lib/`. The first of these that is set or exists is taken:
# LIBTORCH as a CMake variable or in the environment; build/libtorch of the source tree, the link that scripts/bootstrap.sh leaves;
# LibTorch_HINT (debiasConfig.cmake's: the folder debias was built with); the cache folder of scripts/bootstrap.sh.
#
# The CUDA-enabled wheel's own CMake package insists on a CUDA toolkit, and its include folder shadows the system's fmt and
# protobuf: hence this module, and a folder of links to the four header trees that are torch's own.

if(DEBIAS_TORCH)  # another version, for the Python package and for an installed debias that was built with one
  set(LibTorch_FIND_VERSION ${DEBIAS_TORCH})
endif()
set(_cache "$ENV{XDG_CACHE_HOME}")
if(_cache STREQUAL "")
  set(_cache "$ENV{HOME}/.cache")
endif()
set(_default "${_cache}/debias/torch-${LibTorch_FIND_VERSION}/torch")
set(_folder "${LIBTORCH}")
if(NOT _folder)
  set(_folder "$ENV{LIBTORCH}")
endif()
foreach(_candidate "${CMAKE_CURRENT_LIST_DIR}/../build/libtorch" "${LibTorch_HINT}" "${_default}")
  if(NOT _folder AND _candidate AND EXISTS "${_candidate}/lib/libtorch_cpu.so")
    set(_folder "${_candidate}")
  endif()
endforeach()
if(NOT _folder)
  set(_folder "${_default}")
endif()
get_filename_component(LibTorch_FOLDER "${_folder}" REALPATH)

set(LibTorch_VERSION "")
foreach(_file version.py build-version)  # of the wheel, of the zip archive
  if(NOT LibTorch_VERSION AND EXISTS "${LibTorch_FOLDER}/${_file}")
    file(STRINGS "${LibTorch_FOLDER}/${_file}" _line REGEX "^(__version__.*)?[0-9]+\\.[0-9]+\\.[0-9]+" LIMIT_COUNT 1)
    string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" LibTorch_VERSION "${_line}")
  endif()
endforeach()

if(LibTorch_VERSION IN_LIST LibTorch_ALSO AND NOT DEBIAS_TORCH)
  set(LibTorch_FIND_VERSION ${LibTorch_VERSION})
endif()

find_library(LibTorch_CPU torch_cpu PATHS "${LibTorch_FOLDER}/lib" NO_DEFAULT_PATH NO_CACHE)
find_library(LibTorch_C10 c10 PATHS "${LibTorch_FOLDER}/lib" NO_DEFAULT_PATH NO_CACHE)
file(GLOB LibTorch_GOMP "${LibTorch_FOLDER}/lib/libgomp*.so*")

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  LibTorch
  REQUIRED_VARS LibTorch_CPU LibTorch_C10 LibTorch_GOMP
  VERSION_VAR LibTorch_VERSION
  REASON_FAILURE_MESSAGE "no torch ${LibTorch_FIND_VERSION} in '${LibTorch_FOLDER}': run scripts/bootstrap.sh, or set LIBTORCH")
if(LibTorch_VERSION AND NOT LibTorch_VERSION VERSION_EQUAL LibTorch_FIND_VERSION)
  message(FATAL_ERROR "torch ${LibTorch_FIND_VERSION} is asked for, '${LibTorch_FOLDER}' holds ${LibTorch_VERSION}")
endif()

if(LibTorch_FOUND AND NOT TARGET LibTorch::LibTorch)
  # NVIDIA's wheels lie beside torch's in an environment.
  file(GLOB _wheels LIST_DIRECTORIES TRUE "${LibTorch_FOLDER}/../nvidia/*/lib")
  list(TRANSFORM _wheels PREPEND "-Wl,-rpath-link,")
  # Named by the version, so that another one compiles everything again: the headers may be older than the objects.
  set(_links "${CMAKE_BINARY_DIR}/libtorch_include/${LibTorch_VERSION}")
  file(MAKE_DIRECTORY "${_links}")
  foreach(_tree ATen c10 caffe2 torch)
    file(CREATE_LINK "${LibTorch_FOLDER}/include/${_tree}" "${_links}/${_tree}" SYMBOLIC)
  endforeach()
  add_library(LibTorch::LibTorch INTERFACE IMPORTED)
  set_target_properties(
    LibTorch::LibTorch PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${_links};${_links}/torch/csrc/api/include"
    INTERFACE_COMPILE_OPTIONS "-fopenmp"
    # libtorch_cpu registers its kernels when it is loaded, and torch's own OpenMP runtime must be the only one.
    INTERFACE_LINK_LIBRARIES "-Wl,--no-as-needed;${LibTorch_CPU};-Wl,--as-needed;${LibTorch_C10};${LibTorch_GOMP}"
    INTERFACE_LINK_OPTIONS "-Wl,-rpath,${LibTorch_FOLDER}/lib;-Wl,-rpath-link,${LibTorch_FOLDER}/lib;${_wheels}")
endif()
