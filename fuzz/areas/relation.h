#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "touchstone/fuzz/engine/area.h"

namespace touchstone::fuzz {

/// Which relations to check: a sample chosen by the case's text, all, or only the one that a case
/// is being shrunk for, because the others may be costly.
struct AskedRelations {
  Effort effort = Effort::Sampled;
  std::string_view only{};

  bool of(std::string_view relation, bool sampled) const {
    return effort == Effort::Sampled ? sampled : only.empty() || only == relation;
  }
};

/// A relation of an area; a `Check` knows one case.
template <class Check>
struct Relation {
  std::string_view name;
  std::uint64_t every = 1;  // a sample is one case in this many, chosen by the hash of its text
  std::uint64_t salt = 0;   // and this number
  std::optional<Checked> (*wrong)(Check&);
  bool (*needs)(const Check&) = nullptr;   // the cases it is about; null: all
  bool (*likely)(const Check&) = nullptr;  // those more likely to break it, and
  std::uint64_t likely_every = 1;          // one in how many of them is checked
};

/// The first broken relation of the table. `asked(relation, every, salt)` says which to check.
template <class Check, std::size_t count, class IsAsked>
std::optional<Checked> first_broken(const Relation<Check> (&table)[count], Check& check,
                                    const IsAsked& asked) {
  for (const Relation<Check>& row : table) {
    const bool likely = row.likely != nullptr && row.likely(check);
    if (!asked(row.name, likely ? row.likely_every : row.every, row.salt)) continue;
    if (row.needs != nullptr && !row.needs(check)) continue;
    if (auto wrong = row.wrong(check)) return wrong;
  }
  return std::nullopt;
}

}  // namespace touchstone::fuzz
