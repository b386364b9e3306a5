#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "verbs.h"

namespace touchstone::cli {

/// What a connection's process is doing, in memory that it shares with the one that made it: so
/// that the latter can end a question that takes too long, and tell the client of an end by crash.
struct HttpProgress {
  enum class Stage : std::uint8_t {
    Talking,   // reading, writing or waiting
    Judging,   // nothing of the answer was written
    InChunks,  // judging, between two chunks of an answer
    InText,    // judging, between two lines of an answer that ends with the connection
  };
  std::atomic<Stage> stage = Stage::Talking;
  std::atomic<std::int64_t> since = 0;  // that stage; milliseconds of the steady clock
  static_assert(std::atomic<Stage>::is_always_lock_free, "processes share it");
  static_assert(std::atomic<std::int64_t>::is_always_lock_free, "processes share it");

  void enter(Stage next);
  double seconds() const;  // in this stage
};

/// Answers the requests of one connection until it ends, the client leaves, or something is
/// refused. Limits the memory of this process, which is to have no other work. `client` does not
/// block.
void converse(int client, HttpProgress& progress, const ServeOptions& options);

/// The line of an error.
std::string error_line(const std::string& why);

}  // namespace touchstone::cli
