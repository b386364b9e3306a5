#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "touchstone/fuzz/areas/kernel_backend.h"
#include "touchstone/fuzz/engine/area.h"

namespace touchstone::fuzz {

/// How each leaf of a concrete kernel reads on the way to element `at` of the output, view by view:
/// flat places, masks, the element read; of reduces the first terms.
std::string index_trace(const KernelCase& c, std::span<const std::int64_t> at);

/// All that is needed to look into a finding of the area kernel, in a folder that is made:
///   case.txt         the case, a line for tests/corpus/kernel.txt
///   kernel.json      its kernel, and input-1.npy, ... what that reads
///   verdict.txt      the relation that does not hold, in full, and the backend
///   again.sh         `again`, the command that checks case.txt again
///   kernel.c         the code that the backend runs, where it shows it
///   answer.npy       what it answers, where it answers
///   reproducer.json  kernel, inputs and answer in one, for `touchstone check`
///   trace.txt        the first wrong element: its nodes with legal values, and its indices
/// The last four only with a `backend`, which is asked once. Throws SystemError.
void write_finding_folder(const std::filesystem::path& folder, const KernelCase& c,
                          const Failure& failure, const std::string& again, KernelBackend* backend);

}  // namespace touchstone::fuzz
