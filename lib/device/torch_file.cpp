#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>

#include "touchstone/base/error.h"
#include "touchstone/base/visible.h"
#include "touchstone/device/array_reader.h"
#include "touchstone/device/torch_pickle.h"

// A file of torch.save since PyTorch 1.6: a zip archive of data.pkl, a pickle that names tensors
// and says how they lie in storages, and of the storages, data/0, data/1, ...

namespace touchstone {
namespace {

constexpr std::uint64_t kMostCopies = 16;  // bytes of all tensors by those of all storages

class TorchReader final : public ArrayFile::Reader {
 public:
  TorchReader(std::unique_ptr<ByteSource> bytes, const std::string& where)
      : bytes_(std::move(bytes)), where_(where), archive_(*bytes_, where, ".pt") {
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
    tensors_ = torch_tensors(pickle, archive_);
    require_storages();
    for (const TorchTensor& tensor : tensors_) names.push_back(tensor.name);
  }

  HostArray read(std::size_t i, const Wanted& wanted) const override {
    const TorchTensor& x = tensors_[i];
    const std::size_t each = itemsize(x.storage.dtype);
    ArrayLayout at{x.name, x.storage.dtype, x.shape, 0};
    const std::size_t count = wanted_of(at, wanted) / each;
    HostArray made{at.dtype, std::move(at.shape), std::string(count * each, '\0')};
    if (count == 0) return made;
    const std::scoped_lock lock(mutex_);
    std::string own;
    const std::string& storage = storage_of(x.storage, own);
    std::vector<std::int64_t> index(x.shape.size(), 0);
    std::int64_t from = x.offset;
    for (std::size_t n = 0; n < count; ++n) {
      std::memcpy(made.bytes.data() + n * each,
                  storage.data() + static_cast<std::size_t>(from) * each, each);
      for (std::size_t axis = index.size(); axis-- > 0;) {
        from += x.strides[axis];
        if (++index[axis] < x.shape[axis]) break;
        from -= x.strides[axis] * x.shape[axis];
        index[axis] = 0;
      }
    }
    if (is_bool(made.dtype) &&
        made.bytes.find_first_not_of(std::string_view("\0\1", 2)) != made.bytes.npos)
      archive_.bad(fmt::format("a bool of '{}' is neither 0 nor 1", visible(names[i])));
    return made;
  }

 private:
  std::string whole_of(const std::string& member, std::uint64_t most) const {
    ZipArchive::Member bytes(archive_, places_.at(member));
    if (bytes.size() > most)
      archive_.bad(fmt::format("'{}' has {} bytes; at most {} are read", visible(member),
                               bytes.size(), most));
    std::string all(static_cast<std::size_t>(bytes.size()), '\0');
    bytes.read(all);
    bytes.end();
    return all;
  }
  // Kept where several tensors share it, so that each is unpacked once.
  const std::string& storage_of(const TorchStorage& storage, std::string& own) const {
    const std::string member = *folder_ + "data/" + storage.key;
    const auto shared = shared_.find(member);
    if (shared == shared_.end()) return own = whole_of(member, UINT64_MAX);
    if (shared->second.empty()) shared->second = whole_of(member, UINT64_MAX);
    return shared->second;
  }

  // That each storage is there, of the size that is said, and that few tensors do not make many
  // bytes.
  void require_storages() {
    std::map<std::string, std::uint64_t> sizes;
    std::uint64_t held = 0, wanted = 0;
    for (const TorchTensor& tensor : tensors_) {
      const TorchStorage& storage = tensor.storage;
      const std::string member = *folder_ + "data/" + storage.key;
      const auto place = places_.find(member);
      if (place == places_.end()) archive_.bad(fmt::format("it lacks '{}'", visible(member)));
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
      std::uint64_t count = each;
      for (const std::int64_t size : tensor.shape) count *= static_cast<std::uint64_t>(size);
      constexpr std::uint64_t kEnough = std::uint64_t{1} << 62;
      wanted = std::min(kEnough, wanted + std::min(kEnough, count));
    }
    if (wanted / kMostCopies > held)
      archive_.bad("its tensors have more than 16 times the bytes of its storages");
  }

  std::unique_ptr<ByteSource> bytes_;
  std::string where_;
  mutable ZipArchive archive_;
  std::map<std::string, std::size_t> places_;
  std::optional<std::string> folder_;
  std::vector<TorchTensor> tensors_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::string> shared_;  // storages by member, empty until read
};

}  // namespace

std::unique_ptr<ArrayFile::Reader> torch_reader(std::unique_ptr<ByteSource> bytes,
                                                const std::string& where) {
  return std::make_unique<TorchReader>(std::move(bytes), where);
}

namespace {

std::vector<NamedArray> all_tensors(std::unique_ptr<ByteSource> bytes, const std::string& where) {
  const TorchReader reader(std::move(bytes), where);
  std::vector<NamedArray> out;
  for (std::size_t i = 0; i < reader.names.size(); ++i)
    out.push_back({reader.names[i], reader.read(i, {})});
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
