#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "touchstone/base/error.h"
#include "touchstone/base/interrupt.h"
#include "touchstone/base/json_line.h"
#include "touchstone/base/line_log.h"
#include "touchstone/base/visible.h"
#include "touchstone/cli/judging/judging.h"
#include "touchstone/cli/judging/kernel_io.h"
#include "touchstone/cli/program/data_output.h"
#include "touchstone/cli/program/orderly_end.h"
#include "touchstone/cli/program/terminal.h"
#include "touchstone/cli/program/verbs.h"
#include "touchstone/interp/oracle/declared_profile.h"

// Compares several backends on the same kernels, as the tables of docs/measured/league.md.

namespace touchstone::cli {
namespace {

// The score of one operation on one type.
struct Score {
  std::int64_t elements = 0;    // floats comparable with the right answer
  std::int64_t misrounded = 0;  // of those
  std::uint64_t ulp = 0;        // the largest error
  std::int64_t judged = 0;      // elements
  std::int64_t illegal = 0;     // of those
  std::int64_t kernels = 0, broken = 0, unusable = 0;
  std::int64_t suspect = 0;  // kernels whose errors together are suspicious
  std::string unsupported;   // the reason, if no kernel ran
  std::string example;       // the first illegal result
};

constexpr std::array<std::pair<const char*, std::int64_t Score::*>, 8> kCounts = {{
    {"elements", &Score::elements},
    {"misrounded", &Score::misrounded},
    {"judged", &Score::judged},
    {"illegal", &Score::illegal},
    {"kernels", &Score::kernels},
    {"broken", &Score::broken},
    {"unusable", &Score::unusable},
    {"suspect", &Score::suspect},
}};

struct Contestant {
  foreign::Capabilities capabilities;
  Profile profile;
  std::map<std::string, std::map<std::string, Score>> scores;  // by operation, by type
};

// A float's bits as an integer of the same order, both zeros equal; nullopt for NaN.
std::optional<std::int64_t> order_of(DType dtype, std::uint64_t bits) {
  if (std::isnan(Scalar::from_bits(dtype, bits).to_double())) return std::nullopt;
  const std::uint64_t sign = std::uint64_t{1} << (8 * itemsize(dtype) - 1);
  const auto magnitude = static_cast<std::int64_t>(bits & (sign - 1));
  return (bits & sign) != 0 ? -magnitude : magnitude;
}

void compare(const HostArray& got, const HostArray& right, Score& score) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(right.size()); ++i) {
    const std::uint64_t x = fuzz::bits_at(got, i), y = fuzz::bits_at(right, i);
    const auto a = order_of(right.dtype, x), b = order_of(right.dtype, y);
    ++score.elements;
    if (x == y || (!a && !b)) continue;
    ++score.misrounded;
    if (!a || !b) continue;
    // Between opposite signs the distance may need all 64 bits.
    const auto apart =
        static_cast<std::uint64_t>(std::max(*a, *b)) - static_cast<std::uint64_t>(std::min(*a, *b));
    score.ulp = std::max(score.ulp, apart);
  }
}

Score play(foreign::BackendProcess& backend, const fuzz::SuiteCase& c, const KernelFile& kernel,
           const HostArray& right, const Profile& profile) {
  Score score;
  const foreign::Answer answer = backend.run(kernel, c.run.inputs);
  if (answer.kind == foreign::Answer::Kind::Unsupported) {
    score.unsupported = answer.why;
    return score;
  }
  ++score.kernels;
  const Judging judging = Judging().under(ChosenProfile{profile, "declared by the backend"});
  const Verdict verdict = judge_answer(kernel.ast, c.run.inputs, answer, judging);
  if (answer.kind == foreign::Answer::Kind::Output) {
    if (is_float(right.dtype)) compare(answer.output, right, score);
    score.judged += verdict.checked;
    score.illegal += verdict.wrong;
  } else if (answer.kind == foreign::Answer::Kind::Broken) {
    ++score.broken;
  } else {
    ++score.unusable;
  }
  score.suspect = verdict.suspect() ? 1 : 0;
  if (verdict.outcome == Outcome::Fail || verdict.outcome == Outcome::Unusable || verdict.suspect())
    score.example = fmt::format("{}: {}", c.name, verdict.str());
  return score;
}

void add(Score& to, const Score& more) {
  for (const auto& [key, member] : kCounts) to.*member += more.*member;
  to.ulp = std::max(to.ulp, more.ulp);
  if (to.example.empty()) to.example = more.example;
  if (to.unsupported.empty()) to.unsupported = more.unsupported;
}

std::string cell(const Score& s) {
  if (s.kernels == 0) return "–";
  std::string text;
  if (s.elements > 0)
    text = s.misrounded == 0 ? "exact"
                             : fmt::format("{} ULP, {:.2g} %", s.ulp,
                                           100.0 * static_cast<double>(s.misrounded) /
                                               static_cast<double>(s.elements));
  else if (s.illegal == 0 && s.broken == 0 && s.unusable == 0 && s.suspect == 0)
    text = "legal";
  const auto add = [&](std::int64_t count, const char* what) {
    if (count > 0) text += fmt::format("{}**{} {}**", text.empty() ? "" : ", ", count, what);
  };
  add(s.illegal, "illegal");
  add(s.broken, "broken");
  add(s.unusable, "unusable");
  add(s.suspect, "suspect");
  return text;
}

// A case's operation and type: "cast-float32-int8-edges" is cast of float32.
std::pair<std::string, std::string> place_of(const fuzz::SuiteCase& c) {
  std::pair<std::string, std::string> place{c.name, ""};
  for (const DTypeInfo& row : dtype_table) {
    const std::size_t at = c.name.find(fmt::format("-{}-", row.name));
    if (at < place.first.size()) place = {c.name.substr(0, at), std::string(row.name)};
  }
  return place;
}

// The types of one kind with which some kernel ran.
std::vector<std::string> types_of(const Contestant& contestant, bool floats) {
  std::vector<std::string> types;
  for (const DTypeInfo& row : dtype_table) {
    const bool played = std::ranges::any_of(contestant.scores, [&](const auto& op) {
      const auto at = op.second.find(std::string(row.name));
      return at != op.second.end() && at->second.kernels > 0;
    });
    if (played && is_float(row.dtype) == floats) types.emplace_back(row.name);
  }
  return types;
}

// Integers and bool in one cell: the number of correct types, and the incorrect ones.
std::string summary(const std::map<std::string, Score>& scores,
                    const std::vector<std::string>& types) {
  int good = 0;
  std::string text;
  for (const std::string& type : types) {
    const auto at = scores.find(type);
    if (at == scores.end() || at->second.kernels == 0) continue;
    const Score& s = at->second;
    if (s.illegal == 0 && s.broken == 0 && s.unusable == 0 && s.suspect == 0 && s.misrounded == 0)
      ++good;
    else
      text += fmt::format("; {}: {}", type, cell(s));
  }
  if (good > 0) return fmt::format("{} right{}", counted(good, "type"), text);
  return text.empty() ? "–" : text.substr(2);
}

constexpr std::size_t kMostName = 80;

bool has_played(const Contestant& contestant) {
  for (const auto& [op, scores] : contestant.scores)
    for (const auto& [type, score] : scores)
      if (score.kernels > 0) return true;
  return false;
}

void print_table(const Contestant& contestant) {
  const std::vector<std::string> floats = types_of(contestant, true);
  const std::vector<std::string> others = types_of(contestant, false);
  fmt::print("| |{}{}\n|---|", floats.empty() ? "" : fmt::format(" {} |", fmt::join(floats, " | ")),
             " integers, bool |");
  for (std::size_t i = 0; i <= floats.size(); ++i) fmt::print("---|");
  fmt::print("\n");
  for (const auto& [op, scores] : contestant.scores) {
    std::string line = fmt::format("| {} |", op);
    for (const std::string& type : floats) {
      const auto at = scores.find(type);
      line += fmt::format(" {} |", at == scores.end() ? "" : cell(at->second));
    }
    fmt::print("{} {} |\n", line, summary(scores, others));
  }
  fmt::print("\n");
}

void print_json(const Contestant& contestant) {
  for (const auto& [op, scores] : contestant.scores)
    for (const auto& [type, score] : scores) {
      nlohmann::ordered_json row{{"backend", contestant.capabilities.name},
                                 {"version", contestant.capabilities.version},
                                 {"profile", contestant.profile.name},
                                 {"op", op},
                                 {"dtype", type},
                                 {"ulp", score.ulp}};
      for (const auto& [key, member] : kCounts) row[key] = score.*member;
      if (!score.unsupported.empty()) row["unsupported"] = score.unsupported;
      if (!score.example.empty()) row["example"] = score.example;
      fmt::print("{}\n", ascii_json_line(row));
    }
}

void print(const Contestant& contestant) {
  const foreign::Capabilities& c = contestant.capabilities;
  fmt::print("## {}{}\n\nProfile {}.\n\n", visible(c.name, kMostName),
             c.version.empty() ? "" : ", " + visible(c.version, kMostName),
             contestant.profile.name);
  if (!has_played(contestant)) {
    fmt::print("It supports none of the kernels.\n\n");
    return;
  }
  print_table(contestant);
  bool first = true;
  for (const auto& [op, scores] : contestant.scores)
    for (const auto& [type, score] : scores) {
      if (score.example.empty()) continue;
      if (std::exchange(first, false)) fmt::print("The first of each:\n\n```\n");
      fmt::print("{}\n", visible(score.example));
    }
  if (!first) fmt::print("```\n\n");
}

using LeagueJson = nlohmann::ordered_json;

/// The results of each backend on each kernel, as lines of a file.
class LeagueLog {
 public:
  LeagueLog(const LeagueOptions& options, std::span<const Contestant> contestants,
            const std::unique_ptr<DataOutput>& data) {
    if (options.log.empty()) return;
    LeagueJson run{{"touchstone_league", TOUCHSTONE_VERSION}, {"backends", LeagueJson::array()}};
    for (const Contestant& c : contestants)
      run["backends"].push_back({{"name", c.capabilities.name},
                                 {"version", c.capabilities.version},
                                 {"profile", LeagueJson::parse(c.profile.to_json())}});
    run["suite"] = {{"ops", options.suite.ops},
                    {"dtypes", options.suite.dtypes},
                    {"elements", options.suite.elements},
                    {"seed", options.suite.seed}};
    const std::string first = ascii_json_line(run);
    log_ = data ? std::make_unique<LineLog>(data->fd(), options.log, first)
                : std::make_unique<LineLog>(options.log, first, options.resume);
    log_->read_json([&](const std::string& line) { take(LeagueJson::parse(line)); });
  }

  const Score* find(const std::string& name, const std::string& hash, std::size_t backend) const {
    const auto at = known_.find({name, hash, backend});
    return at == known_.end() ? nullptr : &at->second;
  }

  void add(const std::string& name, const std::string& hash, std::size_t backend,
           const Score& score) {
    if (!log_) return;
    LeagueJson line{{"case", name}, {"hash", hash}, {"backend", backend}};
    for (const auto& [key, member] : kCounts) line[key] = score.*member;
    line["ulp"] = score.ulp;
    line["unsupported"] = score.unsupported;
    line["example"] = score.example;
    log_->add(ascii_json_line(line));
  }

 private:
  void take(const LeagueJson& line) {
    Score score;
    for (const auto& [key, member] : kCounts)
      score.*member = line.value(key, std::int64_t{0});  // older logs may lack one
    score.ulp = line.at("ulp").get<std::uint64_t>();
    score.unsupported = line.at("unsupported").get<std::string>();
    score.example = line.at("example").get<std::string>();
    known_.insert_or_assign({line.at("case").get<std::string>(), line.at("hash").get<std::string>(),
                             line.at("backend").get<std::size_t>()},
                            std::move(score));
  }

  std::unique_ptr<LineLog> log_;
  std::map<std::tuple<std::string, std::string, std::size_t>, Score> known_;
};

struct Players {
  std::vector<std::unique_ptr<foreign::BackendProcess>> backends;
  std::vector<Contestant> contestants;
};

Players start_players(const LeagueOptions& options) {
  std::vector<BackendOptions> all;
  for (const std::string& command : options.commands) {
    all.push_back(options.limits);
    all.back().command = command;
  }
  for (const std::string& plugin : options.plugins) {
    all.push_back(options.limits);
    all.back().plugin = plugin;
  }
  if (all.empty()) throw ParseError("no backends given: name them with --backend or --plugin");
  Players players;
  for (const BackendOptions& one : all) {
    players.backends.push_back(start_backend(one));
    const foreign::Capabilities& c = players.backends.back()->capabilities();
    players.contestants.push_back({c, declared_profile(c.profile), {}});
  }
  return players;
}

// The score of each backend on one kernel; runs those missing in the log.
std::vector<Score> play_all(const Players& players, const fuzz::SuiteCase& c, LeagueLog& log) {
  const KernelFile kernel = kernel_file(c.run.kernel);
  const std::string hash = kernel_hash(kernel);
  std::optional<HostArray> right;
  std::vector<Score> scores;
  for (std::size_t k = 0; k < players.backends.size(); ++k) {
    if (const Score* const known = log.find(c.name, hash, k); known != nullptr) {
      scores.push_back(*known);
      continue;
    }
    if (!right) right = fuzz::answer_of(c.run, Device::get("CPU"));
    scores.push_back(play(*players.backends[k], c, kernel, *right, players.contestants[k].profile));
    if (OrderlyEnd::wanted()) throw Interrupted();  // an interrupted run has no score
    log.add(c.name, hash, k, scores.back());
  }
  return scores;
}

// On standard error, because standard output has the tables.
void print_line(const fuzz::SuiteCase& c, const Players& players, std::span<const Score> scores) {
  std::vector<std::string> parts;
  for (std::size_t k = 0; k < scores.size(); ++k)
    parts.push_back(fmt::format("{}: {}",
                                visible(players.contestants[k].capabilities.name, kMostName),
                                scores[k].kernels == 0 ? "unsupported" : cell(scores[k])));
  fmt::print(stderr, "{}  {}\n", c.name, fmt::join(parts, "; "));
}

}  // namespace

int run_league(const LeagueOptions& options) {
  require_log_file(options.resume, options.log);
  const std::unique_ptr<DataOutput> data = log_output(options.log, options.json);
  Players players = start_players(options);
  std::vector<Contestant>& contestants = players.contestants;
  LeagueLog log(options, contestants, data);
  SuiteWords words = options.suite;
  words.suite = "ops";
  const std::vector<fuzz::SuiteCase> cases = draw_suite(words);
  std::size_t done = 0;
  Progress progress("playing", static_cast<std::int64_t>(cases.size()));
  OrderlyEnd end([&] {
    progress.hide();
    for (const Contestant& contestant : contestants)
      options.json ? print_json(contestant) : print(contestant);
    if (done < cases.size())
      fmt::print(
          options.json ? stderr : stdout, "Ended after {} of {}{}.\n", done,
          counted(cases.size(), "kernel"),
          options.log.empty() || options.log == "-" ? "" : "; `--resume` continues from the log");
  });
  for (const fuzz::SuiteCase& c : cases) {
    progress.update(static_cast<std::int64_t>(done), c.name);
    std::vector<Score> scores;
    try {
      scores = play_all(players, c, log);
    } catch (const Interrupted&) {
      break;
    }
    const auto [op, type] = place_of(c);
    end.change([&] {
      for (std::size_t k = 0; k < scores.size(); ++k)
        add(contestants[k].scores[op][type], scores[k]);
      ++done;
    });
    progress.hide();
    if (!options.quiet) print_line(c, players, scores);
  }
  end.leave();
  for (const auto& backend : players.backends) print_starts(*backend, stderr);
  if (std::ranges::any_of(contestants, has_played)) return kExitOk;
  fmt::print(stderr, "nothing was checked: no backend supports any of the {}\n",
             counted(cases.size(), "kernel"));
  return kExitNothing;
}

}  // namespace touchstone::cli
