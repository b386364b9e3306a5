#include "touchstone/tensor/state.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "touchstone/device/array_file.h"

namespace touchstone::nn {
namespace {

HostArray to_host(const Tensor& x) {
  HostArray array{x.dtype(), {}, {}};
  for (const sint& s : x.shape()) array.shape.push_back(s.as_int());
  with_storage(x.dtype(), [&]<class T>(std::type_identity<T>) {
    const std::vector<T> values = x.read<T>();
    if constexpr (std::is_same_v<T, bool>) {
      for (const bool value : values) array.bytes.push_back(static_cast<char>(value));
    } else {
      array.bytes.resize(values.size() * sizeof(T));
      if (!values.empty()) std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
    }
  });
  return array;
}

Tensor to_device(const HostArray& array, const std::string& device) {
  const Shape shape(array.shape.begin(), array.shape.end());
  return with_storage(array.dtype, [&]<class T>(std::type_identity<T>) {
    std::vector<T> values;
    if constexpr (std::is_same_v<T, bool>) {
      for (const char c : array.bytes) values.push_back(c != 0);
    } else {
      values.resize(array.bytes.size() / sizeof(T));
      if (!values.empty()) std::memcpy(values.data(), array.bytes.data(), array.bytes.size());
    }
    return Tensor::from<T>(values, shape, device);
  });
}

std::map<std::string, Tensor> by_name(const StateDict& state) {
  std::map<std::string, Tensor> all;
  for (const NamedTensor& entry : state)
    if (!all.emplace(entry.name, entry.tensor).second)
      throw Error(fmt::format("state: two tensors are named '{}'; give each layer its own prefix",
                              entry.name));
  return all;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return str(Shape(shape.begin(), shape.end()));
}

}  // namespace

StateDict prefixed(const std::string& prefix, StateDict state) {
  for (NamedTensor& entry : state) entry.name = prefix + "." + entry.name;
  return state;
}

std::vector<Tensor> Module::parameters() const {
  std::vector<Tensor> all;
  for (const NamedTensor& entry : state())
    if (entry.tensor.requires_grad()) all.push_back(entry.tensor);
  return all;
}

void save_state(const std::filesystem::path& path, const StateDict& state) {
  by_name(state);
  std::vector<Tensor> tensors;
  for (const NamedTensor& entry : state) tensors.push_back(entry.tensor);
  realize(tensors);
  std::vector<NamedArray> arrays;
  for (const NamedTensor& entry : state) arrays.push_back({entry.name, to_host(entry.tensor)});
  write_array_file(path, arrays);
}

void load_state(const std::filesystem::path& path, const StateDict& state, Strict strict) {
  std::map<std::string, Tensor> wanted = by_name(state);
  const std::vector<NamedArray> arrays = read_array_file(path);
  std::string wrong;
  const auto say = [&](const std::string& what) { wrong += "\n  " + what; };
  for (const NamedArray& given : arrays) {
    const auto found = wanted.find(given.name);
    if (found == wanted.end()) {
      if (strict == Strict::Yes)
        say(fmt::format("'{}' {} is not expected", given.name, shape_text(given.array.shape)));
      continue;
    }
    const Tensor& tensor = found->second;
    const Shape shape(given.array.shape.begin(), given.array.shape.end());
    if (shape != tensor.shape())
      say(fmt::format("'{}' has shape {}, expected {}", given.name, str(shape),
                      str(tensor.shape())));
    if (given.array.dtype != tensor.dtype())
      say(fmt::format("'{}' is {}, expected {}", given.name, name(given.array.dtype),
                      name(tensor.dtype())));
  }
  if (strict == Strict::Yes)
    for (const auto& [name, tensor] : wanted)
      if (std::ranges::find(arrays, name, &NamedArray::name) == arrays.end())
        say(fmt::format("'{}' {} is missing", name, str(tensor.shape())));
  if (!wrong.empty())
    throw Error(fmt::format(
        "'{}' does not fit the model:{}\n(load the file of this model, or allow other names "
        "with Strict::No)",
        path.string(), wrong));
  for (const NamedArray& given : arrays)
    if (const auto found = wanted.find(given.name); found != wanted.end())
      found->second.assign(to_device(given.array, found->second.device()));
}

}  // namespace touchstone::nn
