# Run by CPack between installing and packing: adds Debian's own files, installs manual pages in package format, and
# sets all times to the commit's (SOURCE_DATE_EPOCH), so that equal sources give equal bytes.
get_filename_component(source "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
if(NOT DEFINED ENV{SOURCE_DATE_EPOCH})
  message(FATAL_ERROR "SOURCE_DATE_EPOCH is not set; ./dev package sets it to the time of the commit")
endif()

# run(COMMAND...): runs with UTC and the C locale.
function(run)
  execute_process(COMMAND "${CMAKE_COMMAND}" -E env TZ=UTC LC_ALL=C.UTF-8 ${ARGN} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "packaging: ${ARGN} failed")
  endif()
endfunction()

execute_process(COMMAND date -u -R -d "@$ENV{SOURCE_DATE_EPOCH}" OUTPUT_VARIABLE date
                OUTPUT_STRIP_TRAILING_WHITESPACE)
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER "${component}" upper)
  set(package "${CPACK_DEBIAN_${upper}_PACKAGE_NAME}")
  set(root "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/${component}")
  set(doc "${root}/usr/share/doc/${package}")
  file(MAKE_DIRECTORY "${doc}")
  configure_file("${source}/cmake/debian/copyright" "${doc}/copyright" COPYONLY)
  file(REMOVE "${doc}/LICENSE" "${doc}/CHANGELOG.md")  # under Debian's names
  configure_file("${source}/CHANGELOG.md" "${doc}/changelog" COPYONLY)
  file(WRITE "${doc}/changelog.Debian"
       "touchstone (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium\n\n"
       "  * Built from the sources; their changes are in changelog.gz.\n\n"
       " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
  set(overrides "${source}/cmake/debian/${package}.lintian-overrides")
  file(READ "${source}/cmake/debian/lintian-overrides" text)
  if(EXISTS "${overrides}")
    file(READ "${overrides}" more)
    string(APPEND text "${more}")
  endif()
  file(WRITE "${root}/usr/share/lintian/overrides/${package}" "${text}")
  file(GLOB pages "${root}/usr/share/man/*/*")
  run(gzip -9nf "${doc}/changelog" "${doc}/changelog.Debian" ${pages})
  run(find "${root}" -type d -exec chmod 0755 {} +)
  run(find "${root}" -type f -perm /111 -exec chmod 0755 {} +)
  run(find "${root}" -type f -not -perm /111 -exec chmod 0644 {} +)
  run(find "${root}" -type f -name *.so.* -exec chmod 0644 {} +)
  run(find "${root}" -exec touch -h -d "@$ENV{SOURCE_DATE_EPOCH}" {} +)
endforeach()
