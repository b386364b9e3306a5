#include "touchstone/foreign/plugin.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include <dlfcn.h>
#include <nlohmann/json.hpp>

#include "touchstone/base/error.h"
#include "touchstone/base/json_fault.h"
#include "touchstone/base/json_line.h"
#include "touchstone/ops/kernel_json.h"

namespace touchstone::foreign {
namespace {

constexpr std::byte kFill{0xa5}, kOtherFill{0x5a};

const touchstone_backend* load(const std::string& path) {
  // dlopen would search the system's folders for a bare name.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* const object = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) throw SystemError(fmt::format("cannot load it: {}", ::dlerror()));
  void* const symbol = ::dlsym(object, "touchstone_backend_get");
  if (symbol == nullptr)
    throw ParseError(fmt::format(
        "{} has no touchstone_backend_get(), which touchstone/backend.h requires", path));
  const auto* const backend =
      reinterpret_cast<const touchstone_backend* (*)()>(reinterpret_cast<std::uintptr_t>(symbol))();
  if (backend == nullptr) throw ParseError("its touchstone_backend_get() returned NULL");
  if (backend->abi != TOUCHSTONE_BACKEND_ABI)
    throw ParseError(
        fmt::format("it has ABI version {}, but this touchstone has {}: build it with the "
                    "touchstone/backend.h of this version",
                    backend->abi, TOUCHSTONE_BACKEND_ABI));
  if (backend->size < sizeof(touchstone_backend))
    throw ParseError(fmt::format("its touchstone_backend has {} bytes, but version {} has {}",
                                 backend->size, TOUCHSTONE_BACKEND_ABI,
                                 sizeof(touchstone_backend)));
  if (backend->compile == nullptr || backend->run == nullptr || backend->capabilities == nullptr)
    throw ParseError("it lacks capabilities, compile or run");
  const bool any = backend->alloc || backend->free || backend->copy_in || backend->copy_out;
  const bool all = backend->alloc && backend->free && backend->copy_in && backend->copy_out;
  if (any != all)
    throw ParseError("it has some of alloc, free, copy_in and copy_out; it must have all or none");
  return backend;
}

nlohmann::json capabilities_of(const touchstone_backend& backend) {
  const std::string_view text = backend.capabilities;
  require_shallow_json(text);
  nlohmann::json said = nlohmann::json::parse(text, nullptr, false);
  if (!said.is_object()) throw ParseError("its capabilities are not a JSON object");
  said["touchstone_backend"] = 1;
  said["arrays"] = "base64";
  return said;
}

std::size_t alignment_of(const nlohmann::json& capabilities) {
  const auto said = capabilities.find("alignment");
  if (said == capabilities.end()) return 16;
  const bool number = said->is_number_unsigned();
  const std::uint64_t bytes = number ? said->get<std::uint64_t>() : 0;
  if (!std::has_single_bit(bytes) || bytes > 4096)
    throw ParseError("its \"alignment\" must be a power of two of at most 4096");
  return bytes;
}

}  // namespace

Plugin::Plugin(const std::string& path) : backend_(load(path)) {
  const nlohmann::json said = capabilities_of(*backend_);
  alignment_ = alignment_of(said);
  hello_ = json_line(said);
}

std::string Plugin::reason() const {
  const char* const text = backend_->error == nullptr ? nullptr : backend_->error();
  return text == nullptr || *text == '\0' ? "it gives no reason" : text;
}

void Plugin::call(int status, const char* what) const {
  if (status != TOUCHSTONE_OK) throw SystemError(fmt::format("{}: {}", what, reason()));
}

std::string Plugin::run(const std::string& kernel, std::span<const std::string> inputs,
                        std::size_t output_bytes, std::size_t itemsize) {
  void* raw = nullptr;
  const int status = backend_->compile(kernel.c_str(), &raw);
  if (status == TOUCHSTONE_UNSUPPORTED) throw Unsupported(reason());
  call(status, "compile");
  const auto release = [this](void* p) {
    if (backend_->release != nullptr) backend_->release(p);
  };
  const std::unique_ptr<void, decltype(release)> program(raw, release);
  using enum GuardedMemory::Place;
  std::string output = run_once(raw, inputs, output_bytes, kFill, AtEnd);
  // Host memory can be guarded at one end only, so run twice.
  std::string second;
  if (backend_->alloc == nullptr) second = run_once(raw, inputs, output_bytes, kOtherFill, AtStart);
  // An element that looks unwritten must show the other fill in the second run.
  const auto unwritten = [&](std::size_t at, const std::string& bytes, std::byte fill) {
    return std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                       bytes.begin() + static_cast<std::ptrdiff_t>(at + itemsize),
                       [&](char c) { return static_cast<std::byte>(c) == fill; });
  };
  std::size_t count = 0, first = 0;
  for (std::size_t at = 0; at < output.size(); at += itemsize) {
    if (!unwritten(at, output, kFill)) continue;
    if (second.empty()) second = run_once(raw, inputs, output_bytes, kOtherFill, AtEnd);
    if (unwritten(at, second, kOtherFill) && count++ == 0) first = at / itemsize;
  }
  if (count > 0)
    throw Broken(fmt::format("it left {} of {} elements of its output unwritten, the first is {}",
                             count, output.size() / itemsize, first));
  return output;
}

std::vector<void*> Plugin::to_device(std::vector<void*>& held) {
  for (const GuardedMemory& buffer : buffers_) {
    void* memory = nullptr;
    call(backend_->alloc(buffer.data().size(), &memory), "alloc");
    held.push_back(memory);
    call(backend_->copy_in(memory, buffer.data().data(), buffer.data().size()), "copy_in");
  }
  return held;
}

std::string Plugin::run_once(void* program, std::span<const std::string> inputs,
                             std::size_t output_bytes, std::byte fill, GuardedMemory::Place place) {
  buffers_.clear();
  buffers_.reserve(inputs.size() + 1);
  buffers_.emplace_back(output_bytes, alignment_, place);
  std::ranges::fill(buffers_[0].data(), fill);
  for (const std::string& input : inputs) {
    buffers_.emplace_back(input.size(), alignment_, place);
    std::ranges::copy(std::as_bytes(std::span(input)), buffers_.back().data().begin());
    buffers_.back().make_read_only();
  }
  std::vector<void*> on_device;
  const auto free_all = [this](std::vector<void*>* all) {
    for (void* memory : *all) backend_->free(memory);
  };
  const std::unique_ptr<std::vector<void*>, decltype(free_all)> held(&on_device, free_all);
  std::vector<void*> passed;
  std::vector<std::size_t> sizes;
  for (const GuardedMemory& buffer : buffers_) {
    passed.push_back(buffer.data().data());
    sizes.push_back(buffer.data().size());
  }
  const bool has_memory = backend_->alloc != nullptr;
  if (has_memory) passed = to_device(on_device);
  call(backend_->run(program, passed.data(), sizes.data(), passed.size()), "run");
  const std::span<std::byte> output = buffers_[0].data();
  if (has_memory) {
    const std::int64_t copied = backend_->copy_out(output.data(), on_device[0], output.size());
    if (copied < 0) call(TOUCHSTONE_FAILED, "copy_out");
    if (copied != static_cast<std::int64_t>(output.size()))
      throw Broken(fmt::format("copy_out returned {} of {} bytes", copied, output.size()));
  }
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    if (const std::string where = buffers_[i].damage(); !where.empty())
      throw Broken(fmt::format("it wrote to buffer {} {}", i, where));
  std::string bytes(output.size(), '\0');
  std::memcpy(bytes.data(), output.data(), output.size());
  buffers_.clear();
  return bytes;
}

}  // namespace touchstone::foreign
