# -DBUILD -DSOURCE -DWORK -DCXX -DFLAGS -DGENERATOR -DMAKE_PROGRAM: installs BUILD, builds and runs the consumer, and asks for
# a component that does not exist.
file(REMOVE_RECURSE "${WORK}")
set(prefix "${WORK}/prefix")

# run_to(CODE COMMAND...): the command, which is to exit with that.
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

# The programs that pages show: block_of(PAGE FILE) writes the first one in C++.
function(block_of page file)
  file(READ "${SOURCE}/../../../${page}" text)
  string(FIND "${text}" "```cpp\n" begin)
  math(EXPR begin "${begin} + 7")
  string(SUBSTRING "${text}" ${begin} -1 text)
  string(FIND "${text}" "```" end)
  string(SUBSTRING "${text}" 0 ${end} text)
  file(WRITE "${WORK}/${file}" "${text}${ARGN}")
endfunction()
block_of(README.md readme.cpp)
block_of(docs/define.md define.cpp "int main() {}\n")

# The build tool of the project itself: no other need be there.
set(tools -G "${GENERATOR}" "-DCMAKE_MAKE_PROGRAM=${MAKE_PROGRAM}" "-DCMAKE_CXX_COMPILER=${CXX}"
          "-DCMAKE_PREFIX_PATH=${prefix}")
run("${CMAKE_COMMAND}" -S "${SOURCE}" -B "${WORK}/build" ${tools} "-DCMAKE_CXX_FLAGS=${FLAGS}"
    "-DPAGES=${WORK}")
run("${CMAKE_COMMAND}" --build "${WORK}/build")
run("${WORK}/build/consumer")
if(NOT out MATCHES "^54\n")
  message(FATAL_ERROR "the consumer printed: ${out}")
endif()

run("${WORK}/build/readme")
if(NOT out MATCHES "^7 11 9 13 $")
  message(FATAL_ERROR "the program of README.md printed: ${out}")
endif()
run("${WORK}/build/define")

run("${WORK}/build/consumer_test")
# 4: a plugin that supports nothing has nothing checked.
run_to(4 "${prefix}/bin/touchstone" judge --plugin "${WORK}/build/libplugin.so" --ops neg --dtypes f32)
if(NOT out MATCHES "on nothing under profile glibc")
  message(FATAL_ERROR "the plugin of the consumer gave: ${out}")
endif()

file(WRITE "${WORK}/wrong/CMakeLists.txt"
     "cmake_minimum_required(VERSION 3.22)\nproject(wrong LANGUAGES CXX)\n"
     "find_package(touchstone 0.1 CONFIG REQUIRED COMPONENTS nosuchthing)\n")
execute_process(
  COMMAND "${CMAKE_COMMAND}" -S "${WORK}/wrong" -B "${WORK}/wrong/build" ${tools}
  RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE error)
if(status EQUAL 0 OR NOT error MATCHES "nosuchthing")
  message(FATAL_ERROR "an unknown component was not refused: ${error}")
endif()
