#include "touchstone/clang/object_cache.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "touchstone/base/error.h"
#include "touchstone/base/hash.h"

namespace touchstone::clang {

namespace {

constexpr std::string_view kMagic = "TSOBJ001";  // ends a file, after the hash of the rest
constexpr std::size_t kHashSize = 32;

std::filesystem::path default_folder() {
  if (const char* const xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg == '/')
    return std::filesystem::path(xdg) / "touchstone";
  if (const char* const home = std::getenv("HOME"); home != nullptr && *home == '/')
    return std::filesystem::path(home) / ".cache" / "touchstone";
  return {};
}

constexpr std::size_t kTail = kHashSize + kMagic.size();

bool undamaged(const std::string& bytes) {
  if (bytes.size() < kTail || !bytes.ends_with(kMagic)) return false;
  const std::string_view all(bytes);
  const std::size_t size = bytes.size() - kTail;
  return content_hash(all.substr(0, size)) == all.substr(size, kHashSize);
}

constexpr std::string_view kEnding = ".so";

std::string file_of(const std::string& key) { return key + std::string(kEnding); }

void store_in(const PrivateFolder& folder, std::span<const std::string> keys,
              const std::string& object) {
  std::vector<std::string> files;
  for (const std::string& key : keys) files.push_back(file_of(key));
  folder.write(files, object);
}

}  // namespace

ObjectCache::ObjectCache(std::filesystem::path folder, std::uint64_t most)
    : named_(!folder.empty()),
      folder_(folder.empty() ? default_folder() : std::move(folder)),
      most_(most) {}

void ObjectCache::open() {
  if (opened_ || substitute_) return;
  if (folder_.empty()) return substitute("there is no folder for it: HOME is not set");
  try {
    opened_ = std::make_unique<PrivateFolder>(folder_);
  } catch (const SystemError& e) {
    if (named_)
      throw SystemError(
          fmt::format("cannot store a compiled kernel: {}; set TOUCHSTONE_CACHE to a writable "
                      "folder that is yours alone",
                      e.what()));
    std::error_code ignored;
    if (std::filesystem::is_directory(folder_, ignored))
      fmt::print(stderr, "touchstone: {}: compiled kernels are stored in a temporary folder\n",
                 e.what());
    substitute(e.what());
  }
}

void ObjectCache::substitute(const std::string& reason) {
  try {
    substitute_ = std::make_unique<Substitute>();
  } catch (const SystemError& e) {
    throw SystemError(
        fmt::format("cannot store a compiled kernel: {}; nor in a temporary folder: {}; set "
                    "TOUCHSTONE_CACHE to a writable folder",
                    reason, e.what()));
  }
}

std::optional<std::filesystem::path> ObjectCache::find(const std::string& key) {
  auto found = look_up(key);
  return found ? std::optional(std::move(found->file)) : std::nullopt;
}

std::optional<std::string> ObjectCache::read(const std::string& key) {
  auto found = look_up(key);
  return found ? std::optional(std::move(found->object)) : std::nullopt;
}

std::optional<ObjectCache::Found> ObjectCache::look_up(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  open();
  for (const PrivateFolder* folder :
       {substitute_ ? &substitute_->folder : nullptr, opened_.get()}) {
    if (folder == nullptr) continue;
    if (auto bytes = folder->read(file_of(key), kMostText); bytes && undamaged(*bytes)) {
      if (most_ != 0) folder->mark_used(file_of(key));
      bytes->resize(bytes->size() - kTail);
      return Found{folder->anchored(file_of(key)), std::move(*bytes)};
    }
  }
  return std::nullopt;
}

void ObjectCache::store(std::span<const std::string> keys, std::string object) {
  const std::scoped_lock lock(mutex_);
  const std::string hash = content_hash(object);
  object.append(hash).append(kMagic);
  open();
  try {
    store_in(in_use(), keys, object);
    return keep_to_limit(object.size());
  } catch (const SystemError& e) {
    if (named_ || substitute_)
      throw SystemError(
          fmt::format("cannot store a compiled kernel: {}; free space there, or set "
                      "TOUCHSTONE_CACHE to a writable folder",
                      e.what()));
    substitute(e.what());
  }
  store_in(in_use(), keys, object);
}

// Measures the folder at the first object and near the limit; then frees a tenth, so that this is
// rare. Other processes' files are counted only then.
void ObjectCache::keep_to_limit(std::uint64_t added) {
  if (most_ == 0 || substitute_) return;
  if (bytes_) *bytes_ += added;
  if (bytes_ && *bytes_ <= most_) return;
  const std::uint64_t usual = most_ - most_ / 10;
  bytes_ = in_use().trim(kEnding, bytes_ ? usual : most_);
}

}  // namespace touchstone::clang
