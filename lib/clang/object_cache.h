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
/// all. Where the folder cannot be written, a temporary one takes its place until the process ends.
class ObjectCache {
 public:
  /// Empty: $XDG_CACHE_HOME/touchstone, else ~/.cache/touchstone, else a temporary folder.
  explicit ObjectCache(std::filesystem::path folder);

  /// The undamaged file of a key.
  std::optional<std::filesystem::path> find(const std::string& key) const;
  /// Keeps one object under several keys, replacing what is there. Throws SystemError where neither
  /// the folder nor a temporary one can be written.
  void store(std::span<const std::string> keys, std::string object);

  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path file_of(const std::filesystem::path& folder, const std::string& key) const;
  void store_in(const std::filesystem::path& folder, std::span<const std::string> keys,
                const std::string& object) const;

  std::filesystem::path folder_;
  mutable std::mutex mutex_;
  std::unique_ptr<TemporaryDirectory> substitute_;
};

}  // namespace touchstone::clang
