#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "touchstone/base/file.h"

// Zip archives, read and written with libzip; internal to lib/files.

namespace touchstone {

/// An archive to read. Its directory, at most 16 MiB, is checked before use: throws ParseError if
/// it is damaged, repeats a name, or has members that share bytes or lie outside the file. Opening
/// a member throws for encryption, for methods other than store and deflate, and for a size that
/// its bytes cannot unpack to.
class ZipArchive {
 public:
  /// `bytes` must outlive this. `where` and `kind` (".npz") are for messages.
  ZipArchive(const ByteSource& bytes, std::string where, std::string kind);
  ~ZipArchive();
  ZipArchive(const ZipArchive&) = delete;
  ZipArchive& operator=(const ZipArchive&) = delete;

  const std::vector<std::string>& names() const;
  /// Throws ParseError with `where`, `kind` and this reason.
  [[noreturn]] void bad(const std::string& why) const;

  /// One member, read from its start. Only one is open at a time; other threads wait.
  class Member {
   public:
    Member(ZipArchive& archive, std::size_t i);
    ~Member();
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;

    std::uint64_t size() const;
    /// Reads the next bytes; throws ParseError if there are fewer.
    void read(std::span<char> to);
    /// Throws ParseError if bytes remain or the checksum is wrong.
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
/// Makes an archive of stored members. Throws ParseError for a name that is not UTF-8.
std::string zip_bytes(std::span<const ZipPart> parts);

}  // namespace touchstone
