#pragma once

#include <string>
#include <vector>

#include "touchstone/interp/profile.h"
#include "touchstone/interp/verdict.h"
#include "touchstone/ops/kernel_json.h"

// What the verbs that judge have in common.

namespace touchstone::cli {

/// A built-in profile, or the one in a file that ends in .json. Throws ParseError, SystemError.
Profile read_profile(const std::string& wanted);

/// Judges the output of a kernel, arrays from .npy files, inputs numbered from 1. Throws ParseError
/// or SystemError naming the file.
Verdict judge_files(const KernelFile& kernel, const std::vector<std::string>& inputs,
                    const std::string& output, const Profile& profile);

int exit_code(Outcome outcome);

/// The verdict on one line; `folder` where it is one of many. `kernel` may be null.
std::string json_of(const Verdict& verdict, const LazyOpPtr& kernel, const Profile& profile,
                    const std::string& folder = {});

}  // namespace touchstone::cli
