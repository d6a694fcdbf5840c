# Installs the libraries, their headers and the CMake package `debias`, whose target debias::debias is all of them.
include(CMakePackageConfigHelpers)
get_property(libraries GLOBAL PROPERTY DEBIAS_LIBRARIES)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/debias)

foreach(library ${libraries})
  string(REPLACE "debias_" "" folder ${library})
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${folder})
  add_library(debias::${folder} ALIAS ${library})
endforeach()
add_library(debias_all INTERFACE)
set_target_properties(debias_all PROPERTIES EXPORT_NAME debias)
target_link_libraries(debias_all INTERFACE ${libraries})
target_compile_features(debias_all INTERFACE cxx_std_20)
add_library(debias::debias ALIAS debias_all)

install(TARGETS ${libraries} debias_all EXPORT debias ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/debias/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/debias FILES_MATCHING PATTERN "*.h")
install(EXPORT debias NAMESPACE debias:: FILE debiasTargets.cmake DESTINATION ${package})

# The same list in the form that passes find_package(debias)'s QUIET and REQUIRED on.
file(READ ${PROJECT_SOURCE_DIR}/cmake/Dependencies.cmake dependencies)
string(REGEX REPLACE "find_package\\(([^ )]+)(( [0-9.]+)?) REQUIRED" "find_dependency(\\1\\2" dependencies "${dependencies}")
file(WRITE ${PROJECT_BINARY_DIR}/debiasDependencies.cmake "${dependencies}")

set(with_control FALSE)
if(DEBIAS_CONTROL)
  set(with_control TRUE)
endif()
set(with_dicom FALSE)
if(DEBIAS_DICOM)
  set(with_dicom TRUE)
endif()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/debiasConfig.cmake.in ${PROJECT_BINARY_DIR}/debiasConfig.cmake
  INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/debiasConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/debiasConfig.cmake ${PROJECT_BINARY_DIR}/debiasConfigVersion.cmake
  ${PROJECT_BINARY_DIR}/debiasDependencies.cmake ${PROJECT_SOURCE_DIR}/cmake/FindLibTorch.cmake
  ${PROJECT_SOURCE_DIR}/cmake/FindMuJoCo.cmake ${PROJECT_SOURCE_DIR}/cmake/FindDcmtk.cmake DESTINATION ${package})
