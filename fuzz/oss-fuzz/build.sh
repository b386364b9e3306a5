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
  -DTOUCHSTONE_BUILD_TESTS=OFF -DTOUCHSTONE_BUILD_FUZZERS=ON \
  -DTOUCHSTONE_WERROR=OFF -DTOUCHSTONE_FUZZING_ENGINE="$LIB_FUZZING_ENGINE" \
  -DCMAKE_BUILD_RPATH='$ORIGIN/lib'

mkdir -p "$OUT/lib"
# libraries_of PROGRAM: copied to where the runner finds them.
libraries_of() {
  ldd "$1" | awk '$3 ~ /lib(fmt|mpfr|gmp|tbb|xxhash|z3|zip|bz2|crypto)\./ {print $3}' | xargs -r -I{} cp -n {} "$OUT/lib/"
}

# pack TARGET SEEDS DICTIONARY LENGTH
pack() {
  (cd "$2" && cmake -E tar cf "$OUT/$1_seed_corpus.zip" --format=zip -- *)
  [ ! -f "$source_dir/tests/fuzzers/$3.dict" ] || cp "$source_dir/tests/fuzzers/$3.dict" "$OUT/$1.dict"
  printf '[libfuzzer]\nmax_len = %s\ntimeout = 60\n' "$4" >"$OUT/$1.options"
}

known=$(cmake --build "$build_dir" --target help)
for area in $targets; do
  target=fuzz_$area
  seeds=$WORK/seeds-$area
  rm -rf "$seeds" && mkdir -p "$seeds"
  cp "$source_dir"/tests/fuzzers/seeds/"$area"/* "$seeds"/
  if [ -z "${TOUCHSTONE_DRY_RUN:-}" ]; then
    cmake --build "$build_dir" --target "$target"
    cp "$build_dir/tests/fuzzers/$target" "$OUT/"
    "$OUT/$target" --seeds 200 "$seeds" # the bytes that draw 200 cases of the generator
    libraries_of "$OUT/$target"
  else
    grep -q "^$target:" <<<"$known"
  fi
  pack "$target" "$seeds" "$area" 512
done

# The readers of files, lines and requests: one program, which looks for its target in its own name.
[ -n "${TOUCHSTONE_DRY_RUN:-}" ] || cmake --build "$build_dir" --target reader_fuzzer
grep -q "^reader_fuzzer:" <<<"$known"
for packed in "$source_dir"/tests/fuzzers/seeds/*.txt; do
  reader=$(basename "$packed" .txt)
  seeds=$WORK/seeds-$reader
  rm -rf "$seeds" && mkdir -p "$seeds"
  if [ -z "${TOUCHSTONE_DRY_RUN:-}" ]; then
    cp "$build_dir/tests/fuzzers/reader_fuzzer" "$OUT/fuzz_$reader"
    "$OUT/fuzz_$reader" --unpack "$packed" "$seeds"
  else
    cp "$packed" "$seeds/"
  fi
  case $reader in
  npy | npz | safetensors | torch | onnx) words=arrays ;;
  formula | opts | claim) words=formula ;;
  http*) words=http ;;
  *) words=json ;;
  esac
  pack "fuzz_$reader" "$seeds" "$words" 2048
done
[ -n "${TOUCHSTONE_DRY_RUN:-}" ] || libraries_of "$build_dir/tests/fuzzers/reader_fuzzer"
