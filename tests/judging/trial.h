// Outputs of a library, judged.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "../support/traced_draws.h"
#include "touchstone/dtype/convert.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/judging/judging.h"

namespace touchstone::test {

using Floats = std::vector<float>;

inline Floats drawn(Draws& random, std::size_t count, float scale, float shift = 0) {
  Floats values(count);
  for (float& v : values) v = shift + scale * random.normal<float>();
  return values;
}

// A formula, its inputs, and the output of a library.
struct Trial {
  std::string text;
  std::vector<Floats> in;
  Floats out;
  DType dtype = DType::Float32;
  std::optional<DType> out_dtype = {};  // if another
  std::vector<std::pair<std::string, DType>> stores = {};
  std::string profile = {};  // of the formula if empty

  static std::string bytes_of(const Floats& values, DType dtype) {
    std::string bytes;
    for (const float v : values) {
      const std::uint64_t bits = Scalar::from_double(dtype, static_cast<double>(v)).bits();
      bytes.append(reinterpret_cast<const char*>(&bits), itemsize(dtype));
    }
    return bytes;
  }
  Verdict under(bool with_forms, const std::vector<std::string>& named = {},
                const Sampling& sampling = {}) const {
    const KernelToJudge kernel = formula_to_judge(text);
    const std::unique_ptr<Device> host = make_interpreted_device();
    std::vector<BufferPtr> buffers;
    const auto add = [&](const Floats& values, DType type) {
      buffers.push_back(
          std::make_shared<Buffer>(*host, type, static_cast<std::int64_t>(values.size())));
      const std::string bytes = bytes_of(values, type);
      buffers.back()->copy_in(std::as_bytes(std::span(bytes)));
    };
    add(out, out_dtype.value_or(dtype));
    for (const Floats& values : in) add(values, dtype);
    std::vector<Buffer*> raw;
    for (const BufferPtr& b : buffers) raw.push_back(b.get());
    Judging judging = kernel.judging;
    if (!profile.empty()) judging.profile = Profile::named(profile);
    judging.profile.forms = named;
    judging.profile.stores = stores;
    judging.sampling = sampling;
    return with_forms ? judge(kernel.ast, raw, *buffers[0], judging)
                      : judge(kernel.ast, raw, *buffers[0], judging.profile, {}, sampling);
  }
};

}  // namespace touchstone::test
