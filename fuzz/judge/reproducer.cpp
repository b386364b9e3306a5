#include "touchstone/fuzz/judge/reproducer.h"

#include <array>
#include <charconv>
#include <cstring>

#include <nlohmann/json.hpp>

#include "touchstone/base/checked.h"
#include "touchstone/base/json_fault.h"
#include "touchstone/interp/device/interpreted.h"
#include "touchstone/ops/kernel_json.h"

namespace touchstone::fuzz {
namespace {

using nlohmann::json;

constexpr std::string_view kKey = "touchstone_reproducer";

constexpr auto kHexPairs = [] {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<std::array<char, 2>, 256> pairs{};
  for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = {kDigits[i >> 4], kDigits[i & 15]};
  return pairs;
}();

void write_hex(std::string& out, std::string_view bytes) {
  const std::size_t before = out.size();
  out.resize(before + 2 * bytes.size());
  char* to = out.data() + before;
  for (const char c : bytes) {
    std::memcpy(to, kHexPairs[static_cast<unsigned char>(c)].data(), 2);
    to += 2;
  }
}

[[noreturn]] void bad_reproducer(const std::string& where, const std::string& why) {
  throw ParseError(fmt::format("reproducer: {}: {}", where, why));
}

std::string unhex(const std::string& text, const std::string& where) {
  if (text.size() % 2 != 0) bad_reproducer(where, "an odd number of hexadecimal digits");
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    unsigned byte = 0;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + i + 2, byte, 16);
    if (error != std::errc() || end != text.data() + i + 2)
      bad_reproducer(where, "not hexadecimal");
    out += static_cast<char>(byte);
  }
  return out;
}

void write_array(std::string& out, const HostArray& array) {
  out += R"({"bytes":")";
  write_hex(out, array.bytes);
  out += R"(","dtype":")";
  out += name(array.dtype);
  out += R"(","shape":[)";
  for (std::size_t i = 0; i < array.shape.size(); ++i) {
    if (i > 0) out += ',';
    out += fmt::format_int(array.shape[i]).c_str();
  }
  out += "]}";
}

// Drops line ends; JSON escapes those inside strings.
void write_as_one_line(std::string& out, std::string_view text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    out += text.substr(begin, end - begin);
    begin = end + 1;
  }
}

HostArray parse_array(const json& value, const std::string& where) {
  try {
    for (const json& size : value.at("shape"))
      if (!size.is_number_unsigned() || size.get<std::uint64_t>() > INT64_MAX)
        bad_reproducer(where, fmt::format("{} is not a size", size.dump()));
    HostArray array{parse_dtype(value.at("dtype").get<std::string>()),
                    value.at("shape").get<std::vector<std::int64_t>>(),
                    unhex(value.at("bytes").get<std::string>(), where)};
    if (static_cast<std::int64_t>(array.bytes.size()) !=
        checked_mul(array.size(), static_cast<std::int64_t>(itemsize(array.dtype))))
      bad_reproducer(where, fmt::format("{} bytes do not make {} elements of {}",
                                        array.bytes.size(), array.size(), name(array.dtype)));
    return array;
  } catch (const json::exception& e) {
    bad_reproducer(where, json_fault(e.what()));
  } catch (const DTypeError& e) {
    bad_reproducer(where, e.what());
  } catch (const OverflowError& e) {
    bad_reproducer(where, e.what());
  }
}

// A kernel's input must be valid; an invalid byte in an output fails its verdict.
HostArray parse_input(const json& value, std::size_t number) {
  const std::string where = fmt::format("input {}", number);
  HostArray array = parse_array(value, where);
  if (is_bool(array.dtype))
    for (const char c : array.bytes)
      if (c != 0 && c != 1) bad_reproducer(where, "a bool is neither 00 nor 01");
  return array;
}

// A value in range for each variable of the kernel.
symbolic::Values parse_values(const json& root, const LazyOpPtr& kernel) {
  symbolic::Values values;
  const auto it = root.find("values");
  if (it != root.end() && !it->is_object()) bad_reproducer("values", "is not an object");
  for (const symbolic::Node& v : variables_of(kernel)) {
    const std::string& name = symbolic::variable_name(v);
    if (it == root.end() || !it->contains(name)) bad_reproducer("values", "lacks one for " + name);
    const json& value = (*it)[name];
    if (!value.is_number_integer())
      bad_reproducer("values", fmt::format("{} is not an integer", value.dump()));
    values[name] = value.get<std::int64_t>();
  }
  if (it != root.end() && it->size() != values.size())
    bad_reproducer("values", "has some that the kernel does not have");
  (void)bind_variables(kernel, values);  // throws if one is out of range
  return values;
}

}  // namespace

std::string to_json(const Reproducer& r) {
  std::string text =
      fmt::format("{{\"{}\":{},\n\"note\":{},\n", kKey, kReproducerVersion, json(r.note).dump());
  text += "\"inputs\":[";
  for (std::size_t i = 0; i < r.run.inputs.size(); ++i) {
    text += i == 0 ? "\n" : ",\n";
    write_array(text, r.run.inputs[i]);
  }
  text += "\n],\n\"output\":";
  write_array(text, r.output);
  return text + ",\n\"kernel\":" + touchstone::to_json(kernel_file(r.run.concrete())) + "}\n";
}

bool is_reproducer(std::string_view text) {
  return text.find(fmt::format("\"{}\"", kKey)) != std::string_view::npos;
}

Reproducer reproducer_from_json(std::string_view text) {
  json root = read_json<json>(text, "reproducer: not JSON");
  if (!root.is_object() || !root.contains(kKey))
    bad_reproducer("the file", fmt::format("\"{}\" is missing", kKey));
  if (root[std::string(kKey)] != kReproducerVersion)
    bad_reproducer("the file", fmt::format("has version {}, but this program reads version {}",
                                           root[std::string(kKey)].dump(), kReproducerVersion));
  for (const char* key : {"inputs", "output", "kernel"})
    if (!root.contains(key)) bad_reproducer("the file", fmt::format("\"{}\" is missing", key));
  Reproducer r;
  if (!root["inputs"].is_array()) bad_reproducer("inputs", "is not a list");
  if (root.contains("note") && !root["note"].is_string()) bad_reproducer("note", "is not a string");
  r.note = root.value("note", std::string());
  r.run.kernel = kernel_from_json(root["kernel"].dump()).ast;
  for (const json& input : root["inputs"])
    r.run.inputs.push_back(parse_input(input, r.run.inputs.size() + 1));
  r.output = parse_array(root["output"], "output");
  return r;
}

std::string case_to_json(const KernelCase& c) {
  const std::string kernel = touchstone::to_json(kernel_file(c.kernel));
  std::size_t length = kernel.size() + 64;
  for (const HostArray& input : c.inputs) length += 2 * input.bytes.size() + 64;
  std::string text = "{";
  text.reserve(length);
  if (!c.values.empty()) text += "\"values\":" + json(c.values).dump() + ",";
  text += "\"inputs\":[";
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    if (i > 0) text += ',';
    write_array(text, c.inputs[i]);
  }
  text += "],\"kernel\":";
  write_as_one_line(text, kernel);
  text += '}';
  return text;
}

KernelCase case_from_json(std::string_view text) {
  json root = read_json<json>(text, "a case of 'kernel' must be JSON");
  for (const char* key : {"inputs", "kernel"})
    if (!root.is_object() || !root.contains(key))
      bad_reproducer("a case", fmt::format("\"{}\" is missing", key));
  if (!root["inputs"].is_array()) bad_reproducer("inputs", "is not a list");
  KernelCase c{kernel_from_json(root["kernel"].dump()).ast, {}};
  c.values = parse_values(root, c.kernel);
  for (const json& input : root["inputs"])
    c.inputs.push_back(parse_input(input, c.inputs.size() + 1));
  for (const BufferSpec& spec : buffers_of(c.concrete())) {
    if (spec.idx == 0) continue;
    const auto i = static_cast<std::size_t>(spec.idx) - 1;
    if (i >= c.inputs.size() || c.inputs[i].dtype != spec.dtype || c.inputs[i].size() < spec.size)
      bad_reproducer(
          fmt::format("input {}", spec.idx),
          fmt::format("the kernel needs {} elements of {}", spec.size, name(spec.dtype)));
  }
  return c;
}

Verdict judge(const Reproducer& r, const Profile& profile, const Sampling& sampling) {
  const std::unique_ptr<Device> host = make_interpreted_device("REPRODUCER");
  std::vector<BufferPtr> buffers;
  std::vector<Buffer*> raw{nullptr};
  for (const HostArray& input : r.run.inputs) {
    buffers.push_back(std::make_shared<Buffer>(*host, input.dtype, input.size()));
    buffers.back()->copy_in(std::as_bytes(std::span(input.bytes)));
    raw.push_back(buffers.back().get());
  }
  Buffer output(*host, r.output.dtype, r.output.size());
  output.copy_in(std::as_bytes(std::span(r.output.bytes)));
  return touchstone::judge(r.run.kernel, raw, output, profile, r.run.values, sampling);
}

}  // namespace touchstone::fuzz
