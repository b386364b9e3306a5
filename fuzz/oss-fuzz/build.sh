#!/bin/bash -eu
# Builds the fuzz targets for OSS-Fuzz and ClusterFuzzLite: compilers and flags come in $CC, $CXX,
# $CFLAGS, $CXXFLAGS and $LIB_FUZZING_ENGINE, sources are in $SRC/touchstone, targets go to $OUT with
# their seeds, dictionaries and options, and the libraries that the runner lacks.
#
# TOUCHSTONE_DRY_RUN=1 configures, packs seeds and dictionaries, and compiles nothing: what CI can
# check without the container.

source_dir=$SRC/touchstone
build_dir=$WORK/touchstone
targets='symbolic view kernel lazy tensor'

cmake -S "$source_dir" -B "$build_dir" -G Ninja \
  -DCMAKE_BUILD_TYPE=None -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" \
  -DCMAKE_CXX_FLAGS="$CXXFLAGS -DFMT_HEADER_ONLY" \
  -DTOUCHSTONE_BUILD_TESTS=OFF -DTOUCHSTONE_BUILD_CLI=OFF -DTOUCHSTONE_BUILD_FUZZERS=ON \
  -DTOUCHSTONE_WERROR=OFF -DTOUCHSTONE_FUZZING_ENGINE="$LIB_FUZZING_ENGINE" \
  -DCMAKE_BUILD_RPATH='$ORIGIN/lib'

mkdir -p "$OUT/lib"
for area in $targets; do
  target=fuzz_$area
  seeds=$WORK/seeds-$area
  rm -rf "$seeds" && mkdir -p "$seeds"
  cp "$source_dir"/tests/fuzzers/seeds/"$area"/* "$seeds"/
  if [ -z "${TOUCHSTONE_DRY_RUN:-}" ]; then
    cmake --build "$build_dir" --target "$target"
    cp "$build_dir/tests/fuzzers/$target" "$OUT/"
    "$OUT/$target" --seeds 200 "$seeds" # the bytes that draw 200 cases of the generator
    ldd "$OUT/$target" | awk '$3 ~ /lib(fmt|mpfr|gmp|tbb|xxhash|z3|zip|bz2|crypto)\./ {print $3}' |
      xargs -r -I{} cp -n {} "$OUT/lib/"
  else
    cmake --build "$build_dir" --target help | grep -q "^$target:" # the target is known
  fi
  (cd "$seeds" && cmake -E tar cf "$OUT/${target}_seed_corpus.zip" --format=zip -- *)
  cp "$source_dir/tests/fuzzers/$area.dict" "$OUT/$target.dict"
  printf '[libfuzzer]\nmax_len = 512\ntimeout = 60\n' >"$OUT/$target.options"
done
