#pragma once

#include <concepts>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/files/array_file.h"
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

/// Anything with a state: parameters, which require gradients, and buffers, which do not. A module
/// names its tensors and its parts where it makes them, and lists them so:
///
///   struct Net final : nn::Module {
///     explicit Net(Generator& g)
///         : hidden(part("hidden", nn::Linear(2, 16, g))),
///           scale(parameter("scale", Tensor::ones({16}))) {}
///     nn::Linear hidden;
///     Tensor scale;
///   };
///
/// Tensors are handles: a copy of a module has the same parameters, and a parameter takes a new
/// value by assign(), not by giving the member another tensor.
class Module {
 public:
  virtual ~Module() = default;
  /// "scale", "hidden.weight", ... in the order in which they were named.
  virtual StateDict state() const { return listed_; }
  /// The tensors of state() that require a gradient, and those that do not.
  std::vector<Tensor> parameters() const;
  StateDict named_parameters() const;
  StateDict buffers() const;

 protected:
  Module() = default;
  Module(const Module&) = default;
  Module(Module&&) = default;
  Module& operator=(const Module&) = default;
  Module& operator=(Module&&) = default;

  /// Lists a tensor that is learned (one that is not); Tensor::none() is not listed. Throws
  /// DTypeError for a parameter that is no float.
  Tensor parameter(const std::string& name, Tensor values);
  Tensor buffer(const std::string& name, Tensor values);
  /// Lists the state of a part, as it is now, behind "name.".
  template <std::derived_from<Module> M>
  M part(const std::string& name, M module) {
    list(name, module);
    return module;
  }

 private:
  void list(const std::string& name, const Module& module);

  StateDict listed_;
};

/// Gives the tensors of `to` the values of those of `from` with the same names, on their devices:
/// a copy of a network is one made like it and copy_state(). Throws as load_state.
void copy_state(const StateDict& from, const StateDict& to);

/// Writes .safetensors or .npz, by the extension; the whole file or none of it. Only .safetensors
/// takes metadata. Throws Error for a name that stands twice and for metadata elsewhere,
/// SystemError for the file.
void save_state(const std::filesystem::path& path, const StateDict& state,
                const Metadata& metadata = {});
/// The metadata of a .safetensors file, of which only the header is read. Throws SystemError,
/// ParseError.
Metadata load_metadata(const std::filesystem::path& path);

/// Whether names that only the file or only the state has are an error.
enum class Strict : bool { No, Yes };
/// Gives the tensors of `state` the values of the file (.safetensors, .npz, PyTorch's .pt and
/// .pth), on their devices. Nothing changes where something does not fit: throws Error that lists
/// every missing and every unexpected name, and every other shape or dtype; SystemError, ParseError
/// for the file.
void load_state(const std::filesystem::path& path, const StateDict& state,
                Strict strict = Strict::Yes);
/// The tensors of a file, on CPU. Throws SystemError, ParseError.
StateDict load_tensors(const std::filesystem::path& path);
/// The same of PyTorch's format, whatever the file's name is (parse_torch).
StateDict torch_load(const std::filesystem::path& path);

/// The tensors of a .safetensors or .npy file as views of it, on DISK: nothing is read before one
/// of them, or a part of one, goes to() a device that computes. Throws as map_array_file.
StateDict map_tensors(const std::filesystem::path& path);
/// Writes the elements of x over the bytes of a file from `offset` on, and makes the file where
/// there is none and longer where it ends before: a tensor at a time, of a file larger than the
/// memory. Unlike save_state it changes the file as it is. Throws Error for an offset below 0,
/// SystemError.
void write_elements(const std::filesystem::path& path, const Tensor& x, std::int64_t offset = 0);

/// A .safetensors file in memory, and from there. Throw as the functions of files.
std::string state_bytes(const StateDict& state, const Metadata& metadata = {});
void load_state_bytes(std::string_view bytes, const StateDict& state, Strict strict = Strict::Yes);

}  // namespace touchstone::nn
