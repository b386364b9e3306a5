#include "touchstone/clang/object_cache.h"

#include <cstdlib>

#include <unistd.h>

#include "touchstone/base/error.h"
#include "touchstone/base/hash.h"

namespace touchstone::clang {

namespace {

constexpr std::string_view kMagic = "TSOBJ001";  // ends a file, after the hash of all before
constexpr std::size_t kHashSize = 32;

std::filesystem::path default_folder() {
  if (const char* const xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg == '/')
    return std::filesystem::path(xdg) / "touchstone";
  if (const char* const home = std::getenv("HOME"); home != nullptr && *home == '/')
    return std::filesystem::path(home) / ".cache" / "touchstone";
  return {};
}

bool undamaged(const std::filesystem::path& file) {
  const std::string bytes = read_file(file);
  const std::size_t tail = kHashSize + kMagic.size();
  if (bytes.size() < tail || !bytes.ends_with(kMagic)) return false;
  const std::string_view all(bytes);
  const std::size_t size = bytes.size() - tail;
  return content_hash(all.substr(0, size)) == all.substr(size, kHashSize);
}

// A second name for a file, in place of whatever has that name; a copy where links are not to be
// had.
void also_as(const std::filesystem::path& file, const std::filesystem::path& other,
             const std::string& bytes) {
  std::filesystem::path passing = other;
  passing += "." + std::to_string(::getpid());
  std::error_code error;
  std::filesystem::remove(passing, error);
  std::filesystem::create_hard_link(file, passing, error);
  if (!error) std::filesystem::rename(passing, other, error);
  if (!error) return;
  std::filesystem::remove(passing, error);
  write_file_atomically(other, bytes);
}

}  // namespace

ObjectCache::ObjectCache(std::filesystem::path folder)
    : named_(!folder.empty()), folder_(folder.empty() ? default_folder() : std::move(folder)) {}

std::filesystem::path ObjectCache::file_of(const std::filesystem::path& folder,
                                           const std::string& key) const {
  return folder / (key + ".so");
}

std::optional<std::filesystem::path> ObjectCache::find(const std::string& key) const {
  const std::scoped_lock lock(mutex_);
  for (const auto& folder :
       {substitute_ ? substitute_->path() : std::filesystem::path(), folder_}) {
    if (folder.empty()) continue;
    const std::filesystem::path file = file_of(folder, key);
    std::error_code error;
    if (!std::filesystem::is_regular_file(file, error)) continue;
    try {
      if (undamaged(file)) return file;
    } catch (const SystemError&) {
      continue;  // unreadable is as good as absent: it is compiled again
    }
  }
  return std::nullopt;
}

void ObjectCache::store_in(const std::filesystem::path& folder, std::span<const std::string> keys,
                           const std::string& object) const {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw SystemError(fmt::format("cannot create {}: {}", folder.string(), error.message()));
  const std::filesystem::path first = file_of(folder, keys.front());
  write_file_atomically(first, object);
  for (const std::string& key : keys.subspan(1)) also_as(first, file_of(folder, key), object);
}

void ObjectCache::store(std::span<const std::string> keys, std::string object) {
  const std::scoped_lock lock(mutex_);
  const std::string hash = content_hash(object);
  object.append(hash).append(kMagic);
  std::string reason = "no folder for it: HOME is not set";
  if (!substitute_ && !folder_.empty()) {
    try {
      return store_in(folder_, keys, object);
    } catch (const SystemError& e) {
      reason = e.what();
    }
    if (named_)
      throw SystemError(fmt::format(
          "cannot keep a compiled kernel: {}; make room there, or set TOUCHSTONE_CACHE to "
          "a folder that can be written",
          reason));
  }
  try {
    if (!substitute_) substitute_ = std::make_unique<TemporaryDirectory>("touchstone-objects");
    store_in(substitute_->path(), keys, object);
  } catch (const SystemError& e) {
    throw SystemError(
        fmt::format("cannot keep a compiled kernel: {}; nor in a temporary folder: "
                    "{}; set TOUCHSTONE_CACHE to a folder that can be written",
                    reason, e.what()));
  }
}

}  // namespace touchstone::clang
