#pragma once

#include <filesystem>
#include <string>

namespace touchstone::cli {

/// The folder of docs/README.md: installed beside this program, or that of the tree in which it was
/// built; empty where neither is there.
std::filesystem::path documentation_folder();
/// The same of the adapters of backends; TOUCHSTONE_BACKENDS may name another.
std::filesystem::path adapter_folder();

/// One of an adapter's files. Throws ParseError that says where it was looked for.
std::filesystem::path adapter(const std::string& file);

/// Goes on as the program of this name beside this one, with the same words and environment.
/// Returns where there is none.
void become_sibling(const char* name);

/// A word as a shell reads it back.
std::string quoted(const std::string& word);

/// The adapter of this name: a command for the shell, or a plugin; both empty where it is none.
struct Adapter {
  std::string command, plugin;
};
/// numpy, torch, pocl. Throws as `adapter`.
Adapter adapter_named(const std::string& name);

}  // namespace touchstone::cli
