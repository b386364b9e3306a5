#include "touchstone/fuzz/draw/draw_call.h"

#include "touchstone/base/error.h"
#include "touchstone/fuzz/cases/program.h"
#include "touchstone/fuzz/definitions/calls.h"

namespace touchstone::fuzz {
namespace {

void draw_pair(Drawing& d) {
  const bool comparison = d.call.name.find_first_of("<>=") != std::string::npos;
  if (d.chance(1, 4) && (d.call.name != "pow" || is_float(d.dtype))) {
    const bool bits =
        d.call.name.find_first_of("^&") != std::string::npos || d.call.name == "bit_or";
    d.call.set("number", bits ? fmt::format("{}", d.between(0, 7)) : d.number());
    if (!comparison && d.call.name != "maximum" && d.call.name != "minimum" &&
        d.call.name != "mod" && d.call.name != "operator&" && d.call.name != "bit_or" &&
        d.chance(1, 2))
      d.call.set("side", "left");
    d.input(d.shape());
    return;
  }
  const CallSizes whole = d.shape();
  d.input(d.part_of(whole));
  if (d.chance(1, 4)) d.any_type();
  d.input(d.part_of(whole));
}
void draw_bits(Drawing& d) {
  if (is_float(d.dtype)) d.dtype = DType::Int16;
  draw_pair(d);
  for (CallInput& x : d.call.inputs)
    if (is_float(x.dtype)) x = d.call.inputs[0];
}
void draw_update(Drawing& d) {
  const CallSizes whole = d.shape();
  if (is_bool(d.dtype)) d.dtype = DType::Int32;
  d.input(whole);
  if (d.chance(1, 3))
    d.call.set("number", fmt::format("{}", d.between(1, 7)));
  else
    d.input(d.part_of(whole));
}
void draw_where(Drawing& d) {
  const CallSizes whole = d.shape();
  const DType dtype = d.chance(1, 5) ? d.dtype : DType::Bool;
  d.input(d.part_of(whole), dtype);
  for (const char* arm : {"a", "b"})
    if (d.chance(1, 4))
      d.call.set(arm, d.number());
    else
      d.input(d.part_of(whole));
}
void draw_clamp(Drawing& d) {
  const bool whole = !is_float(d.dtype);
  d.call.set("low", whole ? fmt::format("{}", d.between(0, 3)) : "-1.25");
  d.call.set("high", whole ? fmt::format("{}", d.between(2, 6)) : "1.5");
  d.input(d.shape());
}
void draw_power(Drawing& d) {
  if (d.call.name == "pow_real") {
    d.call.set("exponent", d.chance(1, 2) ? "0.5" : d.chance(1, 2) ? "-1.5" : "2.25");
  } else {
    d.set("exponent", d.between(is_float(d.dtype) && d.chance(1, 3) ? -4 : 0, 5));
    if (d.chance(1, 4)) d.call.set("real", "1");
  }
  d.input(d.shape());
}
void draw_matmul(Drawing& d) {
  CallSizes a = d.shape(1, 4), b = a;
  const std::int64_t k = a.back();
  if (a.size() > 1) {
    b = d.part_of(CallSizes(a.begin(), a.end() - 2));
    b.push_back(k);
    b.push_back(d.between(1, 3));
    if (d.chance(1, 5)) b = {k};
  } else if (d.chance(1, 2)) {
    b = {k, d.between(0, 3)};
  }
  d.input(a);
  d.input(b);
}
void draw_einsum(Drawing& d) {
  struct Known {
    const char* notation;
    int operands;
  };
  static const std::vector<Known> kKnown = {
      {"ij,jk->ik", 2},       {"ij->ji", 1},      {"ii->i", 1},        {"ii", 1},
      {"ij,ij->", 2},         {"i,j->ij", 2},     {"bij,bjk->bik", 2}, {"...i->...", 1},
      {"...ij,jk->...ik", 2}, {"ij,jk,k->i", 3},  {"ji", 1},           {"ij,jk", 2},
      {"iji->j", 1},          {"...,...->...", 2}};
  const Known& known = d.chooser.pick(kKnown);
  d.call.set("notation", known.notation);
  CallSizes of(26);
  for (std::int64_t& size : of) size = d.between(1, 3);
  std::string_view text = known.notation;
  text = text.substr(0, text.find("->"));
  const CallSizes lead = d.shape(0, 2);
  while (!text.empty()) {
    const std::string_view letters = text.substr(0, text.find(','));
    text.remove_prefix(std::min(letters.size() + 1, text.size()));
    CallSizes shape;
    if (letters.starts_with("...")) shape = d.part_of(lead);
    for (const char c : letters)
      if (c != '.') shape.push_back(of[static_cast<std::size_t>(c - 'a')]);
    d.input(shape);
  }
}

constexpr DrawnCall kDrawn[] = {
    {"operator+ operator- operator* operator/ operator< operator<= operator> operator>= "
     "operator== operator!= maximum minimum mod floor_div remainder pow",
     draw_pair},
    {"operator^ operator& bit_or", draw_bits},
    {"operator+= operator-= operator*= operator/=", draw_update},
    {"where", draw_where},
    {"clamp", draw_clamp},
    {"pow_int pow_real", draw_power},
    {"matmul", draw_matmul},
    {"einsum", draw_einsum},
};

// Each function by itself.
const std::vector<DrawnCall>& all_drawn() {
  static const std::vector<DrawnCall> all = [] {
    std::vector<DrawnCall> rows;
    for (const auto& table : {std::span<const DrawnCall>(kDrawn), drawn_movements(), drawn_layers(),
                              drawn_signatures()})
      for (const DrawnCall& row : table)
        for (const std::string_view name : split(row.names, ' '))
          rows.push_back({name, row.draw, row.floats});
    return rows;
  }();
  return all;
}

}  // namespace

std::vector<std::string> drawn_calls() {
  std::vector<std::string> names;
  for (const DrawnCall& row : all_drawn()) names.emplace_back(row.names);
  return names;
}

Call drawn(Chooser& chooser, std::string_view otherwise,
           const std::function<void(Drawing& d)>& draw) {
  static const std::vector<Numbers> kNumbers = {Numbers::Plain, Numbers::Fine, Numbers::Fine,
                                                Numbers::Ties, Numbers::Edges};
  for (int tries = 0; tries < 8; ++tries) {
    Drawing d{chooser};
    d.numbers = chooser.pick(kNumbers);
    draw(d);
    try {
      (void)defined::define(d.call, defined::inputs_of(d.call));
      return d.call;
    } catch (const ParseError&) {
      continue;  // e.g. an empty axis where none is allowed
    }
  }
  return Call::parse(otherwise);
}

Call draw_call(Chooser& chooser) {
  const DrawnCall& row = all_drawn()[chooser.below(all_drawn().size())];
  return drawn(chooser, "call neg | float64 (): 1", [&](Drawing& d) {
    d.call.name = row.names;
    d.any_type(row.floats);
    row.draw(d);
  });
}

}  // namespace touchstone::fuzz
