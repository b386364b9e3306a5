#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "touchstone/fuzz/areas/kernel_backend.h"
#include "touchstone/fuzz/engine/area.h"

namespace touchstone::fuzz {

/// How each leaf of a concrete kernel is read for element `at` of the output, view by view: flat
/// places, masks, the element read; for reduces the first terms.
std::string index_trace(const KernelCase& c, std::span<const std::int64_t> at);

/// Writes a folder with everything needed to investigate a finding of the area kernel:
///   case.txt         the case, a line for tests/corpus/kernel.txt
///   kernel.json      its kernel, with inputs input-1.npy, ...
///   verdict.txt      the broken relation in full, and the backend
///   again.sh         `again`, the command that checks case.txt again
///   kernel.c         the backend's code, if available
///   kernel.onnx      or kernel_torch.py ..., if it got this
///   answer.npy       the backend's answer, if any
///   reproducer.json  kernel, inputs and answer in one, for `touchstone check`
///   trace.txt        the first wrong element: its nodes with legal values, and its indices
/// The last five only with a `backend`, which runs once. Throws SystemError.
void write_finding_folder(const std::filesystem::path& folder, const KernelCase& c,
                          const Failure& failure, const std::string& again, KernelBackend* backend);

}  // namespace touchstone::fuzz
