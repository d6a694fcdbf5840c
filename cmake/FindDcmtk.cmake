# Finds DCMTK's libraries for the pixels of DICOM files (libdcmtk-dev) and makes the imported target Dcmtk::Dcmtk. Debian's own CMake package
# stops, since its targets name programs of another package.

find_path(Dcmtk_INCLUDE_DIR dcmtk/dcmimgle/dcmimage.h NO_CACHE)
set(Dcmtk_LIBRARIES "")
foreach(_name dcmjpls dcmjpeg dcmimage dcmimgle dcmdata oflog ofstd)
  find_library(_found_${_name} ${_name} NO_CACHE)
  list(APPEND Dcmtk_LIBRARIES "${_found_${_name}}")
endforeach()
if("${Dcmtk_LIBRARIES}" MATCHES NOTFOUND)
  set(Dcmtk_LIBRARIES "")
endif()
if(Dcmtk_INCLUDE_DIR)
  file(STRINGS "${Dcmtk_INCLUDE_DIR}/dcmtk/config/osconfig.h" _line REGEX "#define PACKAGE_VERSION \"" LIMIT_COUNT 1)
  string(REGEX MATCH "[0-9.]+" Dcmtk_VERSION "${_line}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  Dcmtk
  REQUIRED_VARS Dcmtk_LIBRARIES Dcmtk_INCLUDE_DIR
  VERSION_VAR Dcmtk_VERSION
  REASON_FAILURE_MESSAGE "run scripts/bootstrap.sh --dicom")

if(Dcmtk_FOUND AND NOT TARGET Dcmtk::Dcmtk)
  add_library(Dcmtk::Dcmtk INTERFACE IMPORTED)
  target_link_libraries(Dcmtk::Dcmtk INTERFACE ${Dcmtk_LIBRARIES})
  target_include_directories(Dcmtk::Dcmtk SYSTEM INTERFACE "${Dcmtk_INCLUDE_DIR}")
endif()
