#include "touchstone/files/zip_archive.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <set>
#include <utility>

#include <zip.h>

#include "touchstone/base/error.h"
#include "touchstone/base/visible.h"
#include "touchstone/files/array_reader.h"

namespace touchstone {
namespace {

// The size of an end record, required in every archive; libzip accepts an empty file without one.
constexpr std::uint64_t kEndSize = 22;
// 1 January 1980, so that equal arrays give equal files.
constexpr zip_uint16_t kTime = 0, kDate = 0x21;

class ZipError {
 public:
  ZipError() { ::zip_error_init(&error_); }
  ~ZipError() { ::zip_error_fini(&error_); }
  ZipError(const ZipError&) = delete;
  ZipError& operator=(const ZipError&) = delete;

  zip_error_t* get() { return &error_; }

 private:
  zip_error_t error_{};
};

std::string reason(zip_error_t* error) {
  switch (::zip_error_code_zip(error)) {
    case ZIP_ER_NOZIP: return "it is not a zip archive, or its end or directory is damaged";
    case ZIP_ER_INCONS: return "its directory does not agree with its members";
    case ZIP_ER_CRC: return "the checksum is wrong";
    default: return ::zip_error_strerror(error);
  }
}

// A byte source for libzip. Exceptions are deferred until libzip has returned.
class ZipBytes {
 public:
  explicit ZipBytes(const ByteSource& bytes) : bytes_(bytes) {}

  // Must not outlive this object.
  zip_source_t* source() {
    zip_source_t* const made = ::zip_source_function_create(answer, this, error_.get());
    if (made == nullptr) throw SystemError("libzip: " + reason(error_.get()));
    return made;
  }
  // Limits how many bytes may be read from now on.
  void limit(std::uint64_t most) { left_ = most; }
  bool spent() const { return spent_; }
  void rethrow() {
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }

 private:
  static zip_int64_t answer(void* self, void* data, zip_uint64_t size, zip_source_cmd_t command) {
    return static_cast<ZipBytes*>(self)->answer(data, size, command);
  }

  zip_int64_t answer(void* data, zip_uint64_t size, zip_source_cmd_t command) {
    switch (command) {
      case ZIP_SOURCE_OPEN: at_ = 0; return 0;
      case ZIP_SOURCE_READ: return read(static_cast<char*>(data), size);
      case ZIP_SOURCE_STAT: {
        auto* const facts = static_cast<zip_stat_t*>(data);
        ::zip_stat_init(facts);
        facts->size = bytes_.size();
        facts->valid |= ZIP_STAT_SIZE;
        return sizeof(zip_stat_t);
      }
      case ZIP_SOURCE_SEEK: {
        const zip_int64_t to =
            ::zip_source_seek_compute_offset(at_, bytes_.size(), data, size, error_.get());
        if (to < 0) return -1;
        at_ = static_cast<std::uint64_t>(to);
        return 0;
      }
      case ZIP_SOURCE_TELL: return static_cast<zip_int64_t>(at_);
      case ZIP_SOURCE_ERROR: return ::zip_error_to_data(error_.get(), data, size);
      case ZIP_SOURCE_CLOSE:
      case ZIP_SOURCE_FREE: return 0;
      case ZIP_SOURCE_SUPPORTS:
        return ::zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE,
                                                ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE,
                                                ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL, -1);
      default: return failed(ZIP_ER_OPNOTSUPP);
    }
  }

  zip_int64_t read(char* to, std::uint64_t size) {
    const std::uint64_t count = std::min(size, bytes_.size() - at_);
    if (count > left_) {
      spent_ = true;
      return failed(ZIP_ER_READ);
    }
    left_ -= count;
    try {
      bytes_.read(at_, std::span(to, static_cast<std::size_t>(count)));
    } catch (...) {
      thrown_ = std::current_exception();
      return failed(ZIP_ER_READ);
    }
    at_ += count;
    return static_cast<zip_int64_t>(count);
  }

  zip_int64_t failed(int why) {
    ::zip_error_set(error_.get(), why, 0);
    return -1;
  }

  const ByteSource& bytes_;
  std::uint64_t at_ = 0, left_ = UINT64_MAX;
  bool spent_ = false;
  std::exception_ptr thrown_;
  ZipError error_;
};

using Zip = std::unique_ptr<zip_t, decltype(&::zip_discard)>;
using ZipFile = std::unique_ptr<zip_file_t, decltype(&::zip_fclose)>;

std::string bytes_of(zip_source_t* source) {
  zip_stat_t facts;
  if (::zip_source_stat(source, &facts) != 0 || ::zip_source_open(source) != 0)
    throw SystemError("libzip does not return what it wrote");
  std::string out(static_cast<std::size_t>(facts.size), '\0');
  const zip_int64_t n = ::zip_source_read(source, out.data(), out.size());
  ::zip_source_close(source);
  if (n != std::ssize(out)) throw SystemError("libzip does not return what it wrote");
  return out;
}

}  // namespace

class ZipArchive::Impl {
 public:
  Impl(const ByteSource& bytes, std::string where, std::string kind)
      : where_(std::move(where)), kind_(std::move(kind)), size_(bytes.size()), bytes_(bytes) {
    open();
    look_at_members();
  }

  [[noreturn]] void bad(const std::string& why) const {
    throw ParseError(fmt::format("'{}' is not a usable {} file: {}", where_, kind_, why));
  }

  // The checked facts of a member.
  zip_stat_t facts(std::size_t i) {
    zip_stat_t m;
    require(::zip_stat_index(zip_.get(), i, ZIP_FL_ENC_RAW, &m) == 0);
    require_possible(m);
    return m;
  }
  ZipFile file(std::size_t i) {
    ZipFile opened(::zip_fopen_index(zip_.get(), i, 0), ::zip_fclose);
    require(opened != nullptr);
    return opened;
  }
  [[noreturn]] void wrong_size(const zip_stat_t& m) const {
    bad(fmt::format("'{}' does not decompress to {} bytes", m.name, m.size));
  }
  // Reads the next bytes of a member; fewer at its end.
  std::size_t read_some(const ZipFile& file, const zip_stat_t& m, std::span<char> to) {
    std::size_t made = 0;
    while (made < to.size()) {
      const zip_int64_t n = ::zip_fread(file.get(), to.data() + made, to.size() - made);
      bytes_.rethrow();
      if (n < 0) bad(fmt::format("'{}': {}", m.name, reason(::zip_file_get_error(file.get()))));
      if (n == 0) break;
      made += static_cast<std::size_t>(n);
    }
    return made;
  }

  std::vector<std::string> names;
  std::mutex mutex;

 private:
  void open() {
    if (size_ < kEndSize) bad("it is not a zip archive");
    bytes_.limit(kMostDirectory);
    ZipError error;
    zip_source_t* const source = bytes_.source();
    zip_.reset(::zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, error.get()));
    if (!zip_) ::zip_source_free(source);
    bytes_.rethrow();
    if (bytes_.spent())
      bad(fmt::format("its directory has more than the limit of {} bytes", kMostDirectory));
    if (!zip_) bad(reason(error.get()));
    bytes_.limit(UINT64_MAX);
  }

  void look_at_members() {
    const auto count = static_cast<std::uint64_t>(::zip_get_num_entries(zip_.get(), 0));
    std::set<std::string_view> seen;
    std::uint64_t held = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      zip_stat_t m;
      require(::zip_stat_index(zip_.get(), i, ZIP_FL_ENC_RAW, &m) == 0);
      const std::string_view name = m.name;
      if (!seen.insert(name).second) bad(fmt::format("it has two members '{}'", name));
      names.emplace_back(name);
      // Members that share bytes could unpack to any total size.
      held += std::min(m.comp_size, size_ + 1);
      if (held > size_) bad("its members lie outside the file, or share bytes");
    }
  }

  // Rejects impossible sizes.
  void require_possible(const zip_stat_t& m) const {
    // Deflate cannot compress by more than 1,032.
    constexpr std::uint64_t kMostRatio = 1032;
    if (m.encryption_method != ZIP_EM_NONE)
      bad(fmt::format("its member '{}' is encrypted", m.name));
    if (m.comp_method != ZIP_CM_STORE && m.comp_method != ZIP_CM_DEFLATE)
      bad(fmt::format("'{}' is compressed by method {}; 0 and 8 are supported", m.name,
                      m.comp_method));
    if (m.comp_method == ZIP_CM_STORE && m.comp_size != m.size)
      bad(fmt::format("the sizes of '{}' disagree", m.name));
    if (m.size / kMostRatio > m.comp_size + 1)
      bad(fmt::format("'{}' claims to be larger than its bytes allow", m.name));
  }

  void require(bool done) {
    bytes_.rethrow();
    if (!done) bad(reason(::zip_get_error(zip_.get())));
  }

  std::string where_, kind_;
  std::uint64_t size_;
  ZipBytes bytes_;
  Zip zip_{nullptr, ::zip_discard};
};

class ZipArchive::Member::Impl {
 public:
  Impl(ZipArchive::Impl& of, std::size_t i)
      : archive(of), lock(of.mutex), facts(of.facts(i)), file(of.file(i)) {}

  ZipArchive::Impl& archive;
  std::scoped_lock<std::mutex> lock;
  zip_stat_t facts;
  ZipFile file;
};

ZipArchive::ZipArchive(const ByteSource& bytes, std::string where, std::string kind)
    : impl_(std::make_unique<Impl>(bytes, std::move(where), std::move(kind))) {}
ZipArchive::~ZipArchive() = default;
const std::vector<std::string>& ZipArchive::names() const { return impl_->names; }
void ZipArchive::bad(const std::string& why) const { impl_->bad(why); }

ZipArchive::Member::Member(ZipArchive& archive, std::size_t i)
    : impl_(std::make_unique<Impl>(*archive.impl_, i)) {}
ZipArchive::Member::~Member() = default;
std::uint64_t ZipArchive::Member::size() const { return impl_->facts.size; }
void ZipArchive::Member::read(std::span<char> to) {
  if (impl_->archive.read_some(impl_->file, impl_->facts, to) != to.size())
    impl_->archive.wrong_size(impl_->facts);
}
void ZipArchive::Member::end() {
  char more = 0;
  if (impl_->archive.read_some(impl_->file, impl_->facts, {&more, 1}) != 0)
    impl_->archive.wrong_size(impl_->facts);
}

std::string zip_bytes(std::span<const ZipPart> parts) {
  // libzip does not write archives without members.
  if (parts.empty()) return "PK\5\6" + std::string(kEndSize - 4, '\0');
  ZipError error;
  const auto require = [](bool done, zip_error_t* why) {
    if (!done) throw SystemError("libzip: " + reason(why));
  };
  const std::unique_ptr<zip_source_t, decltype(&::zip_source_free)> written(
      ::zip_source_buffer_create(nullptr, 0, 0, error.get()), ::zip_source_free);
  require(written != nullptr, error.get());
  std::vector<std::unique_ptr<ZipBytes>> members;
  Zip zip(::zip_open_from_source(written.get(), ZIP_TRUNCATE, error.get()), ::zip_discard);
  require(zip != nullptr, error.get());
  ::zip_source_keep(written.get());
  zip_error_t* const why = ::zip_get_error(zip.get());
  for (const ZipPart& part : parts) {
    if (part.name.find('\0') != part.name.npos)
      throw ParseError("a name in a zip archive must not contain a zero byte");
    members.push_back(std::make_unique<ZipBytes>(*part.bytes));
    zip_source_t* const member = members.back()->source();
    const zip_int64_t i = ::zip_file_add(zip.get(), part.name.c_str(), member, ZIP_FL_ENC_UTF_8);
    if (i < 0) {
      ::zip_source_free(member);
      throw ParseError(fmt::format("a zip archive cannot contain a member named '{}': {}",
                                   visible(part.name), reason(why)));
    }
    const auto at = static_cast<zip_uint64_t>(i);
    require(::zip_set_file_compression(zip.get(), at, ZIP_CM_STORE, 0) == 0, why);
    require(::zip_file_set_dostime(zip.get(), at, kTime, kDate, 0) == 0, why);
  }
  require(::zip_close(zip.get()) == 0, why);
  (void)zip.release();
  return bytes_of(written.get());
}

}  // namespace touchstone
