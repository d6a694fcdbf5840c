# The libraries that the folders of debias/ stand on; docs/decisions.md says why each is there. An installed debias finds them again.

# Packages that are unpacked in a folder: that of scripts/bootstrap.sh --prefix, or the one that an installed debias was built with.
if(NOT DEBIAS_PREFIX)
  get_filename_component(DEBIAS_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../build/prefix" REALPATH)
endif()
if(EXISTS "${DEBIAS_PREFIX}/usr")
  if(NOT CMAKE_LIBRARY_ARCHITECTURE)  # the packages are Debian's, whatever the compiler is
    set(CMAKE_LIBRARY_ARCHITECTURE ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
  endif()
  set(_libraries "${DEBIAS_PREFIX}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}")
  list(PREPEND CMAKE_PREFIX_PATH "${DEBIAS_PREFIX}/usr")
  set(ENV{PKG_CONFIG_PATH} "${_libraries}/pkgconfig:${DEBIAS_PREFIX}/usr/share/pkgconfig:$ENV{PKG_CONFIG_PATH}")
  if(PROJECT_NAME STREQUAL "debias")
    include_directories(SYSTEM "${DEBIAS_PREFIX}/usr/include")  # which every source sees, as it does /usr/include
    add_link_options(-Wl,-rpath,${_libraries})  # installed programs keep it, unlike the paths that CMake adds
  endif()
else()
  set(DEBIAS_PREFIX "")
endif()

find_package(Threads REQUIRED)
set(LibTorch_ALSO 2.11.0)  # LIBTORCH may name it in the place of the next
find_package(LibTorch 2.15.0 REQUIRED)
find_package(yaml-cpp REQUIRED)
if(NOT TARGET yaml-cpp)  # its name from version 0.8 on
  add_library(yaml-cpp INTERFACE IMPORTED)
  target_link_libraries(yaml-cpp INTERFACE yaml-cpp::yaml-cpp)
endif()
find_package(nlohmann_json REQUIRED)
find_package(fmt REQUIRED)
find_package(ZLIB REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(PNG REQUIRED)
find_package(Protobuf REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(TurboJpeg REQUIRED IMPORTED_TARGET libturbojpeg)
pkg_check_modules(Jpeg REQUIRED IMPORTED_TARGET libjpeg)
pkg_check_modules(WebP REQUIRED IMPORTED_TARGET libwebp libwebpdemux)
pkg_check_modules(Tiff REQUIRED IMPORTED_TARGET libtiff-4>=4.5)
pkg_check_modules(Highway REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(HighwaySort REQUIRED IMPORTED_TARGET libhwy-contrib)
