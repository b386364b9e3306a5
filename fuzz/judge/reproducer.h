#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "touchstone/fuzz/judge/kernel_case.h"

namespace touchstone::fuzz {

inline constexpr int kReproducerVersion = 1;

/// A run that can be judged again anywhere: a kernel, what it read and what a candidate answered.
struct Reproducer {
  KernelCase run;
  HostArray output;
  std::string note;  // where it came from, for a person
};

/// JSON: the kernel as kernel.json, with numbers for its variables, arrays as hexadecimal bytes.
/// One file holds everything.
std::string to_json(const Reproducer& reproducer);
/// Throws ParseError or AstError saying what is wrong.
Reproducer reproducer_from_json(std::string_view text);
/// Whether a text is a reproducer rather than a kernel.
bool is_reproducer(std::string_view text);

/// A case alone, on one line, and back. Throws as above.
std::string case_to_json(const KernelCase& c);
KernelCase case_from_json(std::string_view text);

/// The verdict on the recorded output.
Verdict judge(const Reproducer& reproducer, const Profile& profile = {});

}  // namespace touchstone::fuzz
