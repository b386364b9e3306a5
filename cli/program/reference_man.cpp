#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "touchstone/cli/program/reference.h"

namespace touchstone::cli {
namespace {

// Escapes running text, so that no line starts a troff request.
std::string troff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (c == '\'')
      out += "\\(aq";
    else if (c == '`')
      out += "\\(ga";
    else if (c == '^')
      out += "\\(ha";
    else if (c == '~')
      out += "\\(ti";
    else
      out += c;
  }
  return out;
}

std::string title(const std::string& name) {
  std::string upper = name;
  std::ranges::transform(upper, upper.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return fmt::format(".TH {} 1 \"\" \"touchstone {}\" \"User Commands\"\n", troff(upper),
                     TOUCHSTONE_VERSION);
}

std::string section(const char* name, const std::string& body) {
  return body.empty() ? "" : fmt::format(".SH {}\n{}", name, body);
}

std::string synopsis_of(const OptionWords& positional) {
  std::string text =
      fmt::format("\\fI{}\\fR{}", troff(positional.name), positional.repeated ? "..." : "");
  return positional.required ? text : "[" + text + "]";
}

std::string listed(const OptionWords& option) {
  std::vector<std::string> heads;
  for (const std::string& flag : option.flags)
    heads.push_back(fmt::format("\\fB{}\\fR", troff(flag)));
  if (option.flags.empty()) heads.push_back(fmt::format("\\fI{}\\fR", troff(option.name)));
  std::string head = fmt::format("{}", fmt::join(heads, ", "));
  if (!option.flags.empty() && !option.value.empty())
    head += fmt::format(" \\fI{}\\fR{}", troff(option.value), option.repeated ? "..." : "");
  std::string text = troff(option.text);
  if (!option.choices.empty())
    text +=
        fmt::format("\n.br\nOne of {}.", troff(fmt::format("{}", fmt::join(option.choices, ", "))));
  if (!option.preset.empty()) text += fmt::format("\n.br\nDefault: {}.", troff(option.preset));
  return fmt::format(".TP\n{}\n{}\n", head, text);
}

std::string options_of(const VerbWords& verb) {
  std::string text;
  for (const bool flags : {false, true})
    for (const OptionWords& option : verb.options)
      if (option.flags.empty() != flags) text += listed(option);
  return text;
}

// A footer's lines: those from "Example: " to the next heading, and the others.
struct Footer {
  std::string examples, notes;
};

Footer footer_of(const std::string& text) {
  constexpr std::string_view kExample = "Example: ";
  Footer footer;
  bool example = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.starts_with(kExample))
      line.erase(0, kExample.size()), example = true;
    else if (!line.starts_with(' '))
      example = false;
    line.erase(0, std::min(line.find_first_not_of(' '), line.size()));
    if (line.empty()) continue;
    (example ? footer.examples : footer.notes) +=
        example ? fmt::format(".PP\n.EX\n{}\n.EE\n", troff(line))
                : fmt::format(".PP\n{}\n", troff(line));
  }
  return footer;
}

}  // namespace

std::string manual(const CommandWords& words) {
  std::string verbs;
  for (const VerbWords& verb : words.verbs)
    verbs +=
        fmt::format(".TP\n\\fBtouchstone\\-{}\\fR(1)\n{}\n", troff(verb.name), troff(verb.text));
  const Footer footer = footer_of(words.command.footer);
  return title("touchstone") +
         section("NAME", "touchstone \\- judge, simplify, prove and fuzz for tensor backends\n") +
         section("SYNOPSIS",
                 "\\fBtouchstone\\fR [\\fIoption\\fR...] \\fIverb\\fR [\\fIargument\\fR...]\n") +
         section("DESCRIPTION", troff(words.command.text) + ".\n") + section("VERBS", verbs) +
         section("OPTIONS", options_of(words.command)) + section("EXAMPLES", footer.examples) +
         section("NOTES", footer.notes);
}

std::string manual(const VerbWords& verb) {
  std::string usage = fmt::format("\\fBtouchstone {}\\fR [\\fIoption\\fR...]", troff(verb.name));
  for (const OptionWords& option : verb.options)
    if (option.flags.empty()) usage += " " + synopsis_of(option);
  const std::string brief = verb.text.substr(0, verb.text.find_first_of(":\n"));
  const Footer footer = footer_of(verb.footer);
  return title("touchstone-" + verb.name) +
         section("NAME", fmt::format("touchstone\\-{} \\- {}\n", troff(verb.name), troff(brief))) +
         section("SYNOPSIS", usage + "\n") + section("DESCRIPTION", troff(verb.text) + ".\n") +
         section("OPTIONS", options_of(verb)) + section("EXAMPLES", footer.examples) +
         section("NOTES", footer.notes) + section("SEE ALSO", "\\fBtouchstone\\fR(1)\n");
}

}  // namespace touchstone::cli
