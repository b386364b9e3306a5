#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "touchstone/cli/program/verbs.h"

namespace touchstone::cli {

/// The state of a connection's process, in memory shared with its parent, which can then end a
/// question that takes too long, and report a crash to the client.
struct HttpProgress {
  enum class Stage : std::uint8_t {
    Talking,   // reading, writing or waiting
    Judging,   // before any of the answer is written
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

/// Answers the requests of one connection until it ends, the client leaves, or a request is
/// refused. Limits the memory of this process, which must do no other work. `client` is
/// non-blocking.
void converse(int client, HttpProgress& progress, const ServeOptions& options);

/// An error as an answer line.
std::string error_line(const std::string& why);

}  // namespace touchstone::cli
