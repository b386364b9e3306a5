// StableHLO's operations, and CHLO's.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include <fmt/ranges.h>

#include "touchstone/base/error.h"
#include "touchstone/model/stablehlo.h"
#include "touchstone/model/step.h"

namespace touchstone::model {
namespace {

// The attributes of an operation, which stand in its text.
class Hlo {
 public:
  /// Throws ParseError where an operand is not of the type that the operation declares.
  explicit Hlo(Step& step) : s(step), text_(step.text("text", "")) {
    const auto it = s.op.attributes.find("operand_types");
    const auto* types =
        it == s.op.attributes.end() ? nullptr : std::get_if<std::vector<std::string>>(&it->second);
    for (std::size_t i = 0; types != nullptr && i < types->size() && i < s.x.size(); ++i) {
      const TensorType type = tensor_type((*types)[i]);
      Sizes shape = type.shape;
      if (type.is_complex) shape.push_back(2);
      bool fits =
          s.x[i] != nullptr && s.x[i]->dtype == type.dtype && shape.size() == s.shape(i).size();
      for (std::size_t k = 0; fits && k < shape.size(); ++k)
        fits = shape[k] < 0 || shape[k] == s.shape(i)[k];
      if (!fits && s.x[i] != nullptr)
        s.fail(fmt::format("operand {} is {} of {}, and its type is {}", i + 1, listed(s.shape(i)),
                           name(s.x[i]->dtype), (*types)[i]));
    }
  }
  Step& s;

  TensorType type(std::size_t i = 0) const { return type_at("types", i); }
  TensorType operand_type(std::size_t i) const { return type_at("operand_types", i); }
  bool is_complex() const { return operand_type(0).is_complex; }
  /// "key = [1, 2]", "array<i64: 1, 2>" or "dense<[[1, 2]]>": all numbers in it.
  Sizes list(std::string_view key, Sizes fallback = {}) const {
    const std::string value = value_of(key);
    if (value.empty()) return fallback;
    std::string_view inside = value;
    if (const std::size_t colon = inside.find(':');
        inside.starts_with("array<") && colon != std::string_view::npos)
      inside.remove_prefix(colon);
    if (const std::size_t type = inside.find("> :"); type != std::string_view::npos)
      inside = inside.substr(0, type);
    Sizes out;
    for (std::size_t i = 0; i < inside.size();) {
      const std::size_t begin = i;
      while (i < inside.size() && (std::isdigit(static_cast<unsigned char>(inside[i])) != 0 ||
                                   (inside[i] == '-' && i == begin)))
        ++i;
      const std::string digits(inside.substr(begin, i - begin));
      if (i > begin && digits != "-" && digits.size() < 19) out.push_back(std::stoll(digits));
      if (i == begin) ++i;
    }
    if (value.starts_with("dense<") && out.size() == 1 && fallback.size() > 1)
      out.assign(fallback.size(), out[0]);
    return out;
  }
  std::int64_t whole(std::string_view key, std::int64_t fallback) const {
    const Sizes all = list(key);
    return all.empty() ? fallback : all[0];
  }
  bool says(std::string_view word) const { return text_.find(word) != std::string::npos; }
  const std::string& text() const { return text_; }
  /// The operation that a region applies: "add" where it is one of its two arguments; "set" where
  /// it returns the second; empty: another.
  std::string applied(std::size_t region = 0) const {
    if (const std::size_t at = text_.find("applies stablehlo."); at != std::string::npos) {
      const std::size_t begin = at + 18,
                        end = text_.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", begin);
      return text_.substr(begin, end - begin);
    }
    const Graph* g = graph(region);
    if (g == nullptr || g->outputs.size() != 1 || g->inputs.size() != 2) return "";
    if (g->operations.empty()) return g->outputs[0] == g->inputs[1].name ? "set" : "";
    const Operation& op = g->operations[0];
    std::vector<std::string> in = op.inputs;
    std::ranges::sort(in);
    std::vector<std::string> wanted{g->inputs[0].name, g->inputs[1].name};
    std::ranges::sort(wanted);
    if (g->operations.size() != 1 || in != wanted || op.outputs != g->outputs) return "";
    return op.kind.substr(op.kind.find('.') + 1);
  }
  const Graph* graph(std::size_t region) const {
    const auto it = s.op.attributes.find(fmt::format("region{}", region));
    if (it == s.op.attributes.end()) return nullptr;
    const auto* g = std::get_if<std::shared_ptr<const Graph>>(&it->second);
    return g == nullptr ? nullptr : g->get();
  }

 private:
  TensorType type_at(std::string_view key, std::size_t i) const {
    const auto it = s.op.attributes.find(key);
    const auto* types =
        it == s.op.attributes.end() ? nullptr : std::get_if<std::vector<std::string>>(&it->second);
    if (types == nullptr || i >= types->size()) s.fail("its types are missing");
    return tensor_type((*types)[i]);
  }
  std::string value_of(std::string_view key) const {
    for (std::size_t at = text_.find(key); at != std::string::npos; at = text_.find(key, at + 1)) {
      if (at > 0 &&
          (std::isalnum(static_cast<unsigned char>(text_[at - 1])) != 0 || text_[at - 1] == '_'))
        continue;
      std::size_t i = text_.find_first_not_of(' ', at + key.size());
      if (i == std::string::npos || text_[i] != '=') continue;
      i = text_.find_first_not_of(' ', i + 1);
      if (i == std::string::npos) return "";
      std::size_t end = i;
      int depth = 0;
      for (; end < text_.size(); ++end) {
        const char c = text_[end];
        if (c == '[' || c == '<' || c == '(' || c == '{') ++depth;
        if (c == ']' || c == '>' || c == ')' || c == '}') --depth;
        if (depth < 0 || (depth == 0 && c == ',')) break;
        if (depth == 0 && (c == ']' || c == '>') && !text_.substr(end + 1).starts_with(" :")) {
          ++end;
          break;
        }
      }
      return text_.substr(i, end - i);
    }
    return "";
  }
  std::string text_;
};

// Row of one formula.
using Make = std::string (*)(Hlo&);
Row row(Make make) {
  return [make](Step& s) {
    Hlo h(s);
    return Texts{"", {make(h)}};
  };
}

// With the axis of complex parts.
Sizes with_parts(const Hlo& h, Sizes list, std::int64_t last) {
  if (h.is_complex()) list.push_back(last);
  return list;
}

std::string on_parts(const Hlo& h, std::string_view pair, std::string_view real) {
  return fmt::format(fmt::runtime(h.is_complex() ? pair : real), fmt::arg("a", h.s.name(0)),
                     fmt::arg("b", h.s.x.size() > 1 ? h.s.name(1) : ""));
}

template <char Sign>
std::string arithmetic(Hlo& h) {
  const bool is_bool = h.s.operand(0).dtype == DType::Bool;
  if (is_bool)
    return fmt::format("bit_{}({}, {})", Sign == '*' ? "and" : "or", h.s.name(0), h.s.name(1));
  if (h.is_complex() && Sign == '*')
    return fmt::format("complex_mul({}, {})", h.s.name(0), h.s.name(1));
  if (h.is_complex() && Sign == '/')  // a conj(b) / |b|^2
    return fmt::format(
        "complex_mul({0}, {1} * {2}) / sum({1} * {1}, axis=-1, keep=1)", h.s.name(0), h.s.name(1),
        h.s.constant(array_of(std::vector<double>{1, -1}, {2}, h.s.operand(0).dtype)));
  return fmt::format("{} {} {}", h.s.name(0), Sign, h.s.name(1));
}
std::string extremum(Hlo& h, const char* name, const char* of_bools) {
  if (h.is_complex()) return "";
  return fmt::format("{}({}, {})", h.s.operand(0).dtype == DType::Bool ? of_bools : name,
                     h.s.name(0), h.s.name(1));
}

std::string one_part(Hlo& h, int at) {
  if (!h.is_complex())
    return at == 0 ? h.s.name(0)
                   : fmt::format(
                         "expand({}, shape={})",
                         h.s.constant(array_of(std::vector<double>{0}, Sizes(h.s.shape().size(), 1),
                                               h.s.operand(0).dtype)),
                         listed(h.s.shape()));
  const Sizes shape = h.s.shape();
  Sizes begin(shape.size(), 0), end = shape;
  begin.back() = at, end.back() = at + 1;
  return reshaped(sliced(h.s.name(0), begin, end), Sizes(shape.begin(), shape.end() - 1));
}
std::string complex(Hlo& h) {
  Sizes shape = h.s.shape();
  shape.push_back(1);
  return fmt::format("concat({}, {}, axis=-1)", reshaped(h.s.name(0), shape),
                     reshaped(h.s.name(1), shape));
}

std::string compare(Hlo& h) {
  struct Sign {
    std::string_view word, sign;
  };
  constexpr Sign kSigns[] = {{"EQ", "=="}, {"NE", "!="}, {"GE", ">="},
                             {"GT", ">"},  {"LE", "<="}, {"LT", "<"}};
  if (h.says("TOTALORDER")) return "";
  const std::size_t generic = h.text().find("comparison_direction ");
  const std::string_view from =
      std::string_view(h.text()).substr(generic == std::string::npos ? 0 : generic + 21);
  const std::string_view word = from.substr(std::min(from.find_first_of("EGLN"), from.size()), 2);
  for (const Sign& sign : kSigns) {
    if (word != sign.word) continue;
    const bool is_bool = h.s.operand(0).dtype == DType::Bool;
    const auto operand = [&](std::size_t i) {
      return is_bool ? fmt::format("cast({}, u8)", h.s.name(i)) : h.s.name(i);
    };
    if (!h.is_complex()) return fmt::format("{} {} {}", operand(0), sign.sign, operand(1));
    const std::string same = fmt::format("({} == {})", h.s.name(0), h.s.name(1));
    if (sign.word == "EQ") return fmt::format("min(cast({}, u8), axis=-1) == 1", same);
    return sign.word == "NE" ? fmt::format("min(cast({}, u8), axis=-1) == 0", same) : "";
  }
  return "";
}

std::string convert(Hlo& h) {
  const TensorType to = h.type();
  const std::string word(info(to.dtype).short_name), x = h.s.name(0);
  if (h.is_complex() && !to.is_complex) return fmt::format("cast({}, {})", one_part(h, 0), word);
  if (!h.is_complex() && to.is_complex) {
    Sizes shape = h.s.shape();
    shape.push_back(1);
    return fmt::format("pad(cast({}, {}), after=[1], before=[0])", reshaped(x, shape), word);
  }
  if (to.dtype == DType::Bool) return fmt::format("{} != 0", x);
  return fmt::format("cast({}, {})", x, word);
}

std::string broadcast_in_dim(Hlo& h) {
  const Sizes dims = h.list("dims", h.list("broadcast_dimensions")), in = h.operand_type(0).shape;
  Sizes out = h.type().shape, order = counted(0, static_cast<int>(dims.size())),
        ones(out.size(), 1);
  std::ranges::sort(order, {}, [&](std::int64_t i) { return dims.at(at(i)); });
  for (std::size_t i = 0; i < dims.size(); ++i) ones.at(at(dims[i])) = in.at(i);
  const std::string x =
      order.size() > 1
          ? permuted(h.s.name(0), with_parts(h, order, static_cast<std::int64_t>(order.size())))
          : h.s.name(0);
  return fmt::format("expand({}, shape={})", reshaped(x, with_parts(h, ones, 2)),
                     listed(with_parts(h, out, 2)));
}

std::string iota(Hlo& h) {
  const TensorType type = h.type();
  const auto dim = at(h.whole("dim", h.whole("iota_dimension", 0)));
  Sizes ones(type.shape.size(), 1);
  ones.at(dim) = type.shape.at(dim);
  const std::string word(info(type.dtype).short_name);
  const std::string line =
      reshaped(fmt::format("cast(arange(size={}, dtype=i64), {})", type.shape[dim], word), ones);
  return type.is_complex ? "" : fmt::format("expand({}, shape={})", line, listed(type.shape));
}

std::string slice(Hlo& h) {
  Sizes begin, end, step;
  if (h.says("start_indices")) {
    begin = h.list("start_indices"), end = h.list("limit_indices"),
    step = h.list("strides", Sizes(begin.size(), 1));
  } else {  // [0:2, 1:8:2]
    std::string part;
    const std::string& text = h.text();
    for (std::size_t i = text.find('[') + 1; i <= text.size() && i > 0; ++i) {
      const char c = i < text.size() ? text[i] : ']';
      if (c != ',' && c != ']') {
        part += c;
        continue;
      }
      Sizes numbers;
      for (std::size_t k = 0, next = 0; k < part.size(); k = next + 1) {
        next = std::min(part.find(':', k), part.size());
        const std::size_t first = part.find_first_of("0123456789-", k);
        std::int64_t number = 0;
        if (first < next &&
            std::from_chars(part.data() + first, part.data() + next, number).ec == std::errc())
          numbers.push_back(number);
      }
      if (numbers.size() >= 2)
        begin.push_back(numbers[0]), end.push_back(numbers[1]),
            step.push_back(numbers.size() > 2 ? numbers[2] : 1);
      part.clear();
      if (c == ']') break;
    }
  }
  if (h.is_complex()) begin.push_back(0), end.push_back(2), step.push_back(1);
  return fmt::format("stride({}, steps={})", sliced(h.s.name(0), begin, end), listed(step));
}

std::string concatenate(Hlo& h) {
  const auto names = h.s.given();
  return joined(names, h.whole("dim", h.whole("dimension", 0)));
}

std::string pad(Hlo& h) {
  Sizes low = h.list("low", h.list("edge_padding_low")),
        high = h.list("high", h.list("edge_padding_high")),
        between = h.list("interior", h.list("interior_padding")), shape = h.operand_type(0).shape;
  std::string value = "0";
  if (!h.is_complex())
    value = reshaped(h.s.name(1), {});
  else if (h.s.reals(1) != std::vector<double>{0, 0})
    return "";
  if (h.is_complex()) {
    for (Sizes* list : {&low, &high, &between}) list->push_back(0);
    shape.push_back(2);
  }
  std::string x = h.s.name(0);
  if (low.size() != shape.size() || high.size() != shape.size() || between.size() != shape.size())
    h.s.fail("its padding does not fit the shape");
  const auto padded = [&](const std::string& of, const Sizes& before, const Sizes& after) {
    return fmt::format("pad({}, before={}, after={}, value={})", of, listed(before), listed(after),
                       value);
  };
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (between[axis] == 0 || shape[axis] == 0) continue;
    Sizes apart = shape, whole = shape, zero(shape.size() + 1, 0), after = zero,
          first(shape.size(), 0);
    apart.insert(apart.begin() + static_cast<std::ptrdiff_t>(axis) + 1, 1);
    after[axis + 1] = between[axis];
    whole[axis] *= between[axis] + 1;
    shape[axis] = whole[axis] - between[axis];
    x = sliced(reshaped(padded(reshaped(x, apart), zero, after), whole), first, shape);
  }
  Sizes begin(shape.size(), 0), end = shape;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (low[i] < 0) begin[i] = -low[i], low[i] = 0;
    if (high[i] < 0) end[i] += high[i], high[i] = 0;
    end[i] = std::max(end[i], begin[i]);
  }
  return padded(sliced(x, begin, end), low, high);
}

std::string dot_general(Hlo& h) {
  const auto pair = [&](std::string_view key, std::string_view left, std::string_view right) {
    // "contracting_dims = [1] x [0]", or lhs_contracting_dimensions = [1], ...
    const std::size_t at = h.text().find(key), cross = h.text().find("] x [", at);
    if (at == std::string::npos) return std::pair(h.list(left), h.list(right));
    const Sizes lhs = h.list(key);
    Sizes rhs;
    for (std::size_t i = cross + 5; i < h.text().size() && h.text()[i] != ']'; ++i)
      if (std::isdigit(static_cast<unsigned char>(h.text()[i])) != 0)
        rhs.push_back(h.text()[i] - '0');
    return std::pair(lhs, rhs);
  };
  const auto [lb, rb] = pair("batching_dims", "lhs_batching_dimensions", "rhs_batching_dimensions");
  const auto [lc, rc] =
      pair("contracting_dims", "lhs_contracting_dimensions", "rhs_contracting_dimensions");
  const TensorType out = h.type();
  const bool is_complex = h.is_complex() || h.operand_type(1).is_complex;
  // (batch, free, contracted) and (batch, contracted, free).
  const auto matrix = [&](std::size_t i, const Sizes& batch, const Sizes& contracted, bool left) {
    const Sizes shape = h.operand_type(i).shape;
    Sizes free;
    for (std::int64_t a = 0; a < static_cast<std::int64_t>(shape.size()); ++a)
      if (std::ranges::find(batch, a) == batch.end() &&
          std::ranges::find(contracted, a) == contracted.end())
        free.push_back(a);
    Sizes order = batch;
    for (const Sizes* part : {left ? &free : &contracted, left ? &contracted : &free})
      order.insert(order.end(), part->begin(), part->end());
    const auto count = [&](const Sizes& axes) {
      std::int64_t n = 1;
      for (const std::int64_t a : axes) n *= shape.at(at(a));
      return n;
    };
    Sizes to{count(batch), count(left ? free : contracted), count(left ? contracted : free)};
    std::string x = h.s.name(i);
    const bool pairs = h.operand_type(i).is_complex;
    if (is_complex && !pairs) {
      Sizes apart = shape;
      apart.push_back(1);
      x = fmt::format("pad(cast({}, {}), before=[0], after=[1])", reshaped(x, apart),
                      info(out.dtype).short_name);
    } else if (out.dtype != h.operand_type(i).dtype) {
      x = fmt::format("cast({}, {})", x, info(out.dtype).short_name);
    }
    if (is_complex) order.push_back(static_cast<std::int64_t>(order.size())), to.push_back(2);
    return reshaped(order.size() > 1 ? permuted(x, order) : x, to);
  };
  const std::string a = matrix(0, lb, lc, true), b = matrix(1, rb, rc, false);
  Sizes shape = out.shape;
  if (is_complex) shape.push_back(2);
  return reshaped(
      is_complex ? fmt::format("complex_matmul({}, {})", a, b) : fmt::format("({} @ {})", a, b),
      shape);
}

// The reduce of a region: a function with {x} and {axes}, and how an initial value joins in.
struct Reduction {
  std::string_view applied, over, with;
  double neutral;
};
constexpr Reduction kReductions[] = {{"add", "sum({}, axis={})", "{} + {}", 0},
                                     {"multiply", "prod({}, axis={})", "{} * {}", 1},
                                     {"maximum", "max({}, axis={})", "maximum({}, {})", -HUGE_VAL},
                                     {"minimum", "min({}, axis={})", "minimum({}, {})", HUGE_VAL}};

const Reduction* reduction_of(const Hlo& h, DType dtype) {
  std::string applied = h.applied();
  if (dtype == DType::Bool && (applied == "or" || applied == "add")) applied = "maximum";
  if (dtype == DType::Bool && (applied == "and" || applied == "multiply")) applied = "minimum";
  const auto* r = std::ranges::find(kReductions, applied, &Reduction::applied);
  return r == std::end(kReductions) ? nullptr : r;
}
// True if the value is what the reduction begins with.
bool is_neutral(const Step& s, std::size_t i, const Reduction& r) {
  const std::vector<double> v = s.reals(i);
  const DType dtype = s.operand(i).dtype;
  if (v.size() != 1) return false;
  if (v[0] == r.neutral) return !(r.neutral == 0 && std::signbit(v[0]));
  if (is_float(dtype) || std::isfinite(r.neutral)) return false;
  if (dtype == DType::Bool) return v[0] == (r.neutral > 0 ? 1 : 0);
  const double most = std::ldexp(1.0, info(dtype).digits);
  return r.neutral > 0 ? v[0] >= most - 1 : v[0] <= (is_unsigned(dtype) ? 0 : -most);
}
std::string reduced(const Hlo& h, const Reduction& r, const std::string& x, const Sizes& axes,
                    std::size_t initial, DType dtype) {
  const bool is_bool = dtype == DType::Bool;
  std::string text = axes.empty()
                         ? x
                         : fmt::format(fmt::runtime(r.over),
                                       is_bool ? fmt::format("cast({}, u8)", x) : x, listed(axes));
  const std::string word(info(dtype).short_name);
  text = is_bool ? fmt::format("({} != 0)", axes.empty() ? fmt::format("cast({}, u8)", x) : text)
         : is_float(dtype) ? text
                           : fmt::format("cast({}, {})", text, word);
  if (is_neutral(h.s, initial, r)) return text;
  if (is_bool)
    return fmt::format("bit_{}({}, {})", r.neutral > 0 ? "and" : "or", text, h.s.name(initial));
  return fmt::format(fmt::runtime(r.with), text, h.s.name(initial));
}

const std::string& text_of(const Operation& op) {
  return std::get<std::string>(op.attributes.at("text"));
}

// "min" or "max" where a reduce of (x, its places along the axis) gives the extremum and its first
// place, with NaN first, as JAX writes it; null: another reduce.
const char* first_extremum(const Step& s, const Graph& g, std::int64_t dim) {
  if (g.inputs.size() != 4 || g.outputs.size() != 2) return nullptr;
  const std::string &x = g.inputs[0].name, &i = g.inputs[1].name, &y = g.inputs[2].name,
                    &j = g.inputs[3].name;
  const char* word = nullptr;
  bool ties = false, selects = false, places = false;
  for (const Operation& op : g.operations) {
    const auto reads = [&](std::vector<std::string> names) { return op.inputs == names; };
    if (op.kind == "stablehlo.compare") {
      const std::string& text = text_of(op);
      const auto says = [&](const char* sign) { return text.find(sign) != std::string::npos; };
      if (reads({x, y}) && (says("LT") || says("GT")))
        word = says("LT") ? "min" : "max";
      else if (reads({i, j}) && says("LT"))
        ties = true;
      else if (!(reads({x, y}) && says("EQ")) && !(reads({x, x}) && says("NE")))
        return nullptr;
    } else if (op.kind == "stablehlo.select" && op.inputs.size() == 3) {
      if (op.outputs[0] == g.outputs[0] && op.inputs[1] == x && op.inputs[2] == y) selects = true;
      if (op.outputs[0] == g.outputs[1] && op.inputs[1] == i && op.inputs[2] == j) places = true;
    } else if (op.kind != "stablehlo.or" && op.kind != "stablehlo.and") {
      return nullptr;
    }
  }
  if (word == nullptr || !ties || !selects || !places || s.shape(0) != s.shape(1)) return nullptr;
  const Sizes index = s.ints(1);
  const std::int64_t inner = count_of(s.shape(), at(dim) + 1), length = s.shape().at(at(dim));
  for (std::size_t k = 0; k < index.size(); ++k)
    if (index[k] != static_cast<std::int64_t>(k) / inner % length) return nullptr;
  const bool is_min = *word == 'm' && word[1] == 'i';
  const Reduction& r = kReductions[is_min ? 3 : 2];
  return is_neutral(s, 2, r) ? word : nullptr;
}

Texts reduce(Step& s) {
  Hlo h(s);
  const Sizes dims = h.list("dimensions");
  Texts out{"", std::vector<std::string>(s.op.outputs.size())};
  if (s.op.outputs.size() == 2 && s.x.size() == 4 && h.graph(0) != nullptr && dims.size() == 1) {
    const char* word = first_extremum(s, *h.graph(0), dims[0]);
    if (word == nullptr) return out;
    out.outputs[0] = fmt::format("{}({}, axis={})", word, s.name(0), dims[0]);
    out.outputs[1] =
        fmt::format("cast(arg{}({}, axis={}), {})", word, s.name(0), dims[0], s.type(1));
    return out;
  }
  const Reduction* r = reduction_of(h, s.operand(0).dtype);
  if (r == nullptr || s.op.outputs.size() != 1) return out;
  if (h.is_complex()) {
    if (r->neutral != 0 || s.reals(1) != std::vector<double>{0, 0}) return out;
    out.outputs[0] = fmt::format("sum({}, axis={})", s.name(0), listed(dims));
    return out;
  }
  out.outputs[0] = reduced(h, *r, s.name(0), dims, 1, s.operand(0).dtype);
  return out;
}

// Floats narrower than float32 may be added up in their own type, as a region says.
std::string narrow_sums(const Step& s) {
  const DType dtype = s.operand(0).dtype;
  if (!is_float(dtype) || itemsize(dtype) > 2) return "";
  return fmt::format(R"({{"name": "sums in {0}", "base": "library", "accumulator": "{0}"}})",
                     name(dtype));
}
Row with_narrow_sums(Row row) {
  return [row](Step& s) {
    Texts out = row(s);
    out.otherwise = narrow_sums(s);
    return out;
  };
}

std::string reduce_window(Hlo& h) {
  const DType dtype = h.s.operand(0).dtype;
  const Reduction* r = reduction_of(h, dtype);
  const Sizes shape = h.operand_type(0).shape, ones(shape.size(), 1);
  Sizes size = h.list("window_dimensions"), stride = h.list("window_strides", ones),
        dilation = h.list("window_dilations", ones);
  const Sizes pads = h.list("padding", Sizes(2 * shape.size(), 0));
  Sizes before, after;
  if (r == nullptr || size.size() != shape.size() || pads.size() != 2 * shape.size() ||
      h.list("base_dilations", ones) != ones)
    return "";
  for (std::size_t i = 0; i < shape.size(); ++i)
    before.push_back(pads[2 * i]), after.push_back(pads[2 * i + 1]);
  std::string x = h.s.name(0), value = reshaped(h.s.name(1), {});
  const int rank = static_cast<int>(h.s.shape().size());
  if (h.is_complex()) {
    if (r->neutral != 0 || h.s.reals(1) != std::vector<double>{0, 0}) return "";
    for (Sizes* list : {&size, &stride, &dilation}) list->push_back(1);
    before.push_back(0), after.push_back(0);
    value = "0";
  } else if (!is_neutral(h.s, 1, *r) && pads != Sizes(pads.size(), 0)) {
    return "";  // padding is the initial value, which joins in once more
  }
  const bool is_bool = dtype == DType::Bool;
  if (is_bool) x = fmt::format("cast({}, u8)", x), value = fmt::format("cast({}, u8)", value);
  x = fmt::format(
      "windows(pad({}, before={}, after={}, value={}), size={}, stride={}, dilation={})", x,
      listed(before), listed(after), value, listed(size), listed(stride), listed(dilation));
  const Sizes axes = counted(rank, 2 * rank);
  if (h.is_complex()) return fmt::format("sum({}, axis={})", x, listed(axes));
  const std::string text = reduced(h, *r, x, axes, 1, is_bool ? DType::UInt8 : dtype);
  return is_bool ? fmt::format("({}) != 0", text) : text;
}

// Counts through the elements of a shape.
bool next(Sizes& index, const Sizes& shape) {
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (++index[i] < shape[i]) return true;
    index[i] = 0;
  }
  return false;
}
std::int64_t flat(const Sizes& index, const Sizes& shape) {
  std::int64_t out = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) out = out * shape[i] + index[i];
  return out;
}
bool contains(const Sizes& list, std::int64_t v) {
  return std::ranges::find(list, v) != list.end();
}

// The dimension numbers of gather and scatter, by gather's names.
struct Numbers {
  Sizes offset, collapsed, operand_batching, index_batching, map;
  std::int64_t vector_dim;
};
Numbers numbers_of(const Hlo& h, bool scatters) {
  return {h.list(scatters ? "update_window_dims" : "offset_dims"),
          h.list(scatters ? "inserted_window_dims" : "collapsed_slice_dims"),
          h.list(scatters ? "input_batching_dims" : "operand_batching_dims"),
          h.list(scatters ? "scatter_indices_batching_dims" : "start_indices_batching_dims"),
          h.list(scatters ? "scatter_dims_to_operand_dims" : "start_index_map"),
          h.whole("index_vector_dim", 0)};
}

// For each element of the slices (gather's result, scatter's updates) its place in the operand; -1:
// outside. `size`: of a slice; gather's slices are moved inside.
Sizes places(Hlo& h, const Numbers& n, const Sizes& operand, const Sizes& slices, const Sizes& size,
             bool moves) {
  const Sizes index_shape = h.s.shape(1), starts = h.s.ints(1);
  const auto rank = static_cast<std::int64_t>(index_shape.size());
  if (n.vector_dim < 0 || n.vector_dim > rank || count_of(slices) < 0)
    h.s.fail("its index_vector_dim is out of range");
  for (const std::int64_t a : n.offset)
    if (a < 0 || a >= static_cast<std::int64_t>(slices.size()))
      h.s.fail("its dimension numbers are out of range");
  Sizes out, at_slice(slices.size(), 0);
  if (count_of(slices) > 4'000'000) h.s.fail("it has too many elements");
  Sizes kept;  // operand axes that slices have
  for (std::int64_t a = 0; a < static_cast<std::int64_t>(operand.size()); ++a)
    if (!contains(n.collapsed, a) && !contains(n.operand_batching, a)) kept.push_back(a);
  if (kept.size() != n.offset.size()) h.s.fail("its dimension numbers do not fit");
  if (count_of(slices) > 0) do {
      Sizes batch, index, place(operand.size(), 0);
      for (std::size_t i = 0; i < slices.size(); ++i)
        if (!contains(n.offset, static_cast<std::int64_t>(i))) batch.push_back(at_slice[i]);
      index = batch;
      const bool has_vector = n.vector_dim < static_cast<std::int64_t>(index_shape.size());
      if (has_vector && n.vector_dim > static_cast<std::int64_t>(index.size()))
        h.s.fail("its dimension numbers do not fit");
      if (has_vector) index.insert(index.begin() + n.vector_dim, 0);
      if (index.size() != index_shape.size()) h.s.fail("its dimension numbers do not fit");
      bool inside = true;
      for (std::size_t k = 0; k < n.map.size(); ++k) {
        if (has_vector) index[at(n.vector_dim)] = static_cast<std::int64_t>(k);
        const auto axis = at(n.map[k]);
        std::int64_t start = starts.at(at(flat(index, index_shape)));
        if (moves) start = std::clamp<std::int64_t>(start, 0, operand.at(axis) - size.at(axis));
        place.at(axis) = start;
      }
      if (has_vector) index[at(n.vector_dim)] = 0;
      for (std::size_t k = 0; k < n.operand_batching.size(); ++k) {
        const auto axis = at(n.index_batching.at(k));
        place.at(at(n.operand_batching[k])) = index.at(axis);
      }
      // A scatter drops a whole window of which a part is outside; an element of it says so here.
      for (std::size_t k = 0; k < kept.size(); ++k) place[at(kept[k])] += at_slice[at(n.offset[k])];
      for (std::size_t a = 0; a < operand.size(); ++a)
        inside = inside && place[a] >= 0 && place[a] < operand[a];
      out.push_back(inside ? flat(place, operand) : -1);
    } while (next(at_slice, slices));
  return out;
}

std::string gather(Hlo& h) {
  if (h.is_complex()) return "";
  const Sizes out = h.type().shape, size = h.list("slice_sizes");
  const Sizes from = places(h, numbers_of(h, false), h.s.shape(0), out, size, true);
  const std::string index = h.s.constant(array_of(from, {static_cast<std::int64_t>(from.size())}));
  return reshaped(fmt::format("index_select({}, {}, axis=0)", reshaped(h.s.name(0), {-1}), index),
                  out);
}

std::string scattered(const std::string& base, const Sizes& shape, Step& s,
                      const std::string& updates, const Sizes& places, std::string_view reduce) {
  Sizes kept, to;
  for (std::size_t i = 0; i < places.size(); ++i)
    if (places[i] >= 0) kept.push_back(static_cast<std::int64_t>(i)), to.push_back(places[i]);
  if (kept.empty()) return base;
  const Sizes count{static_cast<std::int64_t>(kept.size())};
  std::string values = reshaped(updates, {-1});
  if (kept.size() < places.size())
    values = fmt::format("index_select({}, {}, axis=0)", values, s.constant(array_of(kept, count)));
  return reshaped(fmt::format("scatter({}, {}, {}, axis=0, reduce='{}')", reshaped(base, {-1}),
                              s.constant(array_of(to, count)), values, reduce),
                  shape);
}

std::string scatter(Hlo& h) {
  std::string applied = h.applied();
  const bool is_bool = h.s.operand(0).dtype == DType::Bool;
  if (is_bool && (applied == "or" || applied == "add")) applied = "maximum";
  if (is_bool && (applied == "and" || applied == "multiply")) applied = "minimum";
  struct Word {
    std::string_view applied, ours;
  };
  constexpr Word kWords[] = {
      {"set", "none"}, {"add", "add"}, {"multiply", "mul"}, {"maximum", "max"}, {"minimum", "min"}};
  const auto* word = std::ranges::find(kWords, applied, &Word::applied);
  if (word == std::end(kWords) || h.s.x.size() != 3 || h.is_complex()) return "";
  const Numbers n = numbers_of(h, true);
  const Sizes operand = h.s.shape(0), updates = h.s.shape(2);
  Sizes to = places(h, n, operand, updates, {}, false);
  // Windows of which a part is outside are dropped whole.
  Sizes scatter_shape, index(updates.size(), 0);
  for (std::size_t i = 0; i < updates.size(); ++i)
    scatter_shape.push_back(contains(n.offset, static_cast<std::int64_t>(i)) ? 1 : updates[i]);
  std::vector<bool> broken(at(count_of(scatter_shape)), false);
  const auto window_of = [&](Sizes i) {
    for (const std::int64_t a : n.offset) i[at(a)] = 0;
    return at(flat(i, scatter_shape));
  };
  std::size_t k = 0;
  if (!to.empty()) do {
      if (to[k++] < 0) broken[window_of(index)] = true;
    } while (next(index, updates));
  k = 0;
  if (!to.empty()) do {
      if (broken[window_of(index)]) to[k] = -1;
      ++k;
    } while (next(index, updates));
  std::string base = h.s.name(0), values = h.s.name(2);
  if (is_bool && word->ours != "none") {
    base = fmt::format("cast({}, u8)", base), values = fmt::format("cast({}, u8)", values);
    return fmt::format("{} != 0", scattered(base, operand, h.s, values, to, word->ours));
  }
  return scattered(base, operand, h.s, values, to, word->ours);
}

std::string dynamic_slice(Hlo& h) {
  const Sizes shape = h.s.shape(), size = h.list("sizes", h.list("slice_sizes"));
  Sizes begin, end;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t start =
        std::clamp<std::int64_t>(h.s.ints(i + 1).at(0), 0, shape[i] - size.at(i));
    begin.push_back(start), end.push_back(start + size[i]);
  }
  return h.is_complex() ? "" : sliced(h.s.name(0), begin, end);
}
std::string dynamic_update_slice(Hlo& h) {
  const Sizes shape = h.s.shape(), size = h.s.shape(1);
  if (h.is_complex() || count_of(size) > 4'000'000) return "";
  Sizes index(size.size(), 0), to;
  if (count_of(size) > 0) do {
      Sizes place = index;
      for (std::size_t i = 0; i < shape.size(); ++i)
        place[i] += std::clamp<std::int64_t>(h.s.ints(i + 2).at(0), 0, shape[i] - size[i]);
      to.push_back(flat(place, shape));
    } while (next(index, size));
  return scattered(h.s.name(0), shape, h.s, h.s.name(1), to, "none");
}

// The element of each window that is selected, by comparing exact values.
std::string select_and_scatter(Hlo& h) {
  const Sizes shape = h.s.shape(0), ones(shape.size(), 1), size = h.list("window_dimensions", ones),
              stride = h.list("window_strides", ones),
              pads = h.list("padding", Sizes(2 * shape.size(), 0)), out = h.s.shape(1);
  const Graph* g = h.graph(0);
  if (g == nullptr || g->operations.empty() || g->operations.back().kind != "stablehlo.compare" ||
      h.applied(1) != "add")
    return "";
  const Operation& compared = g->operations.back();
  const std::string& how = text_of(compared);
  const bool most = how.find("GE") != std::string::npos;  // of equal ones the first
  if (!most && how.find("LE") == std::string::npos) return "";
  if (g->operations.size() != 1 || pads.size() != 2 * shape.size() || g->inputs.size() != 2 ||
      compared.inputs != std::vector<std::string>{g->inputs[0].name, g->inputs[1].name})
    return "";
  const std::vector<double> values = h.s.reals(0);
  Sizes to, window(out.size(), 0);
  if (count_of(out) > 0) do {
      std::int64_t best = -1;
      Sizes inner(size.size(), 0);
      do {
        Sizes place;
        bool inside = true;
        for (std::size_t i = 0; i < shape.size(); ++i) {
          place.push_back(window[i] * stride.at(i) + inner[i] - pads[2 * i]);
          inside = inside && place[i] >= 0 && place[i] < shape[i];
        }
        if (!inside) continue;
        const std::int64_t p = flat(place, shape);
        if (best < 0 ||
            (most ? values[at(p)] > values[at(best)] : values[at(p)] < values[at(best)]))
          best = p;
      } while (next(inner, size));
      to.push_back(best);
    } while (next(window, out));
  return scattered(fmt::format("expand({}, shape={})", reshaped(h.s.name(2), ones), listed(shape)),
                   shape, h.s, h.s.name(1), to, "add");
}

// One key, the first operand: its two elements are compared, perhaps with zeros alike and NaN last.
Texts sort(Step& s) {
  Hlo h(s);
  const std::int64_t axis = h.whole("dimension", -1);
  Texts out{"", std::vector<std::string>(s.op.outputs.size())};
  const Graph* g = h.graph(0);
  if (g == nullptr || g->operations.empty() || g->inputs.size() < 2 || h.is_complex()) return out;
  // The argument that each value of the region comes from.
  std::map<std::string, std::size_t> from{{g->inputs[0].name, 1}, {g->inputs[1].name, 2}};
  for (const Operation& op : g->operations) {
    std::size_t of = 0;
    for (const std::string& in : op.inputs) {
      const auto it = from.find(in);
      if (it == from.end()) return out;  // a further key
      if (it->second == 0 || it->second == of) continue;
      if (of != 0) {
        of = 3;
        break;
      }
      of = it->second;
    }
    const bool is_last = &op == &g->operations.back();
    const bool is_plain = op.kind == "stablehlo.constant" || op.kind == "stablehlo.select" ||
                          (op.kind == "stablehlo.compare" && !is_last);
    if ((!is_plain || of == 3) && !is_last) return out;
    for (const std::string& made : op.outputs) from[made] = of;
  }
  const Operation& last = g->operations.back();
  if (last.kind != "stablehlo.compare" || last.outputs != g->outputs) return out;
  const std::string& text = text_of(last);
  const bool less = text.find("LT") != std::string::npos,
             greater = text.find("GT") != std::string::npos;
  const bool swapped = from[last.inputs[0]] == 2;
  if (less == greater || from[last.inputs[0]] + from[last.inputs[1]] != 3) return out;
  const std::string more = fmt::format("axis={}, descending={}", axis, greater != swapped ? 1 : 0);
  out.outputs[0] = fmt::format("sort({}, {})", s.name(0), more);
  for (std::size_t i = 1; i < s.x.size() && i < out.outputs.size(); ++i)
    out.outputs[i] =
        fmt::format("take_along({}, argsort({}, {}), axis={})", s.name(i), s.name(0), more, axis);
  return out;
}

std::string convolution(Hlo& h) {
  // dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]
  const std::string& text = h.text();
  const std::size_t at_numbers = std::min(text.find("dim_numbers"), text.find("dimension_numbers"));
  if (at_numbers == std::string::npos || h.is_complex()) return "";
  std::vector<std::vector<std::string>> lists;
  for (std::size_t i = at_numbers; i < text.size() && lists.size() < 3; ++i) {
    if (text[i] != '[') continue;
    lists.emplace_back();
    std::string word;
    for (++i; i < text.size(); ++i) {
      if (text[i] == ',' || text[i] == ']') {
        lists.back().push_back(word);
        word.clear();
      } else if (text[i] != ' ') {
        word += text[i];
      }
      if (text[i] == ']') break;
    }
  }
  if (lists.size() != 3) return "";
  const int spatial = static_cast<int>(lists[0].size()) - 2;
  const auto order = [&](const std::vector<std::string>& list, const char* first,
                         const char* second) {
    Sizes out;
    const auto place = [&](const std::string& word) {
      const auto it = std::ranges::find(list, word);
      if (it == list.end()) h.s.fail("its dim_numbers are not complete");
      return static_cast<std::int64_t>(it - list.begin());
    };
    out.push_back(place(first)), out.push_back(place(second));
    for (int i = 0; i < spatial; ++i) out.push_back(place(std::to_string(i)));
    return out;
  };
  const Sizes lhs = order(lists[0], "b", "f"), rhs = order(lists[1], "o", "i"),
              result = order(lists[2], "b", "f");
  const Sizes ones(at(spatial), 1), stride = h.list("stride", h.list("window_strides", ones)),
                                    apart = h.list("lhs_dilate", h.list("lhs_dilation", ones)),
                                    dilation = h.list("rhs_dilate", h.list("rhs_dilation", ones));
  const Sizes pads = h.list("pad", h.list("padding", Sizes(at(2 * spatial), 0)));
  const std::size_t reverse = text.find("reverse"), reverse_end = text.find(']', reverse);
  const bool turned = reverse != std::string::npos &&
                      text.substr(reverse, reverse_end - reverse).find("true") != std::string::npos;
  if (spatial < 1 || spatial > 3 || h.whole("batch_group_count", 1) != 1 || turned ||
      pads.size() != at(2 * spatial))
    return "";
  const auto wide = [&](std::size_t i) {
    const DType to = h.type().dtype;
    return h.s.operand(i).dtype == to
               ? h.s.name(i)
               : fmt::format("cast({}, {})", h.s.name(i), info(to).short_name);
  };
  std::string x = permuted(wide(0), lhs), w = permuted(wide(1), rhs);
  Sizes shape;
  for (const std::int64_t a : lhs) shape.push_back(h.s.shape().at(at(a)));
  for (int i = 0; i < spatial; ++i) {
    const std::int64_t gap = apart.at(at(i)) - 1;
    if (gap == 0) continue;
    const std::size_t axis = at(i + 2);
    Sizes split = shape, whole = shape, after(shape.size() + 1, 0);
    split.insert(split.begin() + static_cast<std::ptrdiff_t>(axis) + 1, 1);
    after[axis + 1] = gap, whole[axis] *= gap + 1, shape[axis] = whole[axis] - gap;
    x = sliced(reshaped(fmt::format("pad({}, before={}, after={})", reshaped(x, split),
                                    listed(Sizes(after.size(), 0)), listed(after)),
                        whole),
               Sizes(shape.size(), 0), shape);
  }
  Sizes before{0, 0}, after{0, 0};
  Sizes begin(shape.size(), 0), end = shape;
  for (int i = 0; i < spatial; ++i) {
    const std::int64_t low = pads[at(2 * i)], high = pads[at(2 * i + 1)];
    before.push_back(std::max<std::int64_t>(low, 0)),
        after.push_back(std::max<std::int64_t>(high, 0));
    begin[at(i + 2)] = std::max<std::int64_t>(-low, 0),
                 end[at(i + 2)] -= std::max<std::int64_t>(-high, 0);
  }
  x = fmt::format("pad({}, before={}, after={})", sliced(x, begin, end), listed(before),
                  listed(after));
  const std::string conv =
      fmt::format("conv{}d({}, {}, stride={}, dilation={}, groups={})", spatial, x, w,
                  listed(stride), listed(dilation), h.whole("feature_group_count", 1));
  Sizes back(result.size());
  for (std::size_t i = 0; i < result.size(); ++i)
    back[at(result[i])] = static_cast<std::int64_t>(i);
  return permuted(conv, back);
}

std::string reduce_precision(Hlo& h) {
  const char* narrow = h.says("e5m10")   ? "f16"
                       : h.says("e8m7")  ? "bf16"
                       : h.says("e8m23") ? "f32"
                                         : "";
  return *narrow == 0 ? "" : fmt::format("cast(cast({}, {}), {})", h.s.name(0), narrow, h.s.type());
}

std::string bitcast(Hlo& h) {
  const TensorType to = h.type();
  if (itemsize(to.dtype) != itemsize(h.s.operand(0).dtype) || to.is_complex != h.is_complex())
    return "";
  return to.dtype == h.s.operand(0).dtype
             ? h.s.name(0)
             : fmt::format("bitcast({}, {})", h.s.name(0), info(to.dtype).short_name);
}

std::string select(Hlo& h) {
  std::string p = h.s.name(0);
  if (h.type().is_complex) {
    Sizes shape = h.s.shape();
    if (!shape.empty()) shape.push_back(1);
    p = reshaped(p, shape);
  }
  return fmt::format("where({}, {}, {})", p, h.s.name(1), h.s.name(2));
}

// Whole powers of integers are products; a negative one is 0 but for 1 and -1.
std::string power(Hlo& h) {
  if (h.is_complex()) return "";
  if (h.s.is_float()) return fmt::format("pow({}, {})", h.s.name(0), h.s.name(1));
  const std::vector<double> exponents = h.s.reals(1);
  const double most = exponents.empty() ? 0 : *std::ranges::max_element(exponents),
               least = exponents.empty() ? 0 : *std::ranges::min_element(exponents);
  if (most > 64 || least < 0) return "";
  std::string text = fmt::format("(cast({0} == {0}, {1}))", h.s.name(0), h.s.type());
  for (int k = 0; k < static_cast<int>(most); ++k)
    text = fmt::format("where({} > {}, {} * {}, {})", h.s.name(1), k, text, h.s.name(0), text);
  return most > 8 ? "" : text;
}

}  // namespace

std::vector<NamedRow> stablehlo_rows() {
  std::vector<NamedRow> rows;
  struct Plain {
    std::string_view kind, text;
  };
  static constexpr Plain kPlain[] = {// of real numbers
                                     {"atan2", "atan2({0}, {1})"},
                                     {"cbrt", "cbrt({0})"},
                                     {"ceil", "ceil({0})"},
                                     {"cosine", "cos({0})"},
                                     {"count_leading_zeros", "clz({0})"},
                                     {"exponential_minus_one", "expm1({0})"},
                                     {"floor", "floor({0})"},
                                     {"is_finite", "isfinite({0})"},
                                     {"log", "log({0})"},
                                     {"log_plus_one", "log1p({0})"},
                                     {"logistic", "sigmoid({0})"},
                                     {"popcnt", "popcount({0})"},
                                     {"remainder", "{0} % {1}"},
                                     {"round_nearest_afz", "round_half_away({0})"},
                                     {"round_nearest_even", "round({0})"},
                                     {"rsqrt", "rsqrt({0})"},
                                     {"sign", "sign({0})"},
                                     {"sine", "sin({0})"},
                                     {"sqrt", "sqrt({0})"},
                                     {"tan", "tan({0})"},
                                     {"tanh", "tanh({0})"},
                                     {"shift_left", "shift_left({0}, {1})"},
                                     {"shift_right_arithmetic", "shift_right({0}, {1})"},
                                     {"shift_right_logical", "shift_right_logical({0}, {1})"},
                                     {"and", "bit_and({0}, {1})"},
                                     {"or", "bit_or({0}, {1})"},
                                     {"xor", "xor({0}, {1})"},
                                     {"not", "bit_not({0})"},
                                     {"acos", "acos({0})"},
                                     {"acosh", "acosh({0})"},
                                     {"asin", "asin({0})"},
                                     {"asinh", "asinh({0})"},
                                     {"atan", "atan({0})"},
                                     {"atanh", "atanh({0})"},
                                     {"cosh", "cosh({0})"},
                                     {"sinh", "sinh({0})"},
                                     {"erf", "erf({0})"},
                                     {"erfc", "erfc({0})"},
                                     {"erf_inv", "erfinv({0})"},
                                     {"lgamma", "lgamma({0})"},
                                     {"digamma", "digamma({0})"},
                                     {"next_after", "next_after({0}, {1})"},
                                     {"square", "({0} * {0})"},
                                     {"clamp", "minimum(maximum({1}, {0}), {2})"}};
  static const std::vector<std::string> kinds = [] {  // NamedRow keeps no text of its own
    std::vector<std::string> all;
    for (const Plain& p : kPlain)
      for (const char* dialect : {"stablehlo", "chlo"})
        all.push_back(fmt::format("{}.{}", dialect, p.kind));
    return all;
  }();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const Row plain = formula(kPlain[i / 2].text);
    rows.push_back({kinds[i], [plain](Step& s) {
                      return Hlo(s).is_complex() ? Texts{"", {""}} : plain(s);
                    }});
  }
  const std::vector<NamedRow> others = {
      {"stablehlo.abs", row([](Hlo& h) { return on_parts(h, "complex_abs({a})", "abs({a})"); })},
      {"stablehlo.add", row(arithmetic<'+'>)},
      {"stablehlo.subtract", row(arithmetic<'-'>)},
      {"stablehlo.multiply", row(arithmetic<'*'>)},
      {"stablehlo.divide", row(arithmetic<'/'>)},
      {"stablehlo.negate", row([](Hlo& h) { return "-" + h.s.name(0); })},
      {"stablehlo.exponential",
       row([](Hlo& h) { return on_parts(h, "complex_exp({a})", "exp({a})"); })},
      {"stablehlo.maximum", row([](Hlo& h) { return extremum(h, "maximum", "bit_or"); })},
      {"stablehlo.minimum", row([](Hlo& h) { return extremum(h, "minimum", "bit_and"); })},
      {"stablehlo.real", row([](Hlo& h) { return one_part(h, 0); })},
      {"stablehlo.imag", row([](Hlo& h) { return one_part(h, 1); })},
      {"stablehlo.complex", row(complex)},
      {"stablehlo.compare", row(compare)},
      {"stablehlo.convert", row(convert)},
      {"stablehlo.constant",
       row([](Hlo& h) { return h.s.constant(dense_elements(h.text(), h.type())); })},
      {"stablehlo.bitcast_convert", row(bitcast)},
      {"stablehlo.broadcast_in_dim", row(broadcast_in_dim)},
      {"stablehlo.reshape",
       row([](Hlo& h) { return reshaped(h.s.name(0), with_parts(h, h.type().shape, 2)); })},
      {"stablehlo.transpose", row([](Hlo& h) {
         const Sizes dims = h.list("dims", h.list("permutation"));
         return dims.size() < 2
                    ? h.s.name(0)
                    : permuted(h.s.name(0),
                               with_parts(h, dims, static_cast<std::int64_t>(dims.size())));
       })},
      {"stablehlo.reverse", row([](Hlo& h) {
         const Sizes dims = h.list("dims", h.list("dimensions"));
         return dims.empty() ? h.s.name(0)
                             : fmt::format("flip({}, axis={})", h.s.name(0), listed(dims));
       })},
      {"stablehlo.iota", row(iota)},
      {"stablehlo.slice", row(slice)},
      {"stablehlo.concatenate", row(concatenate)},
      {"stablehlo.pad", row(pad)},
      {"stablehlo.dot_general", row(dot_general)},
      {"stablehlo.dot", row([](Hlo& h) {
         const std::string to(info(h.type().dtype).short_name);
         if (h.is_complex()) return std::string();
         return fmt::format("cast({}, {}) @ cast({}, {})", h.s.name(0), to, h.s.name(1), to);
       })},
      {"stablehlo.reduce", with_narrow_sums(reduce)},
      {"stablehlo.reduce_window", with_narrow_sums(row(reduce_window))},
      {"stablehlo.gather", row(gather)},
      {"stablehlo.scatter", with_narrow_sums(row(scatter))},
      {"stablehlo.dynamic_slice", row(dynamic_slice)},
      {"stablehlo.dynamic_update_slice", row(dynamic_update_slice)},
      {"stablehlo.select_and_scatter", with_narrow_sums(row(select_and_scatter))},
      {"stablehlo.sort", sort},
      {"stablehlo.convolution", row(convolution)},
      {"stablehlo.reduce_precision", row(reduce_precision)},
      {"stablehlo.select", row(select)},
      {"stablehlo.power", row(power)},
      {"stablehlo.optimization_barrier",
       [](Step& s) {
         return Texts{"", s.given()};
       }},
      {"chlo.top_k",
       [](Step& s) {
         const std::int64_t k = Hlo(s).whole("k", 1);
         return Texts{"",
                      {fmt::format("top_k({}, k={}, axis=-1)", s.name(0), k),
                       fmt::format("cast(top_k_index({}, k={}, axis=-1), i32)", s.name(0), k)}};
       }},
  };
  rows.insert(rows.end(), others.begin(), others.end());
  return rows;
}

}  // namespace touchstone::model
