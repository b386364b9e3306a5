# Mutants: faults woven into a copy of the sources in the build folder (fuzz/mutants). The sources
# themselves and other builds contain none.
set(TOUCHSTONE_WOVEN "")
file(GLOB TOUCHSTONE_TABLES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/fuzz/mutants/*.txt")
list(APPEND TOUCHSTONE_TABLES ${TOUCHSTONE_MUTANT_TABLES})
if(TOUCHSTONE_MUTANTS)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(TOUCHSTONE_WOVEN "${PROJECT_BINARY_DIR}/woven")
  set(weave "${PROJECT_SOURCE_DIR}/fuzz/mutants/weave.py")
  file(GLOB_RECURSE woven_from CONFIGURE_DEPENDS
       "${PROJECT_SOURCE_DIR}/symbolic/*" "${PROJECT_SOURCE_DIR}/shapetracker/*"
       "${PROJECT_SOURCE_DIR}/lib/*" "${PROJECT_SOURCE_DIR}/interp/*")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
               "${weave}" ${TOUCHSTONE_TABLES} ${woven_from})
  execute_process(
    COMMAND "${Python3_EXECUTABLE}" "${weave}" --out "${TOUCHSTONE_WOVEN}" --most-stale 20
            ${TOUCHSTONE_TABLES}
    RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "the tables of mutants do not fit the sources (see above)")
  endif()
  # Mutants are written for brevity; warnings are for the original sources.
  add_compile_definitions(TOUCHSTONE_MUTANTS)
  add_compile_options(-w)
endif()
