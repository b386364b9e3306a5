#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "touchstone/base/file.h"
#include "touchstone/base/private_folder.h"

namespace touchstone::clang {

/// Compiled kernels on disk: one file per key, holding the shared object of the batch it was
/// compiled in and a checksum. Any number of processes may share the folder, since files are
/// written atomically. Its contents are executed, so it is a PrivateFolder: a folder writable by
/// others, or files of another user, are not used. If the default folder is unusable, a temporary
/// one replaces it until the process ends (announced on standard error if others may write to the
/// default one). A folder that was named explicitly is never replaced: if it is full, closed or not
/// private, that is an error. Beyond `most` bytes the least recently used objects are removed;
/// loaded objects stay usable.
class ObjectCache {
 public:
  /// An empty path: $XDG_CACHE_HOME/touchstone, else ~/.cache/touchstone, else a temporary folder.
  /// `most`: maximum bytes of objects, except those of the last minute; 0: no limit.
  explicit ObjectCache(std::filesystem::path folder, std::uint64_t most = 0);

  /// Returns the intact file of a key, through the checked open folder. Throws SystemError if an
  /// explicitly named folder is not private.
  std::optional<std::filesystem::path> find(const std::string& key);
  /// Returns the object stored under a key, as find() does.
  std::optional<std::string> read(const std::string& key);
  /// Stores one object under several keys, replacing old ones. Throws SystemError if the named
  /// folder, or both the default and a temporary one, cannot be written.
  void store(std::span<const std::string> keys, std::string object);

  const std::filesystem::path& folder() const { return folder_; }

 private:
  /// A temporary folder that replaces the default one.
  struct Substitute {
    TemporaryDirectory directory{"touchstone-objects"};
    PrivateFolder folder{directory.path()};
  };
  struct Found {
    std::filesystem::path file;
    std::string object;
  };
  std::optional<Found> look_up(const std::string& key);
  void open();
  void substitute(const std::string& reason);
  void keep_to_limit(std::uint64_t added);
  const PrivateFolder& in_use() const { return substitute_ ? substitute_->folder : *opened_; }

  bool named_;
  std::filesystem::path folder_;
  std::uint64_t most_;
  std::optional<std::uint64_t> bytes_;  // of objects, as known to this process
  std::mutex mutex_;
  std::unique_ptr<PrivateFolder> opened_;
  std::unique_ptr<Substitute> substitute_;
};

}  // namespace touchstone::clang
