#include "touchstone/cli/models/digits.h"

#include <charconv>
#include <cstdint>
#include <string_view>

#include <zlib.h>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"

extern const unsigned char digits_csv_gz[];
extern const std::size_t digits_csv_gz_size;

namespace touchstone::cli {
namespace {

constexpr std::size_t kPixels = 64;
constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // no archive may unpack to more

std::string gunzip(std::string_view packed, const std::string& where) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 16) != Z_OK) throw SystemError("zlib failed to start");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string out;
  int status = Z_OK;
  while (status == Z_OK && out.size() < kMostBytes) {
    char chunk[1 << 16];
    stream.next_out = reinterpret_cast<Bytef*>(chunk);
    stream.avail_out = sizeof chunk;
    status = inflate(&stream, Z_NO_FLUSH);
    out.append(chunk, sizeof chunk - stream.avail_out);
    if (status == Z_OK && stream.avail_in == 0 && stream.avail_out != 0) status = Z_BUF_ERROR;
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END) throw ParseError(where + ": the gzip data is damaged or cut short");
  return out;
}

void parse_line(std::string_view line, std::size_t number, const std::string& where,
                Digits& digits) {
  const auto bad = [&](std::string_view why) {
    throw ParseError(fmt::format("{}: line {}: {}", where, number, why));
  };
  for (std::size_t column = 0; column <= kPixels; ++column) {
    int value = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    if (error != std::errc())
      bad(fmt::format("column {} is not a number; a line has 64 pixels and a label", column + 1));
    line.remove_prefix(static_cast<std::size_t>(end - line.data()));
    if (column < kPixels) {
      if (value < 0 || value > 16)
        bad(fmt::format("pixel {} is {}, not in [0, 16]", column + 1, value));
      if (line.empty() || line[0] != ',') bad(fmt::format("no comma after column {}", column + 1));
      line.remove_prefix(1);
      digits.pixels.push_back(static_cast<float>(value));
    } else {
      if (value < 0 || value > 9) bad(fmt::format("the label is {}, not in [0, 9]", value));
      if (!line.empty() && line != "\r") bad("extra text after the label");
      digits.labels.push_back(value);
    }
  }
}

}  // namespace

Digits load_digits(const std::string& path) {
  const bool inside = path.empty();
  const std::string where = inside ? "the digits inside the program" : path;
  std::string text =
      inside ? std::string(reinterpret_cast<const char*>(digits_csv_gz), digits_csv_gz_size)
             : read_file(path);
  if (text.starts_with("\x1f\x8b")) text = gunzip(text, where);
  Digits digits;
  std::string_view rest = text;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (end != 0) parse_line(rest.substr(0, end), number, where, digits);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (digits.count() < 100)
    throw ParseError(
        fmt::format("{}: {} images; training needs at least 100", where, digits.count()));
  return digits;
}

std::pair<Indices, Indices> split(const Digits& digits, Generator& generator) {
  const Indices order = generator.permutation(static_cast<std::int64_t>(digits.count()));
  const auto held_out = order.begin() + static_cast<std::ptrdiff_t>(digits.count() / 5);
  return {{held_out, order.end()}, {order.begin(), held_out}};
}

std::vector<Indices> whole_batches(std::span<const std::int64_t> of, std::int64_t size) {
  std::vector<Indices> out;
  const auto n = static_cast<std::size_t>(size);
  for (std::size_t at = 0; at + n <= of.size(); at += n)
    out.emplace_back(of.begin() + static_cast<std::ptrdiff_t>(at),
                     of.begin() + static_cast<std::ptrdiff_t>(at + n));
  return out;
}

Batch batch_of(const Digits& digits, std::span<const std::int64_t> which,
               const std::string& device) {
  std::vector<float> pixels;
  std::vector<std::int32_t> labels;
  for (const std::int64_t i : which) {
    const auto at = digits.pixels.begin() + 64 * i;
    for (auto p = at; p != at + 64; ++p) pixels.push_back(*p / 16);
    labels.push_back(digits.labels[static_cast<std::size_t>(i)]);
  }
  const auto n = static_cast<std::int64_t>(which.size());
  return {Tensor::from(pixels, {n, 1, 8, 8}, device), Tensor::from(labels, {n}, device)};
}

}  // namespace touchstone::cli
