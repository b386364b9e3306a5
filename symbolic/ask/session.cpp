#include "touchstone/symbolic/ask/session.h"

#include <chrono>

#include "touchstone/base/hash.h"
#include "touchstone/symbolic/number/limits.h"

namespace touchstone::symbolic {

namespace {

constexpr std::uint32_t kNoAnswer = 0xffffffff;
constexpr std::size_t kFirstAnswers = 1024;  // slots; always a power of two

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

Session::Slot& Session::find(std::uint64_t hash) {
  if (table_.empty()) table_.assign(kFirstAnswers, {0, kNoAnswer});
  const std::size_t mask = table_.size() - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    Slot& slot = table_[at];
    if (slot.place == kNoAnswer) return slot;
    if (slot.hash == static_cast<std::uint32_t>(hash >> 32) && kept_[slot.place].key == key_)
      return slot;
  }
}

Answer Session::answer(const Question& question) {
  using Clock = std::chrono::steady_clock;
  write_key(question, key_);
  const auto start = Clock::now();
  const std::uint64_t hash = hash_bytes(key_);
  const Slot& slot = find(hash);
  if (slot.place != kNoAnswer) {
    const auto end = Clock::now();
    Answer known = kept_[slot.place].answer;
    known.ns = std::chrono::nanoseconds(end - start).count();
    return known;
  }
  Answer fresh = symbolic::answer(question, *scratch_);
  keep(hash, fresh);
  if (scratch_->bytes() > kLimits.scratch_bytes) scratch_.emplace();
  return fresh;
}

void Session::keep(std::uint64_t hash, const Answer& answer) {
  const std::size_t size = sizeof(Kept) + key_.size() + answer.text.size();
  if (size > kMostKept) return;
  if (bytes_ + size > kMostKept) {
    kept_.clear();
    table_.assign(table_.size(), {0, kNoAnswer});
    bytes_ = 0;
  }
  bytes_ += size;
  if (2 * (kept_.size() + 1) > table_.size()) {
    std::vector<Slot> old(2 * table_.size(), {0, kNoAnswer});
    old.swap(table_);
    for (const Kept& k : kept_) {
      const std::uint64_t h = hash_bytes(k.key);
      std::size_t at = h & (table_.size() - 1);
      while (table_[at].place != kNoAnswer) at = (at + 1) & (table_.size() - 1);
      table_[at] = {static_cast<std::uint32_t>(h >> 32),
                    static_cast<std::uint32_t>(&k - kept_.data())};
    }
  }
  find(hash) = {static_cast<std::uint32_t>(hash >> 32), static_cast<std::uint32_t>(kept_.size())};
  kept_.push_back({key_, answer});
}

}  // namespace touchstone::symbolic
