#include "touchstone/cli/program/data_output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "touchstone/base/error.h"

namespace touchstone::cli {

DataOutput::DataOutput() {
  std::fflush(stdout);
  kept_ = Descriptor(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  if (!kept_ || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    throw SystemError(fmt::format("cannot use standard output: {}", std::strerror(errno)));
}

DataOutput::~DataOutput() {
  std::fflush(stdout);
  ::dup2(kept_.get(), STDOUT_FILENO);
}

void DataOutput::write(std::string_view text) const {
  if (const int error = write_all(kept_.get(), text); error != 0)
    throw SystemError(fmt::format("cannot write to standard output: {}", std::strerror(error)));
}

std::unique_ptr<DataOutput> log_output(const std::string& log, bool json) {
  if (json && log == "-")
    throw ParseError("both --json and --log - write to standard output; give the log a file name");
  return data_output_if(log == "-");
}

void require_log_file(bool resume, const std::string& log) {
  if (resume && (log.empty() || log == "-"))
    throw ParseError("--resume needs --log FILE, the log of the run to continue");
}

}  // namespace touchstone::cli
