#pragma once

#include <filesystem>
#include <string>

namespace touchstone::cli {

/// The folder of docs/README.md: installed beside this program, or in its build's source tree;
/// empty if neither exists.
std::filesystem::path documentation_folder();
/// The same for backend adapters; TOUCHSTONE_BACKENDS overrides it.
std::filesystem::path adapter_folder();

/// An adapter's file. Throws ParseError listing where it was searched.
std::filesystem::path adapter(const std::string& file);

/// Executes the sibling program of this name with the same words and environment. Returns if there
/// is none.
void become_sibling(const char* name);

/// A word quoted for a shell.
std::string quoted(const std::string& word);

/// The adapter of this name: a shell command or a plugin; both empty if unknown.
struct Adapter {
  std::string command, plugin;
};
/// Finds numpy, onnxruntime, torch, torch-inductor, jax or pocl. Throws as `adapter`.
Adapter adapter_named(const std::string& name);

}  // namespace touchstone::cli
