#!/bin/bash -eu
# oss_fuzz_test.sh SOURCE FOLDER CLANGXX: a dry run of fuzz/oss-fuzz/build.sh into FOLDER.
rm -rf "$2"
mkdir -p "$2/src" "$2/out" "$2/work"
ln -s "$1" "$2/src/touchstone"
export SRC=$2/src OUT=$2/out WORK=$2/work CC=${3/++/} CXX=$3 CFLAGS=-O1 TOUCHSTONE_DRY_RUN=1
export CXXFLAGS='-O1 -fsanitize=address,fuzzer-no-link' LIB_FUZZING_ENGINE=-fsanitize=fuzzer
bash -eu "$1/fuzz/oss-fuzz/build.sh"
for area in symbolic view kernel lazy tensor npy formula http question; do
  for file in "fuzz_$area.dict" "fuzz_$area.options" "fuzz_${area}_seed_corpus.zip"; do
    [ -s "$OUT/$file" ] || { echo "$file is missing"; exit 1; }
  done
done
