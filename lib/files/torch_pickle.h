#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/dtype/dtype.h"
#include "touchstone/files/array_reader.h"

// The pickle of a file of torch.save; of use to lib/device alone.

namespace touchstone {

struct TorchStorage {
  DType dtype = DType::Float32;
  std::string key;        // its member is data/KEY
  std::int64_t size = 0;  // elements
};
/// A tensor lies within its storage and has no more elements than it.
struct TorchTensor {
  std::string name;
  TorchStorage storage;
  std::int64_t offset = 0;
  std::vector<std::int64_t> shape, strides;  // in elements
};

/// Throws ParseError with this reason.
using TorchFault = std::function<void(const std::string& why)>;

/// The tensors that a pickle names, by the keys and positions that lead to them. A pickle is a
/// program; only the instructions that build dictionaries, lists and tensors are read, and only the
/// names that those need. Nothing that it names is looked up or called.
std::vector<TorchTensor> torch_tensors(std::string_view pickle, const TorchFault& bad);

/// What stands before the storages in a file of torch.save before PyTorch 1.6, and where the first
/// of them begins: pickles of a magic number, a version, facts about the system, the tensors, and
/// the keys of the storages in order.
struct TorchStream {
  std::vector<TorchTensor> tensors;
  std::vector<TorchStorage> storages;
  std::size_t end = 0;
};
/// `front`: the file or as much of it as may hold pickles.
TorchStream torch_stream(std::string_view front, const TorchFault& bad);
/// Whether a file begins as those do.
bool begins_torch_stream(std::string_view front);

/// The elements of a tensor that are wanted, of a storage in memory.
HostArray strided_elements(const TorchTensor& x, std::string_view storage, const Wanted& wanted,
                           const TorchFault& bad);

}  // namespace touchstone
