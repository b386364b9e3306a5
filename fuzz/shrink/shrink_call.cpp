#include <algorithm>

#include "touchstone/base/error.h"
#include "touchstone/fuzz/cases/call.h"

namespace touchstone::fuzz {
namespace {

using Candidates = std::vector<std::string>;

// The call with a change.
template <class Change>
void with(const Call& call, Candidates& out, const Change& change) {
  Call c = call;
  change(c);
  out.push_back(c.str());
}

// The cost of a dtype: float64 none, then float32, then the rest.
std::int64_t type_cost(DType dtype) {
  return dtype == DType::Float64 ? 0 : dtype == DType::Float32 ? 1 : 2;
}

std::int64_t value_cost(const std::string& value) {
  if (value == "0" || value == "0.0") return 0;
  return static_cast<std::int64_t>(value.size()) + (value == "1" || value == "1.0" ? -1 : 1);
}

// One value an element.
void spread(CallInput& x) {
  const auto n = static_cast<std::size_t>(std::max<std::int64_t>(1, x.size()));
  std::vector<std::string> all;
  for (std::size_t i = 0; i < n; ++i) all.push_back(x.values[i % x.values.size()]);
  x.values = std::move(all);
}

// Drops the last rows of an axis; values keep their places.
void cut(CallInput& x, std::size_t axis, std::int64_t to) {
  spread(x);
  std::int64_t inner = 1;
  for (std::size_t i = axis + 1; i < x.shape.size(); ++i) inner *= x.shape[i];
  inner = std::max<std::int64_t>(1, inner);
  const std::int64_t size = x.shape[axis];
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < x.values.size(); ++i)
    if (static_cast<std::int64_t>(i) / inner % size < to) kept.push_back(x.values[i]);
  if (kept.empty()) kept.push_back(x.values[0]);
  x.shape[axis] = to;
  x.values = std::move(kept);
}

void smaller_sizes(const Call& call, Candidates& out) {
  std::vector<std::int64_t> sizes;
  for (const CallInput& x : call.inputs)
    for (const std::int64_t size : x.shape)
      if (size > 0 && std::ranges::find(sizes, size) == sizes.end()) sizes.push_back(size);
  std::ranges::sort(sizes, std::greater());
  for (const std::int64_t size : sizes)  // all axes of one size together
    for (const std::int64_t to : {std::int64_t{1}, size - 1}) {
      if (to >= size || to < 0) continue;
      with(call, out, [&](Call& c) {
        for (CallInput& x : c.inputs)
          for (std::size_t i = 0; i < x.shape.size(); ++i)
            if (x.shape[i] == size) cut(x, i, to);
      });
    }
  for (std::size_t k = 0; k < call.inputs.size(); ++k)
    for (std::size_t i = 0; i < call.inputs[k].shape.size(); ++i) {
      const std::int64_t size = call.inputs[k].shape[i];
      for (const std::int64_t to : {std::int64_t{1}, size - 1})
        if (to < size && to >= 0) with(call, out, [&](Call& c) { cut(c.inputs[k], i, to); });
      if (size == 1) with(call, out, [&](Call& c) { drop(c.inputs[k].shape, i); });
    }
  for (int front = 0; front < 2; ++front) {  // an axis shared by all tensors
    Call c = call;
    bool all = !c.inputs.empty();
    for (CallInput& x : c.inputs) {
      all = all && !x.shape.empty();
      if (!all) break;
      const std::size_t i = front == 0 ? 0 : x.shape.size() - 1;
      if (x.shape[i] > 1) cut(x, i, 1);
      drop(x.shape, i);
    }
    if (all) out.push_back(c.str());
  }
}

void smaller_arguments(const Call& call, Candidates& out) {
  for (std::size_t i = 0; i < call.args.size(); ++i) {
    with(call, out, [&](Call& c) { drop(c.args, i); });
    std::vector<std::int64_t> numbers;
    try {
      numbers = numbers_of(call.args[i].second);
    } catch (const ParseError&) {
      continue;
    }
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      std::vector<std::int64_t> list = numbers;
      const auto set = [&](Call& c) { c.set(call.args[i].first, list); };
      drop(list, k);
      with(call, out, set);
      for (const std::int64_t to :
           {std::int64_t{0}, std::int64_t{1}, numbers[k] - 1, -numbers[k]}) {
        if (std::abs(to) > std::abs(numbers[k]) || to == numbers[k]) continue;
        list = numbers;
        list[k] = to;
        with(call, out, set);
      }
    }
  }
}

void smaller_values(const Call& call, Candidates& out) {
  for (std::size_t k = 0; k < call.inputs.size(); ++k) {
    const CallInput& x = call.inputs[k];
    if (!x.via.empty()) with(call, out, [&](Call& c) { c.inputs[k].via = ""; });
    const auto each = [&](const char* value) {
      for (std::size_t i = 0; i < x.values.size(); ++i)
        with(call, out, [&](Call& c) { c.inputs[k].values[i] = value; });
    };
    for (const char* value : {"0", "1"}) {
      with(call, out, [&](Call& c) { c.inputs[k].values = {value}; });
      each(value);
    }
    for (const char* value : {"2", "0.5", "-1"})
      if (is_float(x.dtype)) each(value);
  }
}

}  // namespace

std::vector<std::string> smaller_calls(const Call& call) {
  Candidates out;
  for (std::size_t i = call.inputs.size(); i-- > 1;)
    with(call, out, [&](Call& c) { drop(c.inputs, i); });
  smaller_sizes(call, out);
  smaller_arguments(call, out);
  for (const DType to : {DType::Float64, DType::Float32})
    with(call, out, [&](Call& c) {
      for (CallInput& x : c.inputs)
        if (is_float(x.dtype)) x.dtype = to;
    });
  smaller_values(call, out);
  return out;
}

Measure measure_of(const Call& call) {
  Measure m{};
  for (const CallInput& x : call.inputs) {
    m[0] += x.size();
    m[1] += 2 + static_cast<std::int64_t>(x.shape.size());
    m[2] += type_cost(x.dtype) + (x.via.empty() ? 0 : 1);
    for (const std::string& v : x.values) m[3] += 1 + value_cost(v);
  }
  for (const auto& [key, value] : call.args) {
    m[1] += 1 + std::ranges::count(value, ',');
    m[4] += static_cast<std::int64_t>(value.size());
    try {
      for (const std::int64_t n : numbers_of(value)) m[4] += 2 * std::abs(n) + (n < 0 ? 1 : 0);
    } catch (const ParseError&) {
      continue;  // no number
    }
  }
  return m;
}

Extent extent_of(const Call& call) {
  Extent e{1, 0};
  for (const CallInput& x : call.inputs)
    for (const std::int64_t size : x.shape) e.dim = std::max(e.dim, size);
  return e;
}

}  // namespace touchstone::fuzz
