#pragma once

#include <string>
#include <string_view>

#include "touchstone/capi/touchstone.h"

// Nothing that C++ throws leaves the functions of touchstone.h.

namespace touchstone::capi {

/// Returns the status of the current exception and stores its text for touchstone_error. Call it in
/// a handler.
touchstone_status status_of_exception() noexcept;

/// Marks a running call of this thread. Throws SystemError in a process that was forked during
/// another thread's call: the locks which that thread held stay locked.
class RunningCall {
 public:
  RunningCall();
  ~RunningCall();
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;
};

/// Runs `body` and returns its status.
template <class Body>
touchstone_status guarded(const Body& body) noexcept {
  try {
    const RunningCall call;
    body();
    return TOUCHSTONE_STATUS_OK;
  } catch (...) {
    return status_of_exception();
  }
}

/// Returns the text from `body`, stored in `kept`; null if it throws.
template <class Body>
const char* guarded_text(std::string& kept, const Body& body) noexcept {
  try {
    const RunningCall call;
    kept = body();
    return kept.c_str();
  } catch (...) {
    status_of_exception();
    return nullptr;
  }
}

/// Throws ParseError naming the argument if the pointer is null.
void require(const void* argument, std::string_view name);
/// Returns the text. Throws ParseError if it is null or longer than `most` bytes.
std::string_view text_argument(const char* argument, std::string_view name, std::size_t most);

}  // namespace touchstone::capi
