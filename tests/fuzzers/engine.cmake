# Runs a libFuzzer target for some seconds, from seeds and with its dictionary:
#   cmake -DPROGRAM=FILE -DTARGET=NAME -DSECONDS=N -DRATE=N -DSOURCES=FOLDER -DFOLDER=FOLDER -P engine.cmake
# RATE: inputs per second, a cap that ends the run early, so that a faster machine goes no further
# than was seen to pass. Only failures are kept. The environment's TOUCHSTONE_ENGINE_SECONDS
# overrides SECONDS.
if(DEFINED ENV{TOUCHSTONE_ENGINE_SECONDS})
  set(SECONDS "$ENV{TOUCHSTONE_ENGINE_SECONDS}")
endif()
set(ENV{TOUCHSTONE_FUZZ_AREA} ${TARGET})
math(EXPR runs "${SECONDS} * ${RATE}")
set(corpus "${FOLDER}/engine-${TARGET}")
file(REMOVE_RECURSE "${corpus}")
file(MAKE_DIRECTORY "${corpus}/new")
# Seeds: a folder, a packed corpus, or those that an area's program writes for a number of cases.
set(seeds "${SOURCES}/seeds/${TARGET}")
set(write "")
set(longest 512)
if(EXISTS "${seeds}.txt")
  set(write --unpack "${seeds}.txt")
  set(seeds "")
  set(longest 2048)
elseif(NOT "${TARGET}" MATCHES "^(expression|jsonl)$")
  set(write --seeds 60)
endif()
if(NOT EXISTS "${seeds}")
  set(seeds "")
endif()
if(write)
  execute_process(COMMAND "${PROGRAM}" ${write} "${corpus}/written" RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${TARGET} could not write its seeds")
  endif()
  list(APPEND seeds "${corpus}/written")
endif()
set(words ${TARGET})
if("${TARGET}" MATCHES "^(npy|npz|safetensors|torch|onnx)$")
  set(words arrays)
elseif("${TARGET}" MATCHES "^(formula|opts|claim)$")
  set(words formula)
elseif("${TARGET}" MATCHES "^http")
  set(words http)
elseif(EXISTS "${SOURCES}/seeds/${TARGET}.txt")
  set(words json)
endif()
set(dictionary "")
if(EXISTS "${SOURCES}/${words}.dict")
  set(dictionary "-dict=${SOURCES}/${words}.dict")
endif()
execute_process(
  COMMAND "${PROGRAM}" -max_total_time=${SECONDS} -runs=${runs} -seed=1 -print_funcs=0
          -max_len=${longest} -timeout=120 -report_slow_units=120 -rss_limit_mb=4096
          -print_final_stats=1 -artifact_prefix=${FOLDER}/failed-${TARGET}-
          ${dictionary} "${corpus}/new" ${seeds}
  RESULT_VARIABLE status)
file(REMOVE_RECURSE "${corpus}")
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${TARGET} failed under the engine; the input is a file failed-${TARGET}-* in "
                      "${FOLDER}; an area's program makes it smaller with --reduce FILE")
endif()
