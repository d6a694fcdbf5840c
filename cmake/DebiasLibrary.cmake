# debias_library(name DEPENDS ... [TORCH] [APART] [COLD]): the static library debias_<name> of the folder it is called in; APART: each source a
# translation unit of its own, whatever DEBIAS_UNITY says; COLD: it reads, prints and decides, and is compiled with -O1.
# debias_test(folder): the test program <folder>_test of the sources in tests/<folder>; its tests are labelled by their names.
# debias_unpack(archive folder): the build folder's folder has what the archive holds, and nothing else.

add_library(debias_build_flags INTERFACE)
set(gcc_12 $<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>)
set(gcc_13 $<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,13>>)
target_compile_options(debias_build_flags INTERFACE -Wall -Wextra -Wshadow -Werror
  $<${gcc_12}:-Wno-restrict>            # gcc bug 105651: "text" + std::string
  $<${gcc_13}:-Wno-dangling-reference>  # it fires wherever a reference comes out of a function that takes a temporary as well
  $<$<AND:$<BOOL:${CCACHE_PROGRAM}>,$<BOOL:${DEBIAS_PCH}>>:-fpch-preprocess>)
if(DEBIAS_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -O1)
  add_link_options(-fsanitize=address,undefined)
endif()

if(DEBIAS_SANITIZE_THREADS)
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer -O1 -g1)
  add_link_options(-fsanitize=thread)
endif()

if(DEBIAS_PCH)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/base_pch.cpp CONTENT "" @ONLY)
  add_library(debias_base_pch OBJECT ${PROJECT_BINARY_DIR}/base_pch.cpp)
  target_link_libraries(debias_base_pch PRIVATE debias_build_flags fmt::fmt nlohmann_json::nlohmann_json)
  target_precompile_headers(debias_base_pch PRIVATE ${PROJECT_SOURCE_DIR}/cmake/base_pch.h)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/torch_pch.cpp CONTENT "" @ONLY)  # WRITE would make it new, and the header with it, at each configuration
  add_library(debias_torch_pch OBJECT ${PROJECT_BINARY_DIR}/torch_pch.cpp)
  target_link_libraries(debias_torch_pch PRIVATE LibTorch::LibTorch debias_build_flags fmt::fmt nlohmann_json::nlohmann_json)
  target_precompile_headers(debias_torch_pch PRIVATE ${PROJECT_SOURCE_DIR}/cmake/torch_pch.h)
endif()

function(debias_use_torch target scope)
  target_link_libraries(${target} ${scope} LibTorch::LibTorch)
  if(DEBIAS_PCH)
    target_precompile_headers(${target} REUSE_FROM debias_torch_pch)
  endif()
endfunction()

# All sources of the target as one translation unit: headers and the templates that sources share cost more than the sources do. Such a unit
# takes up to 3 GB, and a second less of them for each collection of the compiler's garbage that it is spared.
function(debias_unite target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${DEBIAS_UNITY} UNITY_BUILD_BATCH_SIZE 0)
  if(DEBIAS_UNITY)
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-expand=300;--param=ggc-min-heapsize=1000000>)
  endif()
endfunction()

function(debias_use_base_pch target)
  if(DEBIAS_PCH)
    target_precompile_headers(${target} REUSE_FROM debias_base_pch)
  endif()
endfunction()

function(debias_library name)
  cmake_parse_arguments(ARG "TORCH;APART;COLD" "" "DEPENDS;PRIVATE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  set(target debias_${name})
  if(NOT sources)
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include>)
    target_link_libraries(${target} INTERFACE ${ARG_DEPENDS})
  else()
    add_library(${target} STATIC ${sources})
    target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include>)
    target_link_libraries(${target} PUBLIC ${ARG_DEPENDS} PRIVATE $<BUILD_INTERFACE:debias_build_flags> ${ARG_PRIVATE})
    if(ARG_TORCH)
      debias_use_torch(${target} PUBLIC)
    elseif(NOT ARG_APART)
      debias_use_base_pch(${target})
    endif()
    if(ARG_COLD)
      target_compile_options(${target} PRIVATE -O1)  # a fifth less to wait for
    endif()
    if(NOT ARG_APART)
      debias_unite(${target})
    endif()
  endif()
  set_property(GLOBAL APPEND PROPERTY DEBIAS_LIBRARIES ${target})
endfunction()

function(debias_unpack archive folder)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${archive})
  file(REMOVE_RECURSE ${CMAKE_CURRENT_BINARY_DIR}/${folder})
  file(ARCHIVE_EXTRACT INPUT ${CMAKE_CURRENT_SOURCE_DIR}/${archive} DESTINATION ${CMAKE_CURRENT_BINARY_DIR}/${folder})
endfunction()

# Slow are tests with Slow in their names and those that match one of the patterns after SLOW, data the others with RealData, unit the rest.
function(debias_test folder)
  cmake_parse_arguments(ARG "TORCH" "SHARDS" "DEPENDS;SLOW" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
  if(NOT sources)
    return()
  endif()
  set(target ${folder}_test)
  add_executable(${target} ${sources})
  target_link_libraries(${target} PRIVATE debias_build_flags ${ARG_DEPENDS} GTest::gtest_main GTest::gmock)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(${target} PRIVATE -O1)  # compiles a fifth faster than -O2
  if(ARG_TORCH)
    debias_use_torch(${target} PRIVATE)
  else()
    debias_use_base_pch(${target})
  endif()
  debias_unite(${target})
  list(PREPEND ARG_SLOW "*Slow*")
  list(JOIN ARG_SLOW ":" slow)
  if(ARG_SHARDS)
    math(EXPR last "${ARG_SHARDS} - 1")
    foreach(shard RANGE ${last})
      debias_add_tests(${target} slow 1800 "${slow}" ${shard} ${ARG_SHARDS})
      debias_add_tests(${target} unit 1200 "-*RealData*:${slow}" ${shard} ${ARG_SHARDS})
    endforeach()
  else()
    debias_add_tests(${target} slow 1800 "${slow}")
    debias_add_tests(${target} unit 1200 "-*RealData*:${slow}")
  endif()
  debias_add_tests(${target} data 900 "*RealData*-${slow}")
endfunction()

# One process for all tests of a label: loading libtorch takes longer than most tests. Its own report, build/PRESET/gtest/TARGET.LABEL.xml,
# has the single ones, which scripts/count_tests.py counts. With SHARD and SHARDS behind, every SHARDS-th test of them: a program of minutes
# runs beside itself.
function(debias_add_tests target label timeout filter)
  set(name ${target}.${label})
  set(sharding "")
  if(ARGC GREATER 4)
    string(APPEND name ".${ARGV4}")
    set(sharding "GTEST_SHARD_INDEX=${ARGV4}" "GTEST_TOTAL_SHARDS=${ARGV5}")
  endif()
  add_test(NAME ${name}
    COMMAND ${target} --gtest_brief=1 --gtest_filter=${filter} --gtest_output=xml:${PROJECT_BINARY_DIR}/gtest/${name}.xml)
  set(environment "DEBIAS_TEST_DATA=${DEBIAS_TEST_DATA}" "DEBIAS_BINARY=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/debias" "OMP_NUM_THREADS=2"
    "GOMP_SPINCOUNT=1000" ${sharding})
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${timeout} ENVIRONMENT "${environment}")
endfunction()
