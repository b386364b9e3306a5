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

/// Compiled kernels on disk, one file a key, each the shared object of the batch it was compiled in
/// followed by a checksum. Any number of processes may share a folder: files appear whole or not at
/// all. The folder is a PrivateFolder, since what is found there is run: one to which others may
/// write, and what is not this user's in it, is not used. Where the default folder cannot be used,
/// a temporary one takes its place until the process ends, which is announced on standard error
/// where others may write to it; a folder that was named is the caller's will, and one that is
/// full, closed or not private is an error. Beyond `most` bytes the objects that were used least
/// recently go; one in use stays usable, since it is loaded.
class ObjectCache {
 public:
  /// An empty folder: $XDG_CACHE_HOME/touchstone, else ~/.cache/touchstone, else a temporary one.
  /// `most`: bytes on disk that objects may take, but for those of the last minute; 0: any number.
  explicit ObjectCache(std::filesystem::path folder, std::uint64_t most = 0);

  /// The undamaged file of a key, by way of the folder that was looked at. Throws SystemError where
  /// the folder that was named is not private.
  std::optional<std::filesystem::path> find(const std::string& key);
  /// The object that was kept under a key, as find() does.
  std::optional<std::string> read(const std::string& key);
  /// Keeps one object under several keys, replacing what is there. Throws SystemError where the
  /// folder that was named cannot be written, or neither the default one nor a temporary one can.
  void store(std::span<const std::string> keys, std::string object);

  const std::filesystem::path& folder() const { return folder_; }

 private:
  /// A temporary folder in the place of the default one.
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
  std::optional<std::uint64_t> bytes_;  // of objects, as far as this process knows
  std::mutex mutex_;
  std::unique_ptr<PrivateFolder> opened_;
  std::unique_ptr<Substitute> substitute_;
};

}  // namespace touchstone::clang
