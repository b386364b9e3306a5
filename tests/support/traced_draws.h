#pragma once

#include <gtest/gtest.h>

#include <source_location>
#include <string>

#include "draws.h"

namespace touchstone::test {

/// Draws that failures name while they live.
class TracedDraws : public Draws {
 public:
  explicit TracedDraws(std::uint64_t seed, std::uint64_t index = 0,
                       std::source_location at = std::source_location::current())
      : Draws(seed, index),
        trace_(at.file_name(), static_cast<int>(at.line()),
               "draws of seed " + std::to_string(seed) + ", case " + std::to_string(index)) {}

 private:
  ::testing::ScopedTrace trace_;
};

}  // namespace touchstone::test
