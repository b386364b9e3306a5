#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "touchstone/base/file.h"

namespace touchstone::clang {

/// Compiled kernels on disk, one file a key, each the shared object of the batch it was compiled in
/// followed by a checksum. Any number of processes may share a folder: files appear whole or not at
/// all. Where the default folder cannot be written, a temporary one takes its place until the
/// process ends; a folder that was named is the caller's will, and a full or closed one is an
/// error.
class ObjectCache {
 public:
  /// Empty: $XDG_CACHE_HOME/touchstone, else ~/.cache/touchstone, else a temporary folder.
  explicit ObjectCache(std::filesystem::path folder);

  /// The undamaged file of a key.
  std::optional<std::filesystem::path> find(const std::string& key) const;
  /// Keeps one object under several keys, replacing what is there. Throws SystemError where the
  /// folder that was named cannot be written, or neither the default one nor a temporary one can.
  void store(std::span<const std::string> keys, std::string object);

  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path file_of(const std::filesystem::path& folder, const std::string& key) const;
  void store_in(const std::filesystem::path& folder, std::span<const std::string> keys,
                const std::string& object) const;

  bool named_;
  std::filesystem::path folder_;
  mutable std::mutex mutex_;
  std::unique_ptr<TemporaryDirectory> substitute_;
};

}  // namespace touchstone::clang
