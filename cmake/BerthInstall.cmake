# SPDX-License-Identifier: Apache-2.0
# find_package(berth) gives berth::berth, and berth::plan for the planner alone.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(berth_installed_targets GLOBAL PROPERTY BERTH_INSTALLED_TARGETS)
if(berth_installed_targets AND PROJECT_IS_TOP_LEVEL)
  set(berth_config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/berth")
  install(TARGETS ${berth_installed_targets} EXPORT berth_targets
          ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/berth" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
          FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/THIRD_PARTY_NOTICES.md"
          DESTINATION "${CMAKE_INSTALL_DOCDIR}")
  install(EXPORT berth_targets NAMESPACE berth:: FILE berth-targets.cmake
          DESTINATION "${berth_config_dir}")
  configure_package_config_file(
    "${CMAKE_CURRENT_LIST_DIR}/berth-config.cmake.in" "${PROJECT_BINARY_DIR}/berth-config.cmake"
    INSTALL_DESTINATION "${berth_config_dir}")
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/berth-config-version.cmake"
                                   COMPATIBILITY SameMinorVersion)
  install(FILES "${PROJECT_BINARY_DIR}/berth-config.cmake"
                "${PROJECT_BINARY_DIR}/berth-config-version.cmake"
          DESTINATION "${berth_config_dir}")
endif()
