// Passes over the complete linear code of a kernel.
#include <cassert>
#include <numeric>

#include "touchstone/base/hash.h"
#include "touchstone/codegen/kept_values.h"
#include "touchstone/codegen/linearizer.h"
#include "touchstone/codegen/vector_loops.h"

namespace touchstone::codegen {

bool goes_past_cache(const BufferSpec& buffer, const LayoutSizes& sizes) {
  return buffer.size >= sizes.past_cache_bytes / static_cast<std::int64_t>(itemsize(buffer.dtype));
}

std::vector<int> finish(LinearKernel& linear, const LazyOpPtr& kernel,
                        const CodegenOptions& options) {
  constexpr std::int64_t kLeastBytes = 256;  // four cache lines
  std::vector<int> origin(linear.steps.size());
  std::iota(origin.begin(), origin.end(), 0);
  if (options.keep_values) origin = keep_values_in_output(linear);
  linear.past_cache = options.layout_seed != 0 && !options.opts
                          ? hash_mix(LazyOpHash()(kernel), options.layout_seed) % 2 == 0
                          : goes_past_cache(linear.buffers.front(), options.sizes) &&
                                chunks_of(linear).bytes >= kLeastBytes;
  assert((verify(linear), true));
  return origin;
}

}  // namespace touchstone::codegen
