# Finds what libdebias_nccl is made of, and makes the imported target Nccl::TorchGroups: libtorch's CUDA libraries, which have the groups, and
# the headers of CUDA and NCCL that theirs include. Nccl_MISSING says what is not there.
#
# CUDA_HOME and NCCL_HOME, as CMake variables or in the environment, name folders that hold include/; without them the wheels beside libtorch's
# and /usr/local/cuda are looked through. A structure of nccl.h is part of the groups' options, so that it must be the header of the version
# that this libtorch was built with, which its wheel names.

find_library(Nccl_TORCH_CUDA torch_cuda PATHS "${LibTorch_FOLDER}/lib" NO_DEFAULT_PATH NO_CACHE)
find_library(Nccl_C10_CUDA c10_cuda PATHS "${LibTorch_FOLDER}/lib" NO_DEFAULT_PATH NO_CACHE)
set(_wheels "${LibTorch_FOLDER}/../nvidia")
find_path(Nccl_CUDA_INCLUDE_DIR cusolverDn.h NO_DEFAULT_PATH NO_CACHE
          PATHS "${CUDA_HOME}/include" "$ENV{CUDA_HOME}/include" "${_wheels}/cu13/include" /usr/local/cuda/include)
find_path(Nccl_INCLUDE_DIR nccl.h NO_DEFAULT_PATH NO_CACHE
          PATHS "${NCCL_HOME}/include" "$ENV{NCCL_HOME}/include" "${_wheels}/nccl/include" "${Nccl_CUDA_INCLUDE_DIR}" /usr/include)
# cuda_runtime.h and cuda_fp16.h include them; their wheels are not among those that torch asks for.
set(_cuda_folders HINTS "${Nccl_CUDA_INCLUDE_DIR}" "${Nccl_CUDA_INCLUDE_DIR}/cccl" PATHS /usr/local/cuda/include /usr/local/cuda/include/cccl)
find_path(Nccl_CRT_INCLUDE_DIR crt/host_config.h ${_cuda_folders} NO_CACHE)
find_path(Nccl_CCCL_INCLUDE_DIR nv/target ${_cuda_folders} NO_CACHE)

set(Nccl_VERSION "")
if(Nccl_INCLUDE_DIR)
  file(STRINGS "${Nccl_INCLUDE_DIR}/nccl.h" _lines REGEX "#define NCCL_(MAJOR|MINOR|PATCH) [0-9]+")
  string(REGEX REPLACE "[^0-9]+" "." Nccl_VERSION "${_lines}")
  string(REGEX REPLACE "^[.]|[.]$" "" Nccl_VERSION "${Nccl_VERSION}")
endif()
set(_expected "")
file(GLOB _metadata "${LibTorch_FOLDER}/../torch-${LibTorch_VERSION}*.dist-info/METADATA")
if(_metadata)
  list(GET _metadata 0 _metadata)
  file(STRINGS "${_metadata}" _line REGEX "^Requires-Dist: nvidia-nccl-cu[0-9]+==" LIMIT_COUNT 1)
  if(_line MATCHES "==([0-9.]+)")
    set(_expected "${CMAKE_MATCH_1}")
  endif()
endif()

set(Nccl_MISSING "")
set(Nccl_COMPLETE FALSE)
set(_whole_torch "set LIBTORCH to the folder torch of a Python environment with all of torch==${LibTorch_VERSION}")
if(NOT Nccl_TORCH_CUDA OR NOT Nccl_C10_CUDA)
  set(Nccl_MISSING "this libtorch has no CUDA libraries: ${_whole_torch}")
elseif(NOT Nccl_CUDA_INCLUDE_DIR)
  set(Nccl_MISSING "CUDA's headers are not found: set CUDA_HOME")
elseif(NOT Nccl_CRT_INCLUDE_DIR OR NOT Nccl_CCCL_INCLUDE_DIR)
  set(_release "")
  if(EXISTS "${LibTorch_FOLDER}/version.py")
    file(STRINGS "${LibTorch_FOLDER}/version.py" _line REGEX "^cuda.*'[0-9]+\\.[0-9]+'" LIMIT_COUNT 1)
    string(REGEX REPLACE ".*'([0-9.]+)'.*" "==\\1.*" _release "${_line}")
  endif()
  set(Nccl_MISSING "crt/host_config.h and nv/target of CUDA are not both found: pip install 'nvidia-cuda-crt${_release}' 'nvidia-cuda-cccl${_release}' into torch's environment, or set CUDA_HOME")
elseif(NOT Nccl_INCLUDE_DIR)
  set(Nccl_MISSING "nccl.h is not found: set NCCL_HOME")
elseif(_expected STREQUAL "")
  set(Nccl_MISSING "this libtorch does not say with which NCCL it was built: ${_whole_torch}")
elseif(NOT Nccl_VERSION VERSION_EQUAL _expected)
  set(Nccl_MISSING "nccl.h in '${Nccl_INCLUDE_DIR}' is of NCCL ${Nccl_VERSION}, this libtorch was built with ${_expected}: set NCCL_HOME")
else()
  set(Nccl_COMPLETE TRUE)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Nccl REQUIRED_VARS Nccl_INCLUDE_DIR Nccl_COMPLETE VERSION_VAR Nccl_VERSION REASON_FAILURE_MESSAGE "${Nccl_MISSING}")

if(Nccl_FOUND AND NOT TARGET Nccl::TorchGroups)
  add_library(Nccl::TorchGroups INTERFACE IMPORTED)
  set_target_properties(Nccl::TorchGroups PROPERTIES
                        INTERFACE_INCLUDE_DIRECTORIES
                        "${Nccl_INCLUDE_DIR};${Nccl_CUDA_INCLUDE_DIR};${Nccl_CRT_INCLUDE_DIR};${Nccl_CCCL_INCLUDE_DIR}"
                        INTERFACE_LINK_LIBRARIES "${Nccl_TORCH_CUDA};${Nccl_C10_CUDA}")
endif()
