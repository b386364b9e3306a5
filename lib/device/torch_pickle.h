#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/device/zip_archive.h"
#include "touchstone/dtype/dtype.h"

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

/// The tensors that a pickle names, by the keys and positions that lead to them. A pickle is a
/// program; only the instructions that build dictionaries, lists and tensors are read, and only the
/// names that those need. Nothing that it names is looked up or called. Throws as archive.bad().
std::vector<TorchTensor> torch_tensors(std::string_view pickle, const ZipArchive& archive);

}  // namespace touchstone
