# -DBUILD -DSOURCE -DWORK -DCXX -DFLAGS -DGENERATOR -DMAKE_PROGRAM -DVERSION -DLIBDIR -DDOCDIR -DCCACHE -DMPI: installs
# BUILD, builds and runs the consumer, and requests components that do not exist or need little.
# CCACHE may be empty.
file(REMOVE_RECURSE "${WORK}")
set(prefix "${WORK}/prefix")

# run_to(CODE COMMAND...): runs the command, which must exit with CODE.
function(run_to code)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT status EQUAL code)
    message(FATAL_ERROR "${ARGN} exited with ${status}, not ${code}:\n${out}")
  endif()
  set(out "${out}" PARENT_SCOPE)
endfunction()
function(run)
  run_to(0 ${ARGN})
  set(out "${out}" PARENT_SCOPE)
endfunction()

run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${prefix}")
if(NOT EXISTS "${prefix}/bin/touchstone")
  message(FATAL_ERROR "the touchstone command was not installed")
endif()
run("${prefix}/bin/touchstone" simplify "(a*4 + b)//4" --var a=0..10 b=0..3)
if(NOT out MATCHES "^a\n")
  message(FATAL_ERROR "the installed command said: ${out}")
endif()

# The command itself must not need MPI.
run(ldd "${prefix}/bin/touchstone")
if(out MATCHES "libmpi")
  message(FATAL_ERROR "the installed command loads MPI: ${out}")
endif()
if(MPI)
  run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${WORK}/mpi" --component mpi)
  file(GLOB_RECURSE alone LIST_DIRECTORIES false RELATIVE "${WORK}/mpi" "${WORK}/mpi/*")
  if(NOT alone STREQUAL "bin/touchstone-mpi" OR NOT EXISTS "${prefix}/bin/touchstone-mpi")
    message(FATAL_ERROR "the component mpi has: ${alone}")
  endif()
endif()

# Programs from pages: block_of(PAGE LANGUAGE FILE) writes a page's first block in a language.
function(block_of page language file)
  file(READ "${SOURCE}/../../../${page}" text)
  string(FIND "${text}" "```${language}\n" begin)
  string(LENGTH "```${language}\n" fence)
  math(EXPR begin "${begin} + ${fence}")
  string(SUBSTRING "${text}" ${begin} -1 text)
  string(FIND "${text}" "```" end)
  string(SUBSTRING "${text}" 0 ${end} text)
  file(WRITE "${WORK}/${file}" "${text}${ARGN}")
endfunction()
block_of(README.md cpp readme.cpp)
block_of(README.md c readme_c.cpp)
block_of(docs/define.md cpp define.cpp "int main() {}\n")

# Unchanged sources are compiled once.
set(ENV{CCACHE_BASEDIR} "${WORK}")
set(ENV{CCACHE_NOHASHDIR} 1)
# The project's own build tool; no other need be installed.
set(tools -G "${GENERATOR}" "-DCMAKE_MAKE_PROGRAM=${MAKE_PROGRAM}" "-DCMAKE_CXX_COMPILER=${CXX}"
          "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${CCACHE}")
run("${CMAKE_COMMAND}" -S "${SOURCE}" -B "${WORK}/build" ${tools} "-DCMAKE_CXX_FLAGS=${FLAGS}"
    "-DPAGES=${WORK}" "-DEXAMPLES=${prefix}/${DOCDIR}/examples")
run("${CMAKE_COMMAND}" --build "${WORK}/build")

# prints(PROGRAM REGEX): exits with 0 and prints a match.
function(prints program regex)
  run("${WORK}/build/${program}")
  if(NOT out MATCHES "${regex}")
    message(FATAL_ERROR "${program} printed: ${out}")
  endif()
endfunction()
prints(examples/simplify_index "^row\nlane\n1\n0\n$")
prints(examples/prove_rule "y < c: proved\n.*0 <= y: refuted, .*y = ")
prints(examples/merge_views "^ShapeTracker[^\n]*\n2 views: ")
prints(examples/check_backend "OK, passed 100 tests")
prints(examples/judge_function "PASSED")
prints(examples/judge_c_function "^softmax.x.64,128..: PASS: ")
prints(examples/judge_c_operation "^softmax.x, axis=1.: PASS: ")
prints(examples/train_net "^0 1 1 0 $")
prints(readme "^7 11 9 13 $")
prints(readme_c "^FAIL: 1 of 4 elements; first at \\(3\\): ")
prints(define "")
prints(from_c "^${VERSION}\n$")

# C without CMake.
find_program(pkg_config pkg-config)
if(pkg_config)
  set(ENV{PKG_CONFIG_PATH} "${prefix}/${LIBDIR}/pkgconfig")
  run("${pkg_config}" --modversion touchstone)
  if(NOT out MATCHES "^${VERSION}\n$")
    message(FATAL_ERROR "touchstone.pc has version ${out}")
  endif()
  run("${pkg_config}" --cflags --libs touchstone)
  separate_arguments(words UNIX_COMMAND "${out} ${FLAGS}")
  run("${CXX}" -x c++ "${SOURCE}/from_c.cpp" -x none ${words} "-Wl,-rpath,${prefix}/${LIBDIR}" -o "${WORK}/by_pkg_config")
  run("${WORK}/by_pkg_config")
  # The same for the build folder.
  set(ENV{PKG_CONFIG_PATH} "${BUILD}")
  run("${pkg_config}" --cflags --libs touchstone)
  separate_arguments(words UNIX_COMMAND "${out} ${FLAGS}")
  run("${CXX}" -x c++ "${SOURCE}/from_c.cpp" -x none ${words} "-Wl,-rpath,${BUILD}" -o "${WORK}/by_build")
  run("${WORK}/by_build")
endif()

# Pages and adapters are where the command and the pages say.
foreach(file ${DOCDIR}/README.md ${DOCDIR}/docs/README.md ${DOCDIR}/docs/measured/performance.md
             share/touchstone/backends/numpy_backend.py share/touchstone/backends/line_protocol.py)
  if(NOT EXISTS "${prefix}/${file}")
    message(FATAL_ERROR "${file} was not installed")
  endif()
endforeach()

# 4: a plugin that supports nothing leaves nothing checked.
run_to(4 "${prefix}/bin/touchstone" judge --plugin "${WORK}/build/libplugin.so" --ops neg --dtypes f32)
if(NOT out MATCHES "on nothing under profile glibc")
  message(FATAL_ERROR "the plugin of the consumer gave: ${out}")
endif()

# configured(NAME LINES): how configuring such a project ends.
function(configured name lines)
  file(WRITE "${WORK}/${name}/CMakeLists.txt"
       "cmake_minimum_required(VERSION 3.22)\nproject(${name} LANGUAGES CXX)\n${lines}")
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -S "${WORK}/${name}" -B "${WORK}/${name}/build" ${tools}
            -DCMAKE_DISABLE_FIND_PACKAGE_Eigen3=ON
    RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE error)
  set(status "${status}" PARENT_SCOPE)
  set(error "${error}" PARENT_SCOPE)
endfunction()

# Two refusals and a project without Eigen, in one run.
configured(
  wrong "find_package(touchstone 0.1 CONFIG COMPONENTS nosuchthing)
if(NOT touchstone_NOT_FOUND_MESSAGE MATCHES \"no component 'nosuchthing'; there are: base .* c$\")
  message(FATAL_ERROR \"an unknown component: \${touchstone_NOT_FOUND_MESSAGE}\")
endif()
find_package(touchstone 0.1 CONFIG COMPONENTS interp)
if(touchstone_FOUND)
  message(FATAL_ERROR \"interp was found without Eigen\")
endif()
find_package(touchstone 0.1 CONFIG REQUIRED COMPONENTS symbolic shapetracker define prove c)
file(WRITE main.cpp \"int main() {}\")
add_executable(main main.cpp)
target_link_libraries(main PRIVATE touchstone::symbolic touchstone::shapetracker touchstone::define touchstone::prove)
")
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${error}")
endif()
