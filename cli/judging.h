#pragma once

#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "touchstone/files/npy.h"
#include "touchstone/foreign/backend_process.h"
#include "touchstone/interp/oracle/find_order.h"
#include "touchstone/interp/oracle/profile.h"
#include "touchstone/interp/oracle/verdict.h"
#include "touchstone/ops/kernel_json.h"
#include "verbs.h"

// Shared by the verbs that judge.

namespace touchstone::cli {

/// The bits of a value, in hexadecimal digits.
std::string hex_bits(const Scalar& s);

/// A built-in profile, or the one in a file that ends in .json, or the default one where `wanted`
/// is empty. Throws ParseError, SystemError.
Profile read_profile(const std::string& wanted);
/// The same, but where nothing is wanted the usual one of a kernel that is given as a text.
Profile read_profile(const std::string& wanted, const std::string& op,
                     const std::vector<std::string>& inputs);

/// Judges the output of a kernel, arrays from .npy files, inputs numbered from 1. Throws ParseError
/// or SystemError naming the file.
Verdict judge_files(const KernelFile& kernel, const std::vector<std::string>& inputs,
                    const std::string& output, const Profile& profile);

/// In which order the output of a kernel without variables was summed, as `find_order`.
std::optional<FoundOrder> order_of_files(const KernelFile& kernel,
                                         const std::vector<std::string>& inputs,
                                         const std::string& output, const Profile& profile);

Verdict judge_arrays(const LazyOpPtr& kernel, std::span<const HostArray> inputs,
                     const HostArray& output, const Profile& profile);

/// FAIL or UNUSABLE where there is no output to judge.
Verdict no_verdict(Outcome outcome, const std::string& why);
/// The verdict on a backend's answer: one that broke is a FAIL.
Verdict judge_answer(const LazyOpPtr& kernel, std::span<const HostArray> inputs,
                     const foreign::Answer& answer, const Profile& profile);

/// The backend of the options, started. Throws SystemError or ParseError where it does not start.
std::unique_ptr<foreign::BackendProcess> start_backend(const BackendOptions& options);
/// What starting the backend cost, where it was slow or was started anew.
void print_starts(const foreign::BackendProcess& backend, std::FILE* to);
/// The profile that is asked for, or that which the backend declares, or the default.
Profile profile_of(const foreign::Capabilities& backend, const std::string& wanted);

int exit_code(Outcome outcome);
/// The same, kExitSuspect where every element is legal and their errors together are suspicious.
int exit_code(const Verdict& verdict);
/// All outcomes, best first.
inline constexpr std::array kOutcomes = {Outcome::Pass, Outcome::Weak, Outcome::Fail,
                                         Outcome::Unusable};
std::optional<Outcome> outcome_named(std::string_view word);
/// Its name in its colour, where there are any.
std::string coloured(Outcome outcome);

/// The verdict on one line; `folder` where it is one of many. `kernel` may be null.
std::string json_of(const Verdict& verdict, const LazyOpPtr& kernel, const Profile& profile,
                    const std::string& folder = {});

}  // namespace touchstone::cli
