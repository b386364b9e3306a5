#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "touchstone/base/file.h"

// Zip archives, read and written by libzip; of use to lib/device alone.

namespace touchstone {

/// An archive to read. Its directory, of at most 16 MiB, is not believed before it is checked:
/// throws ParseError for one that is damaged, has two members of one name, members outside the file
/// or that share bytes, and, where a member is opened, for encryption, methods other than store and
/// deflate, and a size that its bytes cannot unpack to.
class ZipArchive {
 public:
  /// `bytes` stay as long as this. `where` and `kind` (".npz") are for messages.
  ZipArchive(const ByteSource& bytes, std::string where, std::string kind);
  ~ZipArchive();
  ZipArchive(const ZipArchive&) = delete;
  ZipArchive& operator=(const ZipArchive&) = delete;

  const std::vector<std::string>& names() const;
  /// Throws ParseError with `where`, `kind` and this reason.
  [[noreturn]] void bad(const std::string& why) const;

  /// One member, read from its begin. Another thread that opens one waits until this one is gone.
  class Member {
   public:
    Member(ZipArchive& archive, std::size_t i);
    ~Member();
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

    std::uint64_t size() const;
    /// The next bytes; throws ParseError where there are fewer.
    void read(std::span<char> to);
    /// Throws ParseError where there are more, or the checksum is wrong.
    void end();

   private:
    class Impl;
    std::unique_ptr<Impl> impl_;
  };

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

struct ZipPart {
  std::string name;
  const ByteSource* bytes;
};
/// An archive of stored members. Throws ParseError for a name that is no UTF-8.
std::string zip_bytes(std::span<const ZipPart> parts);

}  // namespace touchstone
