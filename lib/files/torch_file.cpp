#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "touchstone/base/error.h"
#include "touchstone/base/visible.h"
#include "touchstone/files/array_reader.h"
#include "touchstone/files/torch_pickle.h"
#include "touchstone/files/zip_archive.h"

// Since PyTorch 1.6 a torch.save file is a zip archive of data.pkl, a pickle that describes tensors
// and their layout in storages, and of the storages data/0, data/1, ... Before, it was one stream
// of pickles and storages.

namespace touchstone {
namespace {

constexpr std::uint64_t kMostCopies = 16;  // bytes of all tensors over bytes of all storages

// Limits the bytes of all tensors relative to the bytes stored.
void require_few_copies(const std::vector<TorchTensor>& tensors, std::uint64_t held,
                        const TorchFault& bad) {
  constexpr std::uint64_t kEnough = std::uint64_t{1} << 62;
  std::uint64_t wanted = 0;
  for (const TorchTensor& tensor : tensors) {
    std::uint64_t count = itemsize(tensor.storage.dtype);
    for (const std::int64_t size : tensor.shape) count *= static_cast<std::uint64_t>(size);
    wanted = std::min(kEnough, wanted + std::min(kEnough, count));
  }
  if (wanted / kMostCopies > held)
    bad("its tensors have more than 16 times the bytes of its storages");
}

class TorchReader final : public ArrayFile::Reader {
 public:
  TorchReader(std::unique_ptr<ByteSource> bytes, const std::string& where)
      : bytes_(std::move(bytes)), archive_(*bytes_, where, ".pt") {
    const std::vector<std::string>& members = archive_.names();
    for (std::size_t i = 0; i < members.size(); ++i) places_[members[i]] = i;
    for (const std::string& member : members)
      if (member == "data.pkl" || member.ends_with("/data.pkl")) {
        if (folder_) archive_.bad("it has two pickles");
        folder_ = member.substr(0, member.size() - std::string_view("data.pkl").size());
      }
    if (!folder_)
      archive_.bad("it has no data.pkl; save it with torch.save of PyTorch 1.6 or later");
    if (places_.contains(*folder_ + "byteorder") &&
        whole_of(*folder_ + "byteorder", 16) != "little")
      archive_.bad("its elements are big-endian");
    const std::string pickle = whole_of(*folder_ + "data.pkl", kMostDirectory);
    tensors_ = torch_tensors(pickle, bad_);
    require_storages();
    for (const TorchTensor& tensor : tensors_) names.push_back(tensor.name);
  }

  HostArray read(std::size_t i, const Wanted& wanted) const override {
    const TorchTensor& x = tensors_[i];
    if (x.storage.size == 0) return strided_elements(x, {}, wanted, bad_);
    const std::scoped_lock lock(mutex_);
    std::string own;
    return strided_elements(x, storage_of(x.storage, own), wanted, bad_);
  }

 private:
  std::string whole_of(const std::string& member, std::uint64_t most) const {
    ZipArchive::Member bytes(archive_, places_.at(member));
    if (bytes.size() > most)
      archive_.bad(
          fmt::format("'{}' has {} bytes; the limit is {}", visible(member), bytes.size(), most));
    std::string all(static_cast<std::size_t>(bytes.size()), '\0');
    bytes.read(all);
    bytes.end();
    return all;
  }
  // Cached if several tensors share it, so that it is unpacked only once.
  const std::string& storage_of(const TorchStorage& storage, std::string& own) const {
    const std::string member = *folder_ + "data/" + storage.key;
    const auto shared = shared_.find(member);
    if (shared == shared_.end()) return own = whole_of(member, UINT64_MAX);
    if (shared->second.empty()) shared->second = whole_of(member, UINT64_MAX);
    return shared->second;
  }

  // Checks that each storage exists and has the declared size.
  void require_storages() {
    std::map<std::string, std::uint64_t> sizes;
    std::uint64_t held = 0;
    for (const TorchTensor& tensor : tensors_) {
      const TorchStorage& storage = tensor.storage;
      const std::string member = *folder_ + "data/" + storage.key;
      const auto place = places_.find(member);
      if (place == places_.end()) archive_.bad(fmt::format("'{}' is missing", visible(member)));
      if (!sizes.contains(member)) {
        sizes[member] = ZipArchive::Member(archive_, place->second).size();
        held += sizes[member];
      } else {
        shared_[member];
      }
      const auto each = static_cast<std::uint64_t>(itemsize(storage.dtype));
      if (sizes[member] % each != 0 ||
          sizes[member] / each != static_cast<std::uint64_t>(storage.size))
        archive_.bad(fmt::format("'{}' has {} bytes, not {} elements of {}", visible(member),
                                 sizes[member], storage.size, name(storage.dtype)));
    }
    require_few_copies(tensors_, held, bad_);
  }

  std::unique_ptr<ByteSource> bytes_;
  mutable ZipArchive archive_;
  TorchFault bad_ = [this](const std::string& why) { archive_.bad(why); };
  std::map<std::string, std::size_t> places_;
  std::optional<std::string> folder_;
  std::vector<TorchTensor> tensors_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::string> shared_;  // storages by member; empty until read
};

// A torch.save file from before PyTorch 1.6: pickles, then the storages, each preceded by its
// number of elements.
class TorchStreamReader final : public ArrayFile::Reader {
 public:
  TorchStreamReader(std::unique_ptr<ByteSource> bytes, const std::string& where)
      : bytes_(std::move(bytes)), bad_([where](const std::string& why) {
          throw ParseError(fmt::format("'{}' is not a usable .pt file: {}", where, why));
        }) {
    TorchStream stream = torch_stream(
        bytes_->read(0, static_cast<std::size_t>(std::min(bytes_->size(), kMostDirectory))), bad_);
    tensors_ = std::move(stream.tensors);
    std::uint64_t at = stream.end, held = 0;
    for (const TorchStorage& storage : stream.storages) {
      const std::uint64_t each = itemsize(storage.dtype), left = bytes_->size() - at;
      if (left < 8 || (left - 8) / each < static_cast<std::uint64_t>(storage.size))
        bad_(fmt::format("it ends before storage '{}'", visible(storage.key)));
      std::uint64_t count = 0;
      const std::string said = bytes_->read(at, 8);
      for (std::size_t i = 8; i-- > 0;) count = count << 8 | static_cast<unsigned char>(said[i]);
      if (count != static_cast<std::uint64_t>(storage.size))
        bad_(fmt::format("storage '{}' has {} elements, not {}", visible(storage.key), count,
                         storage.size));
      if (!places_.emplace(storage.key, at + 8).second)
        bad_(fmt::format("it has two storages '{}'", visible(storage.key)));
      at += 8 + count * each;
      held += count * each;
    }
    if (at != bytes_->size()) bad_("extra bytes after its storages");
    std::set<std::string> named;
    for (const TorchTensor& tensor : tensors_) {
      if (!places_.contains(tensor.storage.key))
        bad_(fmt::format("storage '{}' is missing", visible(tensor.storage.key)));
      if (!named.insert(tensor.storage.key).second) shared_[tensor.storage.key];
      names.push_back(tensor.name);
    }
    require_few_copies(tensors_, held, bad_);
  }

  HostArray read(std::size_t i, const Wanted& wanted) const override {
    const TorchStorage& storage = tensors_[i].storage;
    const std::size_t size = static_cast<std::size_t>(storage.size) * itemsize(storage.dtype);
    const auto read = [&] { return bytes_->read(places_.at(storage.key), size); };
    const auto shared = shared_.find(storage.key);
    if (shared == shared_.end()) return strided_elements(tensors_[i], read(), wanted, bad_);
    const std::scoped_lock lock(mutex_);
    if (shared->second.empty()) shared->second = read();
    return strided_elements(tensors_[i], shared->second, wanted, bad_);
  }

 private:
  std::unique_ptr<ByteSource> bytes_;
  TorchFault bad_;
  std::vector<TorchTensor> tensors_;
  std::map<std::string, std::uint64_t> places_;  // offsets of storages, by key
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::string> shared_;  // storages shared by several tensors, by key
};

}  // namespace

std::unique_ptr<ArrayFile::Reader> torch_reader(std::unique_ptr<ByteSource> bytes,
                                                const std::string& where) {
  const std::string front =
      bytes->read(0, static_cast<std::size_t>(std::min<std::uint64_t>(bytes->size(), 15)));
  if (begins_torch_stream(front))
    return std::make_unique<TorchStreamReader>(std::move(bytes), where);
  return std::make_unique<TorchReader>(std::move(bytes), where);
}

namespace {

std::vector<NamedArray> all_tensors(std::unique_ptr<ByteSource> bytes, const std::string& where) {
  const std::unique_ptr<ArrayFile::Reader> reader = torch_reader(std::move(bytes), where);
  std::vector<NamedArray> out;
  for (std::size_t i = 0; i < reader->names.size(); ++i)
    out.push_back({reader->names[i], reader->read(i, {})});
  return out;
}

}  // namespace

std::vector<NamedArray> parse_torch(std::string_view bytes, const std::string& where) {
  return all_tensors(std::make_unique<MemoryBytes>(bytes), where);
}
std::vector<NamedArray> read_torch_file(const std::filesystem::path& path) {
  return all_tensors(std::make_unique<InputFile>(path), path.string());
}

}  // namespace touchstone
