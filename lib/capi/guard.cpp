#include "touchstone/capi/guard.h"

#include <atomic>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>

#include <pthread.h>

#include "touchstone/base/error.h"
#include "touchstone/base/interrupt.h"

namespace touchstone::capi {
namespace {

// A pointer too, so that a text that cannot be copied can be replaced with a literal.
thread_local std::string error_copy;
thread_local const char* error_text = "";

touchstone_status failed(touchstone_status status, const char* text) noexcept {
  try {
    error_copy = text;
    error_text = error_copy.c_str();
  } catch (...) {
    error_text = "out of memory";
  }
  return status;
}

// Running calls of all threads and of this one.
std::atomic<int> calls = 0;
thread_local int own_calls = 0;
std::atomic<bool> forked_amid_calls = false;
const int forks_watched = ::pthread_atfork(nullptr, nullptr, [] {
  if (calls.exchange(own_calls) != own_calls) forked_amid_calls = true;
});

}  // namespace

RunningCall::RunningCall() {
  if (forks_watched != 0 || forked_amid_calls)
    throw SystemError(
        "this process was forked while another thread was in this library, which cannot be used "
        "after such a fork; fork before, or when no call is running, or start a new program");
  ++calls;
  ++own_calls;
}

RunningCall::~RunningCall() {
  --calls;
  --own_calls;
}

touchstone_status status_of_exception() noexcept {
  try {
    throw;
  } catch (const Interrupted& e) {
    return failed(TOUCHSTONE_STATUS_INTERRUPTED, e.what());
  } catch (const SystemError& e) {
    return failed(TOUCHSTONE_STATUS_SYSTEM, e.what());
  } catch (const Error& e) {
    return failed(TOUCHSTONE_STATUS_INPUT, e.what());
  } catch (const std::bad_alloc&) {
    return failed(TOUCHSTONE_STATUS_MEMORY, "out of memory");
  } catch (const std::system_error& e) {
    return failed(TOUCHSTONE_STATUS_SYSTEM, e.what());
  } catch (const std::exception& e) {
    return failed(TOUCHSTONE_STATUS_INTERNAL, e.what());
  } catch (...) {
    return failed(TOUCHSTONE_STATUS_INTERNAL, "an exception of an unknown type");
  }
}

void require(const void* argument, std::string_view name) {
  if (argument == nullptr) throw ParseError(fmt::format("{} is NULL", name));
}

std::string_view text_argument(const char* argument, std::string_view name, std::size_t most) {
  require(argument, name);
  const std::size_t size = ::strnlen(argument, most + 1);
  if (size > most) throw ParseError(fmt::format("{} has more than {} bytes", name, most));
  return {argument, size};
}

}  // namespace touchstone::capi

const char* touchstone_version(void) { return TOUCHSTONE_VERSION; }

const char* touchstone_error(void) { return touchstone::capi::error_text; }

void touchstone_interrupt(int wanted) {
  if (wanted != 0)
    touchstone::Interrupt::request();
  else
    touchstone::Interrupt::clear();
}
