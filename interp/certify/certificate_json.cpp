#include <charconv>
#include <functional>

#include <nlohmann/json.hpp>

#include "touchstone/base/error.h"
#include "touchstone/base/json_fault.h"
#include "touchstone/interp/certify/certify.h"

namespace touchstone {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "touchstone-certificate-1";

using Inputs = std::vector<std::uint32_t> BlockRecord::*;
constexpr std::pair<const char*, Inputs> kLists[] = {{"undecided", &BlockRecord::undecided},
                                                     {"disputed", &BlockRecord::disputed},
                                                     {"wrong", &BlockRecord::wrong}};

std::uint64_t hex(const std::string& text, std::string_view what) {
  std::uint64_t bits = 0;
  const char* end = text.data() + text.size();
  const auto [p, ec] = std::from_chars(text.data(), end, bits, 16);
  if (ec != std::errc() || p != end)
    throw ParseError(fmt::format("certificate: {} contains '{}', which is not a hexadecimal number",
                                 what, text.substr(0, 40)));
  return bits;
}

Certificate read(const Json& j) {
  if (j.at("format") != kFormat)
    throw ParseError(fmt::format("not a certificate of format {}", kFormat));
  Certificate c = empty_certificate(parse_certified_op(j.at("op").get<std::string>()),
                                    parse_dtype(j.at("dtype").get<std::string>()),
                                    j.at("version").get<std::string>());
  c.compiler = j.at("compiler").get<std::string>();
  c.libm = j.at("libm").get<std::string>();
  const Json& hashes = j.at("block_hashes");
  if (hashes.size() != c.blocks.size())
    throw ParseError(fmt::format("certificate: {} block hashes, but {} of {} has {} blocks",
                                 hashes.size(), name(c.op), name(c.dtype), c.blocks.size()));
  for (std::size_t b = 0; b < hashes.size(); ++b)
    if (hashes[b] != std::string())
      c.blocks[b].hash = hex(hashes[b].get<std::string>(), "block_hashes");
  for (const auto& [key, list] : kLists)
    for (const Json& item : j.at(key)) {
      const std::uint64_t bits = hex(item.get<std::string>(), key);
      if (bits >= c.inputs())
        throw ParseError(
            fmt::format("certificate: {} contains {:x}, which is not an input", key, bits));
      (c.blocks[bits / c.block_inputs()].*list).push_back(static_cast<std::uint32_t>(bits));
    }
  return c;
}

}  // namespace

std::string to_json(const Certificate& c) {
  Json j;
  j["format"] = kFormat;
  j["op"] = name(c.op);
  j["dtype"] = name(c.dtype);
  j["version"] = c.version;
  j["compiler"] = c.compiler;
  j["libm"] = c.libm;
  j["inputs"] = c.inputs();
  j["checked"] = c.done() * c.block_inputs();
  std::uint64_t undecided = 0;
  for (const BlockRecord& b : c.blocks) undecided += b.undecided.size();
  j["checked_by_mpfr"] =
      c.done() * c.mpfr_per_block() + (c.mpfr_per_block() == c.block_inputs() ? 0 : undecided);
  for (const auto& [key, list] : kLists) {
    j[key] = Json::array();
    for (const BlockRecord& b : c.blocks)
      for (const std::uint32_t bits : b.*list)
        j[key].push_back(fmt::format("{:0{}x}", bits, 2 * itemsize(c.dtype)));
  }
  j["outputs"] = c.outputs();
  j["block_inputs"] = c.block_inputs();
  j["block_hashes"] = Json::array();
  for (const BlockRecord& b : c.blocks)
    j["block_hashes"].push_back(b.hash == 0 ? "" : fmt::format("{:016x}", b.hash));
  return j.dump(1) + "\n";
}

Certificate certificate_from_json(std::string_view text) {
  try {
    return read(Json::parse(text));
  } catch (const nlohmann::json::exception& e) {
    throw ParseError(fmt::format("certificate: {}", json_fault(e.what())));
  } catch (const DTypeError& e) {
    throw ParseError(fmt::format("certificate: {}", e.what()));
  }
}

}  // namespace touchstone
