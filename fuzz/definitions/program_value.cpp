// A program's value, without the lazy stack.
#include <algorithm>
#include <cstring>

#include "touchstone/base/error.h"
#include "touchstone/device/device.h"
#include "touchstone/fuzz/cases/program.h"
#include "touchstone/fuzz/judge/kernel_case.h"

namespace touchstone::fuzz {
namespace {

std::string element(const HostArray& x, std::int64_t i) {
  const std::size_t width = itemsize(x.dtype);
  return x.bytes.substr(static_cast<std::size_t>(i) * width, width);
}

HostArray leaf_value(const ProgramStep& s, const ProgramType& type) {
  HostArray x{type.dtype, type.shape, {}};
  const std::size_t width = itemsize(type.dtype);
  const std::int64_t n = x.size();
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t bits = value_of(s, static_cast<std::size_t>(i)).bits();
    x.bytes.append(reinterpret_cast<const char*>(&bits), width);
  }
  return x;
}

HostArray moved_value(const HostArray& x, const ProgramStep& s) {
  Addresses array{x.shape, {}};
  for (std::int64_t i = 0; i < x.size(); ++i) array.cells.push_back(i);
  move(array, s.movement);
  HostArray out{x.dtype, array.shape, {}};
  for (const std::int64_t cell : array.cells)
    out.bytes += cell < 0 ? std::string(itemsize(x.dtype), '\0') : element(x, cell);
  return out;
}

// Row p of a table for each position p; 0 if outside.
HostArray gathered_value(const HostArray& table, const HostArray& positions) {
  HostArray out{table.dtype, positions.shape, {}};
  const std::int64_t rows = table.shape[0], size = positions.size();
  for (std::int64_t i = 0; i < size; ++i) {
    std::int64_t at = 0;
    std::memcpy(&at, positions.bytes.data() + static_cast<std::size_t>(i) * sizeof at, sizeof at);
    out.bytes += at < 0 || at >= rows ? std::string(itemsize(table.dtype), '\0')
                                      : element(table, at * size + i);
  }
  return out;
}

LazyOpPtr node_of(const ProgramStep& s, const std::vector<LazyOpPtr>& x) {
  if (s.name.ends_with("cast")) return LazyOp::cast(x[0], parse_dtype(s.word), s.name == "bitcast");
  const Op op = op_of(s.name);
  if (is_reduce(op)) {
    std::vector<int> axes = axes_of(s);
    std::ranges::sort(axes);
    return axes.empty() ? x[0] : LazyOp::reduce(op, x[0], axes);
  }
  return LazyOp::make(op, x, arg_of(s.name));
}

// Runs one operation as its own kernel, over whole buffers.
HostArray computed_value(const ProgramStep& s, const ProgramType& type,
                         const std::vector<const HostArray*>& of, Device& device) {
  HostArray out{type.dtype, type.shape, {}};
  if (out.size() == 0) return out;
  std::vector<LazyOpPtr> loads;
  KernelCase c;
  for (const HostArray* x : of) {
    c.inputs.push_back({x->dtype, {x->size()}, x->bytes});
    loads.push_back(
        LazyOp::load(static_cast<int>(c.inputs.size()), x->dtype,
                     ShapeTracker::contiguous(Shape(x->shape.begin(), x->shape.end()))));
  }
  const LazyOpPtr value = node_of(s, loads);
  c.kernel = LazyOp::store(ShapeTracker::contiguous(value->shape()), value);
  const std::vector<BufferPtr> buffers = make_buffers(c, device);
  std::vector<Buffer*> raw;
  for (const BufferPtr& b : buffers) raw.push_back(b.get());
  run_kernel(device, c.kernel, raw);
  out.bytes.resize(buffers[0]->bytes());
  buffers[0]->copy_out(std::as_writable_bytes(std::span(out.bytes)));
  return out;
}

}  // namespace

std::string by_definition(const TensorProgram& program, Device& device) {
  const std::vector<ProgramType> types = program.types();
  std::vector<HostArray> values;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const ProgramStep& s = program.steps[i];
    std::vector<const HostArray*> of;
    for (const int o : s.of) of.push_back(&values[static_cast<std::size_t>(o)]);
    if (s.leaf())
      values.push_back(leaf_value(s, types[i]));
    else if (is_movement(s.name))
      values.push_back(moved_value(*of[0], s));
    else if (s.name == "gather")
      values.push_back(gathered_value(*of[0], *of[1]));
    else if (s.name == "assign")
      values.push_back(HostArray(*of[1]));
    else if (settles(s.name))
      values.push_back(HostArray(*of[0]));
    else
      values.push_back(computed_value(s, types[i], of, device));
  }
  return values.back().bytes;
}

}  // namespace touchstone::fuzz
