#include "touchstone/judging/judging.h"

#include <set>

#include <nlohmann/json.hpp>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/base/json_fault.h"
#include "touchstone/interp/oracle/declared_profile.h"

namespace touchstone {
namespace {

constexpr int kJudgingVersion = 1;
using JudgingJson = nlohmann::ordered_json;

void collect_inputs(const define::ArrayNode& node, const std::vector<std::string>& names,
                    std::vector<Judging::Input>& inputs, std::set<const define::ArrayNode*>& seen) {
  if (!seen.insert(&node).second) return;
  if (const auto i = static_cast<std::size_t>(node.buffer) - 1; node.op == Op::Load)
    inputs.at(i) = {names.at(i), node.dtype, node.shape};
  for (const auto& s : node.src) collect_inputs(*s, names, inputs, seen);
}

}  // namespace

std::string ChosenProfile::str() const { return fmt::format("under {} ({})", profile.name, from); }

std::string ChosenProfile::str(const Verdict& verdict) const {
  const bool of_elements = verdict.outcome == Outcome::Fail && verdict.checked > 0;
  if (!of_elements) return verdict.str();
  return fmt::format("{} {}{}{}", verdict.str(), str(), verdict.cause.empty() ? "" : "; ",
                     verdict.cause);
}

Judging Judging::of(std::string definition, bool is_loose) {
  Judging made;
  made.definition = std::move(definition);
  made.profile = Profile::named(define::usual_profile(is_loose));
  if (is_loose) made.from = "the formula names library functions";
  return made;
}

Judging Judging::under(const std::optional<ChosenProfile>& chosen) const {
  Judging out = *this;
  if (chosen) static_cast<ChosenProfile&>(out) = *chosen;
  for (const std::string& form : out.profile.forms) define::require_form(form);
  return out;
}

KernelToJudge formula_to_judge(std::string_view text, std::span<const define::InputShape> shapes) {
  const define::Formula formula = define::parse(text, shapes);
  KernelToJudge made{kernel_file(formula.kernel()),
                     Judging::of(std::string(text), formula.is_loose)};
  made.judging.inputs.resize(formula.inputs.size());
  std::set<const define::ArrayNode*> seen;
  collect_inputs(*formula.value.node(), formula.inputs, made.judging.inputs, seen);
  return made;
}

Profile own_profile(std::string_view json) {
  Profile profile = Profile::from_json(json);
  if (is_builtin_name(profile.name) && profile != Profile::named(profile.name))
    throw ParseError(
        fmt::format("profile: '{}' is the name of a built-in profile; give this one another name",
                    profile.name));
  return profile;
}

std::string judging_json(const KernelToJudge& kernel) {
  const Judging& j = kernel.judging;
  JudgingJson inputs = JudgingJson::array();
  for (const Judging::Input& input : j.inputs)
    inputs.push_back({{"name", input.name}, {"dtype", name(input.dtype)}, {"shape", input.shape}});
  const JudgingJson profile = is_builtin_name(j.profile.name)
                                  ? JudgingJson(j.profile.name)
                                  : JudgingJson::parse(j.profile.to_json());
  const JudgingJson out{{"touchstone_judging", kJudgingVersion},
                        {"kernel", kernel_hash(kernel)},
                        {"definition", j.definition},
                        {"inputs", inputs},
                        {"profile", profile},
                        {"profile_from", j.from}};
  return out.dump(1, ' ', true, JudgingJson::error_handler_t::replace) + "\n";
}

Judging judging_from_json(std::string_view text, const KernelFile& kernel,
                          std::string_view folder) {
  Judging read;
  try {
    require_shallow_json(text);
    const auto json = JudgingJson::parse(text);
    if (const auto& version = json.at("touchstone_judging"); version != kJudgingVersion)
      throw ParseError(fmt::format("has version {}, but this program reads version {}",
                                   version.dump(), kJudgingVersion));
    if (json.at("kernel") != kernel_hash(kernel)) return {};
    read.definition = json.at("definition").get<std::string>();
    for (const auto& input : json.at("inputs"))
      read.inputs.push_back({input.at("name").get<std::string>(),
                             parse_dtype(input.at("dtype").get<std::string>()),
                             input.at("shape").get<define::Sizes>()});
    const auto& profile = json.at("profile");
    read.profile = profile.is_string() ? Profile::named(profile.get<std::string>())
                                       : own_profile(profile.dump());
    if (json.at("profile_from") != read.from) read.from = fmt::format("stored in {}", folder);
  } catch (const JudgingJson::exception& e) {
    throw ParseError(fmt::format("judging.json: {}", json_fault(e.what())));
  } catch (const Error& e) {
    throw ParseError(fmt::format("judging.json: {}", e.what()));
  }
  return read;
}

KernelToJudge kernel_to_judge(KernelFile kernel, const std::filesystem::path& path) {
  KernelToJudge made{std::move(kernel), {}};
  const std::filesystem::path folder = path.parent_path(), file = folder / "judging.json";
  if (std::error_code error; std::filesystem::exists(file, error))
    made.judging = judging_from_json(read_file(file, kMostProfileText), made,
                                     folder.empty() ? "." : folder.string());
  return made;
}

}  // namespace touchstone
