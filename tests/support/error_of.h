#pragma once

#include <string>

#include "touchstone/base/error.h"

namespace touchstone::test {

/// The message of the error that f throws; "no error" if none.
template <class F>
std::string error_of(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace touchstone::test
