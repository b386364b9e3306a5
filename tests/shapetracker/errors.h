#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "touchstone/base/error.h"

namespace touchstone {

/// Expects `call` to throw exactly an E whose message contains all of `parts`.
template <typename E, typename Call>
void expect_error(const Call& call, std::initializer_list<std::string> parts) {
  try {
    call();
    ADD_FAILURE() << "nothing thrown";
  } catch (const E& error) {
    for (const std::string& part : parts)
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
          << "\"" << part << "\" is not in: " << error.what();
  }
}

}  // namespace touchstone
