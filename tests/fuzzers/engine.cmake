# Runs a libFuzzer target for some seconds, from seeds and with its dictionary:
#   cmake -DPROGRAM=FILE -DTARGET=NAME -DSECONDS=N -DRATE=N -DDRAWN=N -DSOURCES=FOLDER -DFOLDER=FOLDER -P engine.cmake
# DRAWN: of how many cases the program first writes the bytes. RATE: inputs for each second, at which
# it ends before its time, so that a quicker machine goes no further than where it was seen to pass.
# Nothing is kept but what fails. The environment's TOUCHSTONE_ENGINE_SECONDS sets other seconds.
if(DEFINED ENV{TOUCHSTONE_ENGINE_SECONDS})
  set(SECONDS "$ENV{TOUCHSTONE_ENGINE_SECONDS}")
endif()
math(EXPR runs "${SECONDS} * ${RATE}")
set(corpus "${FOLDER}/engine-${TARGET}")
file(REMOVE_RECURSE "${corpus}")
file(MAKE_DIRECTORY "${corpus}/new")
set(seeds "${SOURCES}/seeds/${TARGET}")
if(DRAWN GREATER 0)
  execute_process(COMMAND "${PROGRAM}" --seeds ${DRAWN} "${corpus}/drawn" RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${TARGET} could not write its seeds")
  endif()
  list(APPEND seeds "${corpus}/drawn")
endif()
set(dictionary "")
if(EXISTS "${SOURCES}/${TARGET}.dict")
  set(dictionary "-dict=${SOURCES}/${TARGET}.dict")
endif()
execute_process(
  COMMAND "${PROGRAM}" -max_total_time=${SECONDS} -runs=${runs} -seed=1 -print_funcs=0 -max_len=512
          -timeout=120 -report_slow_units=120 -rss_limit_mb=4096 -print_final_stats=1
          -artifact_prefix=${FOLDER}/failed-${TARGET}-
          ${dictionary} "${corpus}/new" ${seeds}
  RESULT_VARIABLE status)
file(REMOVE_RECURSE "${corpus}")
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${TARGET} failed under the engine; the input is a file failed-${TARGET}-* in "
                      "${FOLDER}, and with --reduce FILE the program makes it smaller")
endif()
