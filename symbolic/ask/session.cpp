#include "touchstone/symbolic/ask/session.h"

#include <chrono>

#include "touchstone/symbolic/number/limits.h"

namespace touchstone::symbolic {

namespace {

/// Variable-length encoding, seven bits a byte: short keys are looked up faster.
void put(std::string& key, std::uint64_t number) {
  for (; number >= 128; number >>= 7) key += static_cast<char>(number % 128 + 128);
  key += static_cast<char>(number);
}

void put(std::string& key, std::string_view text) {
  put(key, text.size());
  key += text;
}

void put(std::string& key, const End& end) {
  if (!end) {
    key += 'o';
  } else if (const std::int64_t small = end->small().value_or(0); *end == Int(small)) {
    key += 's';
    put(key, static_cast<std::uint64_t>(small) << 1 ^ static_cast<std::uint64_t>(small >> 63));
  } else {
    key += 'l';
    put(key, end->str());
  }
}

/// Serializes the question; equal questions have equal keys.
void write_key(const Question& q, std::string& key) {
  key.clear();
  put(key, q.variables.size());
  for (const auto& [name, range] : q.variables) {
    put(key, name);
    put(key, range.lo);
    put(key, range.hi);
  }
  put(key, q.assumptions.size());
  for (const std::string& a : q.assumptions) put(key, a);
  key += q.text;
}

}  // namespace

Answer Session::answer(const Question& question) {
  using Clock = std::chrono::steady_clock;
  write_key(question, key_);
  const auto start = Clock::now();
  if (const auto found = kept_.find(key_); found != kept_.end()) {
    const auto end = Clock::now();
    Answer known = found->second;
    known.ns = std::chrono::nanoseconds(end - start).count();
    return known;
  }
  Answer fresh = symbolic::answer(question, *scratch_);
  keep(fresh);
  if (scratch_->bytes() > kLimits.scratch_bytes) scratch_.emplace();
  return fresh;
}

void Session::keep(const Answer& answer) {
  const std::size_t size = sizeof(*kept_.begin()) + key_.size() + answer.text.size();
  if (size > kMostKept) return;
  if (bytes_ + size > kMostKept) {
    kept_.clear();
    bytes_ = 0;
  }
  bytes_ += size;
  kept_.emplace(key_, answer);
}

}  // namespace touchstone::symbolic
