#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "touchstone/tensor/tensor.h"

/// The tensors of a layer, by name, and their way to a file and back.
namespace touchstone::nn {

struct NamedTensor {
  std::string name;  // "encoder.0.weight"
  Tensor tensor;
};
/// In the order of the layers. Tensors are handles: giving one a value gives it to the layer.
using StateDict = std::vector<NamedTensor>;

/// The same with names behind "prefix.".
StateDict prefixed(const std::string& prefix, StateDict state);

/// Anything with a state: parameters, which require gradients, and buffers, which do not.
class Module {
 public:
  virtual ~Module() = default;
  virtual StateDict state() const = 0;
  /// The tensors of state() that require a gradient.
  std::vector<Tensor> parameters() const;

 protected:
  Module() = default;
  Module(const Module&) = default;
  Module(Module&&) = default;
  Module& operator=(const Module&) = default;
  Module& operator=(Module&&) = default;
};

/// Writes .safetensors or .npz, by the extension; the whole file or none of it. Throws Error for a
/// name that stands twice, SystemError for the file.
void save_state(const std::filesystem::path& path, const StateDict& state);

/// Whether names that only the file or only the state has are an error.
enum class Strict : bool { No, Yes };
/// Gives the tensors of `state` the values of the file, on their devices. Nothing changes where
/// something does not fit: throws Error that lists every missing and every unexpected name, and
/// every other shape or dtype; SystemError, ParseError for the file.
void load_state(const std::filesystem::path& path, const StateDict& state,
                Strict strict = Strict::Yes);

}  // namespace touchstone::nn
