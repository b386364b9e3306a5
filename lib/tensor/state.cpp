#include "touchstone/tensor/state.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>

#include "touchstone/base/file.h"
#include "touchstone/device/disk.h"
#include "touchstone/files/array_file.h"

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
  for (const NamedTensor& entry : named_parameters()) all.push_back(entry.tensor);
  return all;
}
StateDict Module::named_parameters() const {
  StateDict all = state();
  std::erase_if(all, [](const NamedTensor& entry) { return !entry.tensor.requires_grad(); });
  return all;
}
StateDict Module::buffers() const {
  StateDict all = state();
  std::erase_if(all, [](const NamedTensor& entry) { return entry.tensor.requires_grad(); });
  return all;
}

Tensor Module::parameter(const std::string& name, Tensor values) {
  if (values.defined()) listed_.push_back({name, values.set_requires_grad()});
  return values;
}
Tensor Module::buffer(const std::string& name, Tensor values) {
  if (values.defined()) listed_.push_back({name, values});
  return values;
}
void Module::list(const std::string& name, const Module& module) {
  for (NamedTensor& entry : prefixed(name, module.state())) listed_.push_back(std::move(entry));
}

namespace {

std::vector<NamedArray> arrays_of(const StateDict& state) {
  by_name(state);
  std::vector<Tensor> tensors;
  for (const NamedTensor& entry : state) tensors.push_back(entry.tensor);
  realize(tensors);
  std::vector<NamedArray> arrays;
  for (const NamedTensor& entry : state) arrays.push_back({entry.name, to_host(entry.tensor)});
  return arrays;
}

StateDict tensors_of(const std::vector<NamedArray>& arrays) {
  StateDict state;
  for (const NamedArray& a : arrays) state.push_back({a.name, to_device(a.array, "CPU")});
  return state;
}

}  // namespace

void save_state(const std::filesystem::path& path, const StateDict& state,
                const Metadata& metadata) {
  if (metadata.empty()) return write_array_file(path, arrays_of(state));
  if (path.extension() != ".safetensors")
    throw Error(fmt::format("'{}' cannot store metadata; a .safetensors can", path.string()));
  write_file_atomically(path, state_bytes(state, metadata));
}

Metadata load_metadata(const std::filesystem::path& path) {
  // Reads only the header, whose length is in the first eight bytes.
  constexpr std::uint64_t kMost = (std::uint64_t{16} << 20) + 8;
  const InputFile file(path);
  const auto head = static_cast<std::size_t>(std::min(file.size(), kMost));
  std::uint64_t length = 0;
  if (head >= 8) std::memcpy(&length, file.read(0, 8).data(), 8);
  const std::uint64_t wanted = length > kMost ? head : std::min<std::uint64_t>(head, length + 8);
  return safetensors_metadata(file.read(0, static_cast<std::size_t>(wanted)), path.string());
}

StateDict load_tensors(const std::filesystem::path& path) {
  return tensors_of(read_array_file(path));
}
StateDict torch_load(const std::filesystem::path& path) {
  return tensors_of(read_torch_file(path));
}

StateDict map_tensors(const std::filesystem::path& path) {
  StateDict state;
  for (DiskArray& a : map_array_file(path)) {
    const Shape shape(a.shape.begin(), a.shape.end());
    state.push_back({a.name, Tensor(LazyBuffer::from_buffer(std::move(a.buffer), shape))});
  }
  return state;
}

void write_elements(const std::filesystem::path& path, const Tensor& x, std::int64_t offset) {
  if (offset < 0) throw Error(fmt::format("write_elements: offset {}; expected 0 or more", offset));
  const std::string bytes = to_host(x).bytes;
  std::fstream file;
  // Open without truncating, or create.
  for (const auto mode : {std::ios::in | std::ios::out, std::ios::out | std::ios::app}) {
    if (file.is_open()) break;
    file.open(path, mode | std::ios::binary);
    if (file.is_open() && (mode & std::ios::app) != std::ios::openmode{}) {
      file.close();
      file.open(path, std::ios::in | std::ios::out | std::ios::binary);
    }
  }
  file.seekp(offset);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.flush();
  if (!file)
    throw SystemError(fmt::format("cannot write {} bytes from {} on to '{}'", bytes.size(), offset,
                                  path.string()));
}

std::string state_bytes(const StateDict& state, const Metadata& metadata) {
  return safetensors_bytes(arrays_of(state), metadata);
}

namespace {

// Lists the mismatches of names, shapes and types between `given` and the state.
std::string misfits(const std::vector<ArrayLayout>& given,
                    const std::map<std::string, Tensor>& wanted, Strict strict) {
  std::string wrong;
  const auto say = [&](const std::string& what) { wrong += "\n  " + what; };
  for (const ArrayLayout& array : given) {
    const auto found = wanted.find(array.name);
    if (found == wanted.end()) {
      if (strict == Strict::Yes)
        say(fmt::format("'{}' {} is not expected", array.name, shape_text(array.shape)));
      continue;
    }
    const Tensor& tensor = found->second;
    const Shape shape(array.shape.begin(), array.shape.end());
    if (shape != tensor.shape())
      say(fmt::format("'{}' has shape {}, expected {}", array.name, str(shape),
                      str(tensor.shape())));
    if (array.dtype != tensor.dtype())
      say(fmt::format("'{}' is {}, expected {}", array.name, name(array.dtype),
                      name(tensor.dtype())));
  }
  if (strict == Strict::Yes)
    for (const auto& [name, tensor] : wanted)
      if (std::ranges::find(given, name, &ArrayLayout::name) == given.end())
        say(fmt::format("'{}' {} is missing", name, str(tensor.shape())));
  return wrong;
}

void give(const std::vector<NamedArray>& arrays, const std::string& where, const StateDict& state,
          Strict strict) {
  std::map<std::string, Tensor> wanted = by_name(state);
  std::vector<ArrayLayout> given;
  for (const NamedArray& array : arrays)
    given.push_back({array.name, array.array.dtype, array.array.shape, 0});
  if (const std::string wrong = misfits(given, wanted, strict); !wrong.empty())
    throw Error(fmt::format(
        "'{}' does not fit the model:{}\n(load the file of this model, or allow other names "
        "with Strict::No)",
        where, wrong));
  for (const NamedArray& array : arrays)
    if (const auto found = wanted.find(array.name); found != wanted.end())
      found->second.assign(
          to_device(array.array, found->second.device()).shard_like(found->second));
}

}  // namespace

void load_state(const std::filesystem::path& path, const StateDict& state, Strict strict) {
  give(read_array_file(path), path.string(), state, strict);
}

void load_state_bytes(std::string_view bytes, const StateDict& state, Strict strict) {
  give(parse_safetensors(bytes, "bytes"), "bytes", state, strict);
}

void copy_state(const StateDict& from, const StateDict& to) {
  by_name(from);
  std::map<std::string, Tensor> wanted = by_name(to);
  std::vector<ArrayLayout> given;
  for (const NamedTensor& entry : from) {
    given.push_back({entry.name, entry.tensor.dtype(), {}, 0});
    for (const sint& size : entry.tensor.shape()) given.back().shape.push_back(size.as_int());
  }
  if (const std::string wrong = misfits(given, wanted, Strict::Yes); !wrong.empty())
    throw Error(fmt::format(
        "copy_state: the states do not fit:{}\n(copy the state of an equal model)", wrong));
  for (const NamedTensor& entry : from) {
    Tensor& target = wanted.at(entry.name);
    target.assign(entry.tensor.detach().shard_like(target));
  }
}

}  // namespace touchstone::nn
