#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/dtype/dtype.h"
#include "touchstone/files/array_reader.h"

// Pickles in files of torch.save; internal to lib/files.

namespace touchstone {

struct TorchStorage {
  DType dtype = DType::Float32;
  std::string key;        // its member is data/KEY
  std::int64_t size = 0;  // elements
};
/// A tensor; lies within its storage and has no more elements than it.
struct TorchTensor {
  std::string name;
  TorchStorage storage;
  std::int64_t offset = 0;
  std::vector<std::int64_t> shape, strides;  // in elements
};

/// Must throw ParseError with this reason.
using TorchFault = std::function<void(const std::string& why)>;

/// Returns the tensors in a pickle, named by the keys and positions that lead to them. A pickle is
/// a program; only instructions that build dictionaries, lists and tensors, and the names they
/// need, are accepted. Nothing is imported or called.
std::vector<TorchTensor> torch_tensors(std::string_view pickle, const TorchFault& bad);

/// The front of a torch.save file from before PyTorch 1.6: pickles of a magic number, a version,
/// system facts, the tensors, and the storage keys in order. `end`: where the first storage begins.
struct TorchStream {
  std::vector<TorchTensor> tensors;
  std::vector<TorchStorage> storages;
  std::size_t end = 0;
};
/// `front`: the file, or at least the part that holds the pickles.
TorchStream torch_stream(std::string_view front, const TorchFault& bad);
/// True if a file starts with that magic number.
bool begins_torch_stream(std::string_view front);

/// Returns the wanted elements of a tensor from a storage in memory.
HostArray strided_elements(const TorchTensor& x, std::string_view storage, const Wanted& wanted,
                           const TorchFault& bad);

}  // namespace touchstone
