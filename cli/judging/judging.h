#pragma once

#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "touchstone/cli/program/verbs.h"
#include "touchstone/files/npy.h"
#include "touchstone/foreign/backend_process.h"
#include "touchstone/interp/oracle/find_order.h"
#include "touchstone/judging/judging.h"

// Shared by the verbs that judge.

namespace touchstone::cli {

/// A value's bits in hexadecimal.
std::string hex_bits(const Scalar& s);

/// A built-in profile, a profile from a .json file, or the default if `wanted` is empty. Throws
/// ParseError, SystemError.
Profile read_profile(const std::string& wanted);
/// The profile named by --profile, or else declared by the backend, if any.
std::optional<ChosenProfile> chosen_profile(const std::string& wanted,
                                            const foreign::Capabilities* backend = nullptr);

/// Judges a kernel's output, with arrays from .npy files and inputs numbered from 1. Throws
/// ParseError or SystemError naming the file.
Verdict judge_files(const KernelToJudge& kernel, const std::vector<std::string>& inputs,
                    const std::string& output, const Judging& judging);

/// The summation order of the output of a kernel without variables, as `find_order`.
std::optional<FoundOrder> order_of_files(const KernelToJudge& kernel,
                                         const std::vector<std::string>& inputs,
                                         const std::string& output, const Judging& judging);

Verdict judge_arrays(const LazyOpPtr& kernel, std::span<const HostArray> inputs,
                     const HostArray& output, const Judging& judging);

/// FAIL or UNUSABLE when there is no output to judge.
Verdict no_verdict(Outcome outcome, const std::string& why);
/// The verdict on a backend's answer; a broken one is a FAIL.
Verdict judge_answer(const LazyOpPtr& kernel, std::span<const HostArray> inputs,
                     const foreign::Answer& answer, const Judging& judging);

/// Starts the backend of the options. Throws SystemError or ParseError on failure.
std::unique_ptr<foreign::BackendProcess> start_backend(const BackendOptions& options);
/// Prints the backend's start-up cost if it was slow or restarted.
void print_starts(const foreign::BackendProcess& backend, std::FILE* to);

int exit_code(Outcome outcome);
/// The same, but kExitSuspect if every element is legal and the errors together are suspicious.
int exit_code(const Verdict& verdict);
/// All outcomes, best first.
inline constexpr std::array kOutcomes = {Outcome::Pass, Outcome::Weak, Outcome::Fail,
                                         Outcome::Unusable};
std::optional<Outcome> outcome_named(std::string_view word);
/// Its name, coloured if colours are on.
std::string coloured(Outcome outcome);

/// The verdict on one line; `folder` if it is one of many. `kernel` may be null.
std::string json_of(const Verdict& verdict, const LazyOpPtr& kernel, const ChosenProfile& under,
                    const std::string& folder = {});

}  // namespace touchstone::cli
