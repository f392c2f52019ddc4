option(CACHEINF_UNITY "Compile files of a folder together: faster from scratch, slower after a change"
       OFF)

# cacheinf_compile_together(TARGET): compiles up to eight files of a folder at once, because most of
# what the compiler reads for one file it has read for its neighbour. Names in neighbours' anonymous
# namespaces must differ. Files with their own options are compiled alone.
function(cacheinf_compile_together target)
  if(NOT CACHEINF_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "[.]cc$")
  foreach(source ${sources})
    cmake_path(ABSOLUTE_PATH source OUTPUT_VARIABLE folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    cmake_path(GET folder PARENT_PATH folder)
    string(MAKE_C_IDENTIFIER "${target}_${folder}" room)
    math(EXPR ${room}_count "0${${room}_count} + 1")
    math(EXPR batch "(${${room}_count} - 1) / 8")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${room}_${batch})
  endforeach()
  # g++ mistakes the files of a batch for headers.
  target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
