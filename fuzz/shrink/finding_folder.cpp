#include "touchstone/fuzz/shrink/finding_folder.h"

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/base/private_folder.h"
#include "touchstone/fuzz/judge/reproducer.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/interp/oracle/explain.h"
#include "touchstone/ops/kernel_json.h"

namespace touchstone::fuzz {
namespace {

using Index = std::vector<std::int64_t>;

constexpr std::int64_t kMostListed = 8;  // terms of a reduce that are listed

Index unraveled(std::int64_t flat, const Shape& shape) {
  Index at(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    const std::int64_t n = std::max<std::int64_t>(1, shape[i].as_int());
    at[i] = flat % n;
    flat /= n;
  }
  return at;
}

bool is_masked_out(const View& view, const Index& at) {
  if (!view.mask()) return false;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const auto& [begin, end] = (*view.mask())[i];
    if (at[i] < begin.as_int() || at[i] >= end.as_int()) return true;
  }
  return false;
}

std::string value_at(const HostArray& array, std::int64_t element) {
  if (element < 0 || element >= array.size()) return "outside of the buffer";
  const std::uint64_t bits = bits_at(array, static_cast<std::size_t>(element));
  return fmt::format("{:#0{}x} ({})", bits, 2 + 2 * itemsize(array.dtype),
                     Scalar::from_bits(array.dtype, bits).str());
}

// From the outermost view, indexed by the kernel, to the buffer.
std::string read_of(const KernelCase& c, const LazyOp& leaf, Index at) {
  const bool loads = leaf.op() == Op::Load;
  const std::vector<View>& views = loads ? leaf.buffer().st.views() : leaf.constant().st.views();
  std::string text = fmt::format("    ({})", fmt::join(at, ", "));
  std::int64_t place = 0;
  for (std::size_t v = views.size(); v-- > 0;) {
    if (is_masked_out(views[v], at)) return text + " is masked: 0\n";
    place = views[v].offset().as_int();
    for (std::size_t i = 0; i < at.size(); ++i) place += at[i] * views[v].strides()[i].as_int();
    text += fmt::format(" -> {}", place);
    if (v == 0) break;
    at = unraveled(place, views[v - 1].shape());
    text += fmt::format(" = ({})", fmt::join(at, ", "));
  }
  if (!loads) return text + fmt::format(": {}\n", leaf.constant().value.str());
  const HostArray& input = c.inputs[static_cast<std::size_t>(leaf.buffer().idx) - 1];
  return text + fmt::format(": {}\n", value_at(input, place));
}

std::string explained(const KernelCase& c, std::span<const std::int64_t> at) {
  const std::unique_ptr<Device> host = make_interpreted_device("TRACE", 1);
  const std::vector<BufferPtr> buffers = make_buffers(c, *host);
  std::vector<Buffer*> raw;
  for (const BufferPtr& b : buffers) raw.push_back(b.get());
  std::string text;
  for (const ExplainedNode& node : explain(c.kernel, raw, at))
    text += fmt::format("  {}\n    right is {}, legal is {}\n", node.text, node.reference.str(),
                        node.legal.str());
  return text;
}

}  // namespace

std::string index_trace(const KernelCase& c, std::span<const std::int64_t> at) {
  std::string text;
  for (const LazyOpPtr& leaf : toposort(c.kernel)) {
    if (leaf->op() == Op::Gather)
      text += fmt::format("  GATHER buffer {} {} {}, at (position, i, ...)\n", leaf->buffer().idx,
                          name(leaf->dtype()), leaf->buffer().st.str());
    if (leaf->op() != Op::Load && leaf->op() != Op::Const) continue;
    text += fmt::format("  {}\n", leaf->op() == Op::Load
                                      ? fmt::format("LOAD buffer {} {} {}", leaf->buffer().idx,
                                                    name(leaf->dtype()), leaf->buffer().st.str())
                                      : fmt::format("CONST {} {}", leaf->constant().value.str(),
                                                    leaf->constant().st.str()));
    // An axis that a reduce above collapses has the leaf's size.
    Index sizes, index(at.begin(), at.end());
    std::int64_t terms = 1;
    for (std::size_t i = 0; i < at.size(); ++i) {
      const bool reduced = c.kernel->shape()[i] != leaf->shape()[i];
      sizes.push_back(reduced ? leaf->shape()[i].as_int() : 1);
      terms *= sizes.back();
    }
    for (std::int64_t t = 0; t < std::min(terms, kMostListed); ++t) {
      std::int64_t rest = t;
      for (std::size_t i = at.size(); i-- > 0; rest /= sizes[i]) index[i] = at[i] + rest % sizes[i];
      text += read_of(c, *leaf, index);
    }
    if (terms > kMostListed) text += fmt::format("    and {} more\n", terms - kMostListed);
  }
  return text;
}

void write_finding_folder(const std::filesystem::path& folder, const KernelCase& c,
                          const Failure& failure, const std::string& again,
                          KernelBackend* backend) {
  make_own_folder(folder);
  const auto write = [&](const std::string& file, const std::string& text) {
    write_file_atomically(folder / file, text);
  };
  write("case.txt", case_to_json(c) + "\n");
  write("kernel.json", touchstone::to_json(kernel_file(c.kernel)));
  for (std::size_t i = 0; i < c.inputs.size(); ++i)
    write_npy(folder / fmt::format("input-{}.npy", i + 1), c.inputs[i]);
  write("again.sh", "#!/bin/sh\nexec " + again + "\n");
  std::error_code error;
  std::filesystem::permissions(folder / "again.sh", std::filesystem::perms::owner_all, error);
  write("verdict.txt", failure.relation + "\n" + failure.detail + "\n\n" + str(c));
  if (backend == nullptr) return;
  if (const auto [file, source] = backend->program(c); !source.empty()) write(file, source);
  const foreign::Answer answer = backend->run(c);
  if (answer.kind != foreign::Answer::Kind::Output) return;
  write_npy(folder / "answer.npy", answer.output);
  const KernelCase fixed{c.concrete(), c.inputs};
  const Reproducer r{fixed, answer.output, failure.relation + " on " + backend->name()};
  write("reproducer.json", to_json(r));
  const Verdict v = judge(r, backend->profile(c.kernel));
  if (v.outcome != Outcome::Fail || v.index < 0) return;
  write("trace.txt",
        fmt::format("{}\n\nElement ({}), node by node:\n{}\nWhat it reads:\n{}", v.str(),
                    fmt::join(v.at, ", "), explained(fixed, v.at), index_trace(fixed, v.at)));
}

}  // namespace touchstone::fuzz
