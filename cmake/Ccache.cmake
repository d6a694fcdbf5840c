# Compile through ccache where it is installed; a precompiled header needs the sloppiness. CCACHE_DEPEND: what a source includes is told by the
# compiler, so that nothing is preprocessed twice.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=true CCACHE_DEPEND=true ${CCACHE_PROGRAM})
endif()
