#pragma once

#include <concepts>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/files/array_file.h"
#include "touchstone/tensor/tensor.h"

/// The named tensors of a layer, and how to save and load them.
namespace touchstone::nn {

struct NamedTensor {
  std::string name;  // "encoder.0.weight"
  Tensor tensor;
};
/// In the order of the layers. Tensors are handles: assigning to one changes the layer.
using StateDict = std::vector<NamedTensor>;

/// The state with "prefix." before each name.
StateDict prefixed(const std::string& prefix, StateDict state);

/// The base class of everything with a state: parameters, which require gradients, and buffers,
/// which do not. A module names its tensors and parts as it constructs them:
///
///   struct Net final : nn::Module {
///     explicit Net(Generator& g)
///         : hidden(part("hidden", nn::Linear(2, 16, g))),
///           scale(parameter("scale", Tensor::ones({16}))) {}
///     nn::Linear hidden;
///     Tensor scale;
///   };
///
/// Tensors are handles: a copy of a module shares its parameters. Change a parameter with assign(),
/// not by assigning to the member.
class Module {
 public:
  virtual ~Module() = default;
  /// "scale", "hidden.weight", ... in order of registration.
  virtual StateDict state() const { return listed_; }
  /// The tensors of state() that require a gradient; buffers() returns the others.
  std::vector<Tensor> parameters() const;
  StateDict named_parameters() const;
  StateDict buffers() const;

 protected:
  Module() = default;
  Module(const Module&) = default;
  Module(Module&&) = default;
  Module& operator=(const Module&) = default;
  Module& operator=(Module&&) = default;

  /// Registers a learned tensor (buffer: one that is not learned); Tensor::none() is skipped.
  /// Throws DTypeError for a parameter that is not a float.
  Tensor parameter(const std::string& name, Tensor values);
  Tensor buffer(const std::string& name, Tensor values);
  /// Registers the current state of a part with "name." before its names.
  template <std::derived_from<Module> M>
  M part(const std::string& name, M module) {
    list(name, module);
    return module;
  }

 private:
  void list(const std::string& name, const Module& module);

  StateDict listed_;
};

/// Assigns the tensors of `from` to those of the same name in `to`, on their devices. To copy a
/// network, construct a second one and call this. Throws as load_state.
void copy_state(const StateDict& from, const StateDict& to);

/// Writes .safetensors or .npz, by extension, atomically. Only .safetensors supports metadata.
/// Throws Error for a repeated name or unsupported metadata, SystemError for the file.
void save_state(const std::filesystem::path& path, const StateDict& state,
                const Metadata& metadata = {});
/// Reads the metadata of a .safetensors file from its header. Throws SystemError, ParseError.
Metadata load_metadata(const std::filesystem::path& path);

/// Yes: names that only the file or only the state has are an error.
enum class Strict : bool { No, Yes };
/// Assigns the values of a file (.safetensors, .npz, PyTorch's .pt and .pth) to the tensors of
/// `state`, on their devices. On a mismatch nothing changes and Error lists every missing and
/// unexpected name and every differing shape or dtype; SystemError, ParseError for the file.
void load_state(const std::filesystem::path& path, const StateDict& state,
                Strict strict = Strict::Yes);
/// Loads the tensors of a file on CPU. Throws SystemError, ParseError.
StateDict load_tensors(const std::filesystem::path& path);
/// As load_tensors, for PyTorch's format whatever the file's name (parse_torch).
StateDict torch_load(const std::filesystem::path& path);

/// Maps the tensors of a .safetensors or .npy file, on DISK: a tensor or part is read only when it
/// goes to() a device that computes. Throws as map_array_file.
StateDict map_tensors(const std::filesystem::path& path);
/// Writes the elements of x into a file from byte `offset` on, creating or extending it as needed:
/// writes files larger than memory one tensor at a time. Unlike save_state it changes the file in
/// place. Throws Error for a negative offset, SystemError.
void write_elements(const std::filesystem::path& path, const Tensor& x, std::int64_t offset = 0);

/// Save and load as .safetensors in memory. Throw as the file functions.
std::string state_bytes(const StateDict& state, const Metadata& metadata = {});
void load_state_bytes(std::string_view bytes, const StateDict& state, Strict strict = Strict::Yes);

}  // namespace touchstone::nn
