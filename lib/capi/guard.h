#pragma once

#include <string>
#include <string_view>

#include "touchstone/capi/touchstone.h"

// Nothing that C++ throws leaves the functions of touchstone.h.

namespace touchstone::capi {

/// What is being thrown, as a status, and its text for touchstone_error. To be called in a handler.
touchstone_status status_of_exception() noexcept;

/// While one lives, a call of this thread is running. Throws SystemError in a process that was
/// forked while another thread's call was: the locks that it held stay locked.
class Call {
 public:
  Call();
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
};

/// The status of running `body`.
template <class Body>
touchstone_status guarded(const Body& body) noexcept {
  try {
    const Call call;
    body();
    return TOUCHSTONE_STATUS_OK;
  } catch (...) {
    return status_of_exception();
  }
}

/// The text that `body` gives, kept in `kept`; null where it throws.
template <class Body>
const char* guarded_text(std::string& kept, const Body& body) noexcept {
  try {
    const Call call;
    kept = body();
    return kept.c_str();
  } catch (...) {
    status_of_exception();
    return nullptr;
  }
}

/// Throws ParseError naming the argument where the pointer is null.
void require(const void* argument, std::string_view name);
/// The text. Throws ParseError where it is null, or has more than `most` bytes.
std::string_view text_argument(const char* argument, std::string_view name, std::size_t most);

}  // namespace touchstone::capi
