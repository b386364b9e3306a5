#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "touchstone/fuzz/judge/kernel_case.h"

namespace touchstone::fuzz {

inline constexpr int kReproducerVersion = 1;

/// A run that can be judged anywhere: a kernel, its inputs and a candidate's answer.
struct Reproducer {
  KernelCase run;
  HostArray output;
  std::string note;  // where it came from, for a person
};

/// JSON in one file: the kernel as kernel.json, values of its variables, arrays as hexadecimal
/// bytes.
std::string to_json(const Reproducer& reproducer);
/// Throws ParseError or AstError saying what is wrong.
Reproducer reproducer_from_json(std::string_view text);
/// True for a reproducer, false for a kernel.
bool is_reproducer(std::string_view text);

/// A case without an answer, on one line, and back. Throws as above.
std::string case_to_json(const KernelCase& c);
KernelCase case_from_json(std::string_view text);

/// The verdict on the recorded output.
Verdict judge(const Reproducer& reproducer, const Profile& profile = {},
              const Sampling& sampling = {});

}  // namespace touchstone::fuzz
