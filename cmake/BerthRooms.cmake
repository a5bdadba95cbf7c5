# SPDX-License-Identifier: Apache-2.0
# How a room, an example, a tool and a test executable are made: from all .cpp files of a folder.

# berth_add_room(<name> [SOURCES <glob>...] [PUBLIC <target>...] [PRIVATE <target>...])
# A room of the library: target berth_<name>, installed as berth::<name>. Sources default to *.cpp of
# the current folder. A room of headers alone becomes an interface target.
function(berth_add_room name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PUBLIC;PRIVATE")
  if(NOT arg_SOURCES)
    set(arg_SOURCES "*.cpp")
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${arg_SOURCES})
  set(target berth_${name})
  if(sources)
    add_library(${target} STATIC ${sources})
    target_include_directories(
      ${target}
      PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:include>"
      PRIVATE "${PROJECT_SOURCE_DIR}/src")
    target_compile_features(${target} PUBLIC cxx_std_20)
    target_link_libraries(${target} PUBLIC ${arg_PUBLIC}
                                    PRIVATE ${arg_PRIVATE} "$<BUILD_INTERFACE:berth_warnings>")
  else()
    add_library(${target} INTERFACE)
    target_include_directories(
      ${target} INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
                          "$<INSTALL_INTERFACE:include>")
    target_compile_features(${target} INTERFACE cxx_std_20)
    target_link_libraries(${target} INTERFACE ${arg_PUBLIC} ${arg_PRIVATE})
  endif()
  add_library(berth::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY BERTH_INSTALLED_TARGETS ${target})
endfunction()

# berth_add_part(<target> [LIBS <target>...] [INCLUDES <dir>...])
# A static library beside the library (an example's parts, test support) from all .cpp files of the
# current folder and below, included as "<folder>/<file>.hpp".
function(berth_add_part target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBS;INCLUDES")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cpp)
  if(sources)
    add_library(${target} STATIC ${sources})
    target_link_libraries(${target} PRIVATE berth_warnings)
    set(scope PUBLIC)
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(${target} ${scope} "${CMAKE_CURRENT_SOURCE_DIR}/.." ${arg_INCLUDES})
  target_link_libraries(${target} ${scope} ${arg_LIBS})
endfunction()

# berth_add_program(<target> FILES <file>... [OUTPUT_NAME <name>] [LIBS <target>...])
# An executable in the root of the build folder.
function(berth_add_program target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OUTPUT_NAME" "FILES;LIBS")
  if(NOT arg_OUTPUT_NAME)
    set(arg_OUTPUT_NAME ${target})
  endif()
  add_executable(${target} ${arg_FILES})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${arg_OUTPUT_NAME}
                                             RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
  target_link_libraries(${target} PRIVATE ${arg_LIBS} berth_build_paths berth_warnings)
endfunction()
