# Finds MuJoCo's C library and makes the imported target MuJoCo::MuJoCo.
#
# MUJOCO, as a CMake variable or in the environment, names a folder of another one: a release of MuJoCo, or the folder mujoco/ of its wheel.
# Without it the system's is taken (libmujoco-dev). Debian's own CMake package stops, since its target names a folder of another package.

set(_folder "${MUJOCO}")
if(NOT _folder)
  set(_folder "$ENV{MUJOCO}")
endif()
if(_folder)
  set(_only NO_DEFAULT_PATH)
endif()
find_path(MuJoCo_INCLUDE_DIR mujoco/mujoco.h PATHS "${_folder}/include" ${_only} NO_CACHE)
find_library(MuJoCo_LIBRARY mujoco PATHS "${_folder}/lib" "${_folder}" ${_only} NO_CACHE)
if(_folder AND NOT MuJoCo_LIBRARY)  # the wheel's has no name without a version
  file(GLOB _versioned "${_folder}/libmujoco.so.*")
  if(_versioned)
    list(GET _versioned 0 MuJoCo_LIBRARY)
  endif()
endif()

if(MuJoCo_INCLUDE_DIR)
  file(STRINGS "${MuJoCo_INCLUDE_DIR}/mujoco/mujoco.h" _line REGEX "#define mjVERSION_HEADER" LIMIT_COUNT 1)
  string(REGEX MATCH "[0-9]+$" _number "${_line}")
  if(_number)
    math(EXPR _major "${_number} / 100")
    math(EXPR _minor "${_number} / 10 % 10")
    math(EXPR _patch "${_number} % 10")
    set(MuJoCo_VERSION "${_major}.${_minor}.${_patch}")
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  MuJoCo
  REQUIRED_VARS MuJoCo_LIBRARY MuJoCo_INCLUDE_DIR
  VERSION_VAR MuJoCo_VERSION
  REASON_FAILURE_MESSAGE "run scripts/bootstrap.sh --rl, or set MUJOCO to a folder that holds include/mujoco and libmujoco.so")

if(MuJoCo_FOUND AND NOT TARGET MuJoCo::MuJoCo)
  add_library(MuJoCo::MuJoCo UNKNOWN IMPORTED)
  set_target_properties(MuJoCo::MuJoCo PROPERTIES IMPORTED_LOCATION "${MuJoCo_LIBRARY}"
                        INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${MuJoCo_INCLUDE_DIR}" INTERFACE_INCLUDE_DIRECTORIES "${MuJoCo_INCLUDE_DIR}")
endif()
