#include "touchstone/fuzz/engine/run_log.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/base/json_fault.h"
#include "touchstone/fuzz/engine/worker.h"

namespace touchstone::fuzz {
namespace {

using nlohmann::json;

json campaign(const std::vector<AreaPlan>& plans, const RunOptions& o) {
  json areas = json::array();
  for (const AreaPlan& p : plans) areas.push_back({{"name", p.name}, {"batch", p.batch}});
  return {{"seed", o.seed}, {"shard", o.shard}, {"shards", o.shards}, {"areas", areas}};
}

}  // namespace

json told(std::int64_t batch, const BatchRecord& record) {
  json line = record.tally;
  line["batch"] = batch;
  if (!record.coverage.empty()) line["coverage"] = record.coverage;
  if (!record.passed_over.empty()) line["passed over"] = record.passed_over;
  return line;
}

json told(std::int64_t batch, const AreaFinding& f) {
  json line = f.failure;
  line.update({{"finding", f.index}, {"batch", batch}, {"text", f.text}});
  return line;
}

BatchRecord batch_in(const json& line) {
  return {line, line.value("coverage", std::vector<std::uint64_t>()),
          line.value("passed over", PassedOver())};
}

AreaFinding finding_in(const json& line) {
  AreaFinding f;
  f.index = line.at("finding");
  f.text = f.shrunk = line.at("text");
  f.failure = line;
  return f;
}

RunLog::RunLog(const std::vector<AreaPlan>& plans, const RunOptions& options)
    : path_(options.log_file >= 0 ? "-" : options.log) {
  if (options.log_file >= 0) {
    file_ = Descriptor(::fcntl(options.log_file, F_DUPFD_CLOEXEC, 3));
    write(line_of({{"campaign", campaign(plans, options)}}));
    return;
  }
  if (path_.empty()) return;
  const bool there = std::filesystem::is_regular_file(path_) && !std::filesystem::is_empty(path_);
  if (there) {
    if (!options.resume)
      throw ParseError(fmt::format(
          "{} already exists: continue it with --resume, or choose another log", path_.string()));
    read(plans, options);
  }
  // Opening a pipe without a reader fails instead of blocking.
  file_ = Descriptor(
      ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666));
  if (!file_)
    throw SystemError(
        fmt::format("cannot write the log {}: {}", path_.string(), std::strerror(errno)));
  ::fcntl(file_.get(), F_SETFL, O_APPEND);
  if (!there) write(line_of({{"campaign", campaign(plans, options)}}));
}

void RunLog::read(const std::vector<AreaPlan>& plans, const RunOptions& options) {
  const std::string text = read_file(path_, std::uint64_t{16} << 30);  // our own, of weeks
  std::size_t number = 0, whole = 0;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = text.find('\n', from);
    if (end == std::string::npos) break;  // incomplete line of a killed process
    ++number;
    try {
      const json line = json::parse(text.substr(from, end - from));
      if (number == 1) {
        if (line.at("campaign") != campaign(plans, options))
          throw ParseError(fmt::format("{} belongs to another campaign: {}; this one is {}",
                                       path_.string(), line.at("campaign").dump(),
                                       campaign(plans, options).dump()));
      } else {
        const std::string area = line.at("area");
        AreaRecord& record = old_[area];
        if (line.contains("cases")) {
          const std::size_t batch = line.at("batch");
          if (batch > record.batches.size()) throw ParseError("batches are out of order");
          record.batches.resize(batch);  // it was done again, as where a run is made longer
          record.batches.push_back(batch_in(line));
        } else if (line.contains("finding")) {
          record.findings.push_back(finding_in(line));
          batch_of_[area][record.findings.back().index] = line.at("batch");
        }
      }
    } catch (const json::exception& e) {
      throw ParseError(fmt::format(
          "{}:{}: damaged: {}; truncate the log before this line to continue from there",
          path_.string(), number, json_fault(e.what())));
    } catch (const ParseError& e) {
      throw ParseError(fmt::format("{}:{}: {}", path_.string(), number, e.what()));
    }
    whole = from = end + 1;
  }
  if (whole < text.size()) {
    std::error_code error;
    std::filesystem::resize_file(path_, whole, error);
    if (error)
      throw SystemError(
          fmt::format("cannot repair the last line of {}: {}", path_.string(), error.message()));
  }
}

AreaRecord RunLog::record(const AreaPlan& plan, const RunOptions& options) const {
  AreaRecord out;
  const auto found = old_.find(plan.name);
  if (found == old_.end()) return out;
  for (const BatchRecord& b : found->second.batches) {
    const auto [begin, end] =
        batch_range(plan, options, static_cast<std::int64_t>(out.batches.size()));
    if (b.tally.cases != end - begin) break;
    out.batches.push_back(b);
  }
  for (const AreaFinding& f : found->second.findings)
    if (batch_of_.at(plan.name).at(f.index) < static_cast<std::int64_t>(out.batches.size()))
      out.findings.push_back(f);
  return out;
}

void RunLog::write(const std::string& line) {
  if (!file_) return;
  struct stat before {};
  const bool file = ::fstat(file_.get(), &before) == 0 && S_ISREG(before.st_mode);
  const int error = write_all(file_.get(), line);
  if (error == 0) return;
  if (file && ::ftruncate(file_.get(), before.st_size) != 0) {
    // The next run removes the partial line.
  }
  throw SystemError(fmt::format(
      "cannot write the log {}: {}; it is intact so far, and --resume continues from there",
      path_.string(), std::strerror(error)));
}

void RunLog::write_of(const std::string& area, json line) {
  line["area"] = area;
  write(line_of(line));
}

void RunLog::batch(const std::string& area, std::int64_t number, const BatchRecord& record) {
  write_of(area, told(number, record));
}

void RunLog::finding(const std::string& area, std::int64_t batch, const AreaFinding& f) {
  write_of(area, told(batch, f));
}

void RunLog::shrunk(const std::string& area, const AreaFinding& f) {
  json line = f.failure;
  line.update({{"shrunk", f.index}, {"text", f.shrunk}, {"runs", f.runs}, {"times", f.times}});
  write_of(area, std::move(line));
}

}  // namespace touchstone::fuzz
