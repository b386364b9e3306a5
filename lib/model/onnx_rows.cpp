// ONNX's operators: elementwise ones, reduces, products, and the table of all.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/ranges.h>

#include "touchstone/base/error.h"
#include "touchstone/base/suggest.h"
#include "touchstone/emit/foreign_types.h"
#include "touchstone/model/onnx_texts.h"
#include "touchstone/model/stablehlo.h"

namespace touchstone::model {

std::string listed(const Sizes& sizes) { return fmt::format("[{}]", fmt::join(sizes, ",")); }
std::string reshaped(std::string_view x, const Sizes& shape) {
  return fmt::format("reshape({}, shape={})", x, listed(shape));
}
std::string permuted(std::string_view x, const Sizes& order) {
  return fmt::format("permute({}, order={})", x, listed(order));
}
std::string sliced(std::string_view x, const Sizes& begin, const Sizes& end) {
  return fmt::format("slice({}, begin={}, end={})", x, listed(begin), listed(end));
}
std::string real_text(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text.front() == '-' ? "(" + text + ")" : text;
}
std::string moved(std::string_view x, int rank, int source, int to) {
  Sizes order = counted(0, rank);
  order.erase(order.begin() + source);
  order.insert(order.begin() + to, source);
  return permuted(x, order);
}
std::string nested(std::string_view function, std::span<const std::string> names) {
  std::string text = names.empty() ? "" : names[0];
  for (std::size_t i = 1; i < names.size(); ++i)
    text = fmt::format("{}({}, {})", function, text, names[i]);
  return text;
}
std::string joined(std::span<const std::string> names, std::int64_t axis) {
  if (names.size() == 1) return names[0];
  const std::size_t half = names.size() / 2;
  return fmt::format("concat({}, {}, axis={})", joined(names.first(half), axis),
                     joined(names.subspan(half), axis), axis);
}
std::int64_t count_of(const Sizes& shape, std::size_t begin, std::size_t end) {
  std::int64_t count = 1;
  for (std::size_t i = begin; i < std::min(end, shape.size()); ++i) count *= shape[i];
  return count;
}
Sizes counted(int begin, int end) {
  Sizes out;
  for (int i = begin; i < end; ++i) out.push_back(i);
  return out;
}
Sizes broadcast(const Step& step, const Sizes& a, const Sizes& b) {
  Sizes out(std::max(a.size(), b.size()), 1);
  for (const Sizes* s : {&a, &b})
    for (std::size_t i = 0; i < s->size(); ++i) {
      std::int64_t& size = out[out.size() - s->size() + i];
      const std::int64_t other = (*s)[i];
      if (size != 1 && other != 1 && size != other)
        step.fail(fmt::format("shapes {} and {} do not fit", listed(a), listed(b)));
      if (other != 1) size = other;
    }
  return out;
}

std::string word_text(std::string_view word) {
  std::string out = "'";
  for (const char c : word)
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(c == '\'' ? '_' : c)));
  return out + "'";
}

Row one(std::string (*text)(Step&)) {
  return [text](Step& s) { return Texts{"", {text(s)}}; };
}

Row formula(std::string_view text) {
  return [text](Step& s) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      if (text[at] != '{') {
        out += text[at++];
        continue;
      }
      const std::size_t end = text.find('}', at);
      const std::string_view inside = text.substr(at + 1, end - at - 1);
      at = end + 1;
      const std::size_t equals = inside.find('=');
      if (equals == std::string_view::npos) {
        out += s.name(static_cast<std::size_t>(inside[0] - '0'));
        continue;
      }
      const std::string_view name = inside.substr(0, equals);
      const std::string fallback(inside.substr(equals + 1));
      if (fallback.front() == '[') {
        Sizes sizes;
        for (std::size_t i = 1; i < fallback.size(); i += 2)  // of single digits
          sizes.push_back(fallback[i] - '0');
        out += listed(s.list(name, sizes));
      } else if (std::isalpha(static_cast<unsigned char>(fallback.front())) != 0) {
        out += word_text(s.text(name, fallback));
      } else if (fallback.find('.') != std::string::npos) {
        out += real_text(s.real(name, std::stod(fallback)));
      } else {
        out += fmt::format("{}", s.whole(name, std::stoll(fallback)));
      }
    }
    return Texts{"", {out}};
  };
}

namespace {

std::string difference(const Step& s, std::size_t x, std::size_t zero) {
  if (!s.has(zero)) return fmt::format("cast({}, i32)", s.name(x));
  // A zero point for each row of the first matrix, and for each column of the second.
  std::string z = s.name(zero);
  if (s.rank(zero) == 1 && s.rank(x) > 1 && x == 0) z = reshaped(z, {-1, 1});
  return fmt::format("(cast({}, i32) - cast({}, i32))", s.name(x), z);
}

Texts logic(Step& s, std::string_view function) {
  return {"", {fmt::format("{}({}, {})", function, s.name(0), s.name(1))}};
}

// Of integers by a whole number: products.
Texts power(Step& s) {
  const std::string x = s.type(0), y = s.type(1);
  if (x == y && s.is_float()) return {"", {fmt::format("pow({}, {})", s.name(0), s.name(1))}};
  if (!s.is_float() && !s.is_float(1) && s.operand(1).size() == 1) {
    const std::int64_t times = s.ints(1).at(0);
    if (times >= 1 && times <= 64) {
      const std::vector<std::string> factors(static_cast<std::size_t>(times), s.name(0));
      return {"", {nested("mul", factors)}};
    }
  }
  const char* in = x == "f32" ? "f32" : "f64";
  const std::string text =
      fmt::format("pow(cast({0}, {2}), cast({1}, {2}))", s.name(0), s.name(1), in);
  if (x == "f32") return {"", {text}};
  // Whole results are whole in every library; others lose their fraction.
  return {"", {fmt::format("cast({}{}, {})", text, s.is_float() ? "" : " * 1.000000000001", x)}};
}

Texts cast_to(Step& s, const std::string& to) {
  return {"", {fmt::format("cast({}, {})", s.name(0), to)}};
}
Texts cast(Step& s) {
  const std::optional<DType> to = emit::dtype_of_onnx(s.whole("to", 0));
  if (!to) return {"", {""}};
  return cast_to(s, std::string(info(*to).short_name));
}

Texts is_infinite(Step& s) {
  const auto word = [&](const char* sign) {
    return s.whole(fmt::format("detect_{}", sign), 1) != 0 ? "inf" : "nan";
  };
  return {"",
          {fmt::format("bit_or({0} == {1}, {0} == -{2})", s.name(0), word("positive"),
                       word("negative"))}};
}

Row each(std::string_view function) {
  return [function](Step& s) { return Texts{"", {nested(function, s.given())}}; };
}

std::string clip(Step& s) {
  std::string low, high;
  if (s.has(1)) low = ", low=" + s.name(1);
  if (s.has(2)) high = ", high=" + s.name(2);
  if (s.is_set("min")) low = ", low=" + real_text(s.real("min", 0));
  if (s.is_set("max")) high = ", high=" + real_text(s.real("max", 0));
  return fmt::format("clamp({}{}{})", s.name(0), low, high);
}

// `text` over the axes of an attribute or of operand 1; ROW names the operand.
Row reduced(std::string_view text) {
  return [text](Step& s) {
    Sizes axes = s.is_set("axes") ? s.list("axes") : s.has(1) ? s.ints(1) : Sizes{};
    if (axes.empty()) {
      if (s.whole("noop_with_empty_axes", 0) != 0) return Texts{"", {s.name(0)}};
      axes = counted(0, s.rank());
    }
    for (std::int64_t& a : axes) a = s.axis_of(a, s.rank());
    const bool is_scalar = s.rank() == 0;
    if (is_scalar) axes = {0};
    const std::string x = is_scalar ? reshaped(s.name(0), {1}) : s.name(0);
    const std::string more =
        fmt::format("axis={}, keep={}", listed(axes), is_scalar ? 0 : s.whole("keepdims", 1));
    return Texts{"", {fmt::format(fmt::runtime(text), fmt::arg("x", x), fmt::arg("axes", more))}};
  };
}

std::string log_sum_exp(Step& s) {
  Sizes axes = s.is_set("axes") ? s.list("axes") : s.has(1) ? s.ints(1) : Sizes{};
  if (axes.empty() && s.whole("noop_with_empty_axes", 0) != 0) return s.name(0);
  if (axes.empty()) axes = counted(0, s.rank());
  Sizes order, kept, out;
  std::vector<bool> reduced(s.shape().size(), false);
  for (const std::int64_t a : axes)
    reduced[static_cast<std::size_t>(s.axis_of(a, s.rank()))] = true;
  for (std::size_t i = 0; i < reduced.size(); ++i) {
    if (!reduced[i]) {
      order.push_back(static_cast<std::int64_t>(i));
      kept.push_back(s.shape().at(i));
    }
    if (!reduced[i] || s.whole("keepdims", 1) != 0) out.push_back(reduced[i] ? 1 : s.shape().at(i));
  }
  for (std::size_t i = 0; i < reduced.size(); ++i)
    if (reduced[i]) order.push_back(static_cast<std::int64_t>(i));
  kept.push_back(-1);
  return reshaped(fmt::format("logsumexp({})", reshaped(permuted(s.name(0), order), kept)), out);
}

// Up to opset 12 the axes from `axis` on are one.
Row on_last(std::string_view function) {
  return [function](Step& s) {
    if (s.version >= 13)
      return Texts{"", {fmt::format("{}({}, axis={})", function, s.name(0), s.axis())}};
    const auto axis = static_cast<std::size_t>(s.axis(1));
    const std::string rows =
        reshaped(s.name(0), {count_of(s.shape(), 0, axis), count_of(s.shape(), axis)});
    return Texts{"", {reshaped(fmt::format("{}({}, axis=1)", function, rows), s.shape())}};
  };
}

std::string cumulated(Step& s) {
  const int axis = s.axis_of(s.ints(1).at(0), s.rank());
  const auto turned = [&](const std::string& x) {
    return s.whole("reverse", 0) != 0 ? fmt::format("flip({}, axis={})", x, axis) : x;
  };
  std::string text = fmt::format("cumsum({}, axis={})", turned(s.name(0)), axis);
  if (s.whole("exclusive", 0) != 0) {
    Sizes first(s.shape().size(), 0), end = s.shape();
    first[static_cast<std::size_t>(axis)] = 1;
    end[static_cast<std::size_t>(axis)] -= 1;
    text = fmt::format("pad({}, before={}, after={})", sliced(text, Sizes(first.size(), 0), end),
                       listed(first), listed(Sizes(first.size(), 0)));
  }
  return turned(text);
}

Row extreme_index(std::string_view function) {
  return [function](Step& s) {
    return Texts{"",
                 {fmt::format("{}({}, axis={}, keep={}, last={})", function, s.name(0), s.axis(0),
                              s.whole("keepdims", 1), s.whole("select_last_index", 0))}};
  };
}

Texts top_k(Step& s) {
  if (s.whole("sorted", 1) == 0) return {"", {"", ""}};  // any order
  const std::int64_t k = s.is_set("k") ? s.whole("k", 0) : s.ints(1).at(0);
  Texts out;
  for (const char* f : {"top_k", "top_k_index"})
    out.outputs.push_back(fmt::format("{}({}, k={}, axis={}, largest={})", f, s.name(0), k,
                                      s.axis(), s.whole("largest", 1)));
  return out;
}

std::string gemm(Step& s) {
  const double alpha = s.real("alpha", 1), beta = s.real("beta", 1);
  std::string text = fmt::format("matmul({}, {}, transpose_a={}, transpose_b={})", s.name(0),
                                 s.name(1), s.whole("transA", 0), s.whole("transB", 0));
  if (alpha != 1) text += " * " + real_text(alpha);
  if (s.has(2)) text += " + " + s.name(2) + (beta == 1 ? "" : " * " + real_text(beta));
  return text;
}

// Products broadcast over all indices, summed over those that the output lacks.
std::string einsum(Step& s) {
  std::string equation;
  for (const char c : s.text("equation", ""))
    if (c != ' ') equation += c;
  const std::size_t arrow = equation.find("->");
  std::vector<std::string> terms{""};
  for (const char c : equation.substr(0, arrow)) {
    if (c == ',')
      terms.emplace_back();
    else
      terms.back() += c;
  }
  if (terms.size() != s.x.size()) s.fail("the equation has another number of operands");
  // '...' as upper-case marks: the longest ellipsis has `dots` axes.
  std::size_t dots = 0;
  std::map<char, int> uses;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const std::size_t at = terms[i].find("...");
    const std::size_t named = terms[i].size() - (at == std::string::npos ? 0 : 3);
    if (named > s.shape(i).size() || (at == std::string::npos && named != s.shape(i).size()))
      s.fail("the equation does not fit the shapes");
    if (at != std::string::npos) {
      const std::size_t count = s.shape(i).size() - named;
      std::string marks;
      for (std::size_t k = count; k-- > 0;)
        marks += static_cast<char>('\x80' + static_cast<char>(k));
      terms[i].replace(at, 3, marks);
      dots = std::max(dots, count);
    }
    for (const char c : terms[i]) ++uses[c];
  }
  std::string all_dots, out;
  for (std::size_t k = dots; k-- > 0;) all_dots += static_cast<char>('\x80' + static_cast<char>(k));
  if (arrow == std::string::npos) {
    out = all_dots;
    for (const auto& [c, count] : uses)
      if (count == 1 && std::isalpha(static_cast<unsigned char>(c)) != 0) out += c;
  } else {
    out = equation.substr(arrow + 2);
    if (const std::size_t at = out.find("..."); at != std::string::npos)
      out.replace(at, 3, all_dots);
  }
  std::string order = out;
  for (const auto& [c, count] : uses)
    if (order.find(c) == std::string::npos) order += c;
  std::string text;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    std::string x = s.name(i), term = terms[i];
    Sizes shape = s.shape(i);
    for (std::size_t a = 0; a < term.size(); ++a)
      for (std::size_t b = term.size(); b-- > a + 1;)
        if (term[a] == term[b]) {  // the diagonal: axis b is summed where both agree
          if (shape[a] != shape[b]) s.fail("the equation does not fit the shapes");
          Sizes mask(shape.size(), 1);
          mask[a] = mask[b] = shape[a];
          x = fmt::format(
              "sum(where({}, {}, 0), axis={})",
              reshaped(fmt::format("one_hot(arange(size={0}), classes={0}, dtype=bool)", shape[a]),
                       mask),
              x, b);
          term.erase(b, 1);
          shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(b));
        }
    Sizes by, sizes;
    for (const char c : order) {
      const std::size_t at = term.find(c);
      sizes.push_back(at == std::string::npos ? 1 : shape[at]);
      if (at != std::string::npos) by.push_back(static_cast<std::int64_t>(at));
    }
    x = reshaped(by.size() > 1 ? permuted(x, by) : x, sizes);
    text = text.empty() ? x : fmt::format("({} * {})", text, x);
  }
  if (order.size() == out.size()) return text;
  return fmt::format("sum({}, axis={})", text,
                     listed(counted(static_cast<int>(out.size()), static_cast<int>(order.size()))));
}

// The determinant of matrices of up to 3 rows.
std::string determinant(Step& s) {
  const std::int64_t n = s.rank() < 2 ? 0 : s.shape().back();
  if (n < 1 || n > 3 || s.shape().at(s.shape().size() - 2) != n) return "";
  const Sizes batch(s.shape().begin(), s.shape().end() - 2);
  const auto at = [&](std::int64_t i, std::int64_t j) {
    return reshaped(sliced(s.name(0), {i, j}, {i + 1, j + 1}), batch);
  };
  const auto minor = [&](std::int64_t i, std::int64_t a, std::int64_t b) {
    return fmt::format("({} * {} - {} * {})", at(i, a), at(i + 1, b), at(i, b), at(i + 1, a));
  };
  if (n == 1) return at(0, 0);
  if (n == 2) return minor(0, 0, 1);
  return fmt::format("{} * {} - {} * {} + {} * {}", at(0, 0), minor(1, 1, 2), at(0, 1),
                     minor(1, 0, 2), at(0, 2), minor(1, 0, 1));
}

// The sum of a_k cos(2 pi k i / n).
Row window(std::vector<double> terms) {
  return [terms](Step& s) {
    const std::int64_t size = s.ints(0).at(0);
    const std::optional<DType> to = emit::dtype_of_onnx(s.whole("output_datatype", 1));
    if (!to) return Texts{"", {""}};
    const double n =
        static_cast<double>(s.whole("periodic", 1) != 0 || size == 1 ? size : size - 1);
    const std::string angle =
        fmt::format("arange(size={}, dtype=f32) * {}", size, real_text(2 * M_PI / n));
    std::string text = real_text(terms[0]);
    for (std::size_t k = 1; k < terms.size(); ++k)
      text += fmt::format(" + cos({} * ({})) * {}", k, angle, real_text(terms[k]));
    if (*to != DType::Float32) text = fmt::format("cast({}, {})", text, info(*to).short_name);
    return Texts{"", {text}};
  };
}

Texts dynamic_quantize(Step& s) {
  const std::string x = s.name(0);
  const std::string scale = fmt::format("(maximum(max({0}), 0) - minimum(min({0}), 0)) / 255", x);
  const std::string zero = fmt::format(
      "cast(clamp(round(0 - minimum(min({}), 0) / ({})), low=0, high=255), u8)", x, scale);
  return {"",
          {fmt::format("quantize({}, {}, {})", x, reshaped(scale, {}), reshaped(zero, {})), scale,
           zero}};
}

std::string quantized_matmul(Step& s) {
  return fmt::format(
      "quantize(cast({} @ {}, f32) * ({} * {}), {}, {}, to={})", difference(s, 0, 2),
      difference(s, 3, 5),
      s.rank(1) == 1 && s.operand(1).size() > 1 ? reshaped(s.name(1), {-1, 1}) : s.name(1),
      s.name(4), s.name(6), s.name(7), s.type(7));
}

// Inputs R, T, then each of X, G and the states for all tensors.
struct Optimized {
  std::string x, g;
  std::vector<std::string> states;
};
Row optimizer(std::vector<std::string> (*step)(Step&, const Optimized&)) {
  return [step](Step& s) {
    const std::size_t outputs = s.op.outputs.size(), inputs = s.x.size();
    Texts texts;
    texts.outputs.resize(outputs);
    if (inputs < 2 + outputs || outputs == 0) s.fail("it has too few inputs");
    const std::size_t count = inputs - 2 - outputs;  // of tensors
    for (std::size_t i = 0; i < count; ++i) {
      Optimized o{s.name(2 + i), "", {}};
      o.g = fmt::format("({} + {} * {})", s.name(2 + count + i),
                        real_text(s.real("norm_coefficient", 0)), o.x);
      for (std::size_t k = 2 + 2 * count + i; k < inputs; k += count) o.states.push_back(s.name(k));
      const std::vector<std::string> made = step(s, o);
      for (std::size_t k = 0; k < made.size() && k * count + i < outputs; ++k)
        texts.outputs[k * count + i] = made[k];
    }
    return texts;
  };
}
std::vector<std::string> momentum(Step& s, const Optimized& o) {
  const double beta = s.ints(1).at(0) > 0 ? s.real("beta", 1) : 1;
  const std::string alpha = real_text(s.real("alpha", 1));
  const std::string v =
      fmt::format("({} * {} + {} * {})", alpha, o.states.at(0), real_text(beta), o.g);
  const std::string by =
      s.text("mode", "standard") == "standard" ? v : fmt::format("({} + {} * {})", o.g, alpha, v);
  return {fmt::format("{} - {} * {}", o.x, s.name(0), by), v};
}
std::vector<std::string> adagrad(Step& s, const Optimized& o) {
  const std::string h = fmt::format("({0} + {1} * {1})", o.states.at(0), o.g);
  const double slower = 1 + static_cast<double>(s.ints(1).at(0)) * s.real("decay_factor", 0);
  return {fmt::format("{} - {} / {} * {} / (sqrt({}) + {})", o.x, s.name(0), real_text(slower), o.g,
                      h, real_text(s.real("epsilon", 1e-6))),
          h};
}
std::vector<std::string> adam(Step& s, const Optimized& o) {
  const double a = s.real("alpha", 0.9), b = s.real("beta", 0.999);
  const auto t = static_cast<double>(s.ints(1).at(0));
  const std::string v =
      fmt::format("({} * {} + {} * {})", real_text(a), o.states.at(0), real_text(1 - a), o.g);
  const std::string h = fmt::format("({0} * {1} + {2} * ({3} * {3}))", real_text(b), o.states.at(1),
                                    real_text(1 - b), o.g);
  const double rate = t > 0 ? std::sqrt(1 - std::pow(b, t)) / (1 - std::pow(a, t)) : 1;
  return {fmt::format("({} - {} * {} * {} / (sqrt({}) + {})) * {}", o.x, s.name(0), real_text(rate),
                      v, h, real_text(s.real("epsilon", 1e-6)),
                      real_text(1 - s.real("norm_coefficient_post", 0))),
          v, h};
}

}  // namespace

std::vector<NamedRow> elementwise_rows() {
  std::vector<NamedRow> rows = {
      {"Abs", formula("abs({0})")},
      {"Acos", formula("acos({0})")},
      {"Acosh", formula("acosh({0})")},
      {"Asin", formula("asin({0})")},
      {"Asinh", formula("asinh({0})")},
      {"Atan", formula("atan({0})")},
      {"Atanh", formula("atanh({0})")},
      {"Ceil", formula("ceil({0})")},
      {"Cos", formula("cos({0})")},
      {"Cosh", formula("cosh({0})")},
      {"Erf", formula("erf({0})")},
      {"Exp", formula("exp({0})")},
      {"Floor", formula("floor({0})")},
      {"Log", formula("log({0})")},
      {"Relu", formula("relu({0})")},
      {"Round", formula("round({0})")},
      {"Sigmoid", formula("sigmoid({0})")},
      {"Sign", formula("sign({0})")},
      {"Sin", formula("sin({0})")},
      {"Sinh", formula("sinh({0})")},
      {"Softplus", formula("softplus({0})")},
      {"Softsign", formula("softsign({0})")},
      {"Sqrt", formula("sqrt({0})")},
      {"Tan", formula("tan({0})")},
      {"Tanh", formula("tanh({0})")},
      {"Mish", formula("mish({0})")},
      {"Identity", formula("{0}")},
      {"Neg", formula("-{0}")},
      {"Not", formula("bit_not({0})")},
      {"Reciprocal", formula("recip({0})")},
      {"IsNaN", formula("{0} != {0}")},
      {"IsInf", is_infinite},
      {"Add", formula("{0} + {1}")},
      {"Sub", formula("{0} - {1}")},
      {"Mul", formula("{0} * {1}")},
      {"Div", formula("{0} / {1}")},
      {"Pow", power},
      {"Mod",
       [](Step& s) {
         return Texts{
             "",
             {fmt::format(fmt::runtime(s.whole("fmod", 0) != 0 ? "{} % {}" : "remainder({}, {})"),
                          s.name(0), s.name(1))}};
       }},
      {"And", [](Step& s) { return logic(s, "bit_and"); }},
      {"Or", [](Step& s) { return logic(s, "bit_or"); }},
      {"Xor", [](Step& s) { return logic(s, "xor"); }},
      {"BitwiseAnd", [](Step& s) { return logic(s, "bit_and"); }},
      {"BitwiseOr", [](Step& s) { return logic(s, "bit_or"); }},
      {"BitwiseXor", [](Step& s) { return logic(s, "xor"); }},
      {"BitwiseNot", formula("bit_not({0})")},
      {"BitShift",
       [](Step& s) {
         return logic(s, s.text("direction", "") == "LEFT" ? "shift_left" : "shift_right_logical");
       }},
      {"Equal", formula("{0} == {1}")},
      {"Less", formula("{0} < {1}")},
      {"LessOrEqual", formula("{0} <= {1}")},
      {"Greater", formula("{0} > {1}")},
      {"GreaterOrEqual", formula("{0} >= {1}")},
      {"Where", formula("where({0}, {1}, {2})")},
      {"Max", each("maximum")},
      {"Min", each("minimum")},
      {"Sum", each("add")},
      {"Mean",
       [](Step& s) {
         return Texts{"", {fmt::format("{} / {}", nested("add", s.given()), s.given().size())}};
       }},
      {"Clip", one(clip)},
      {"Cast", cast},
      {"CastLike", [](Step& s) { return cast_to(s, s.type(1)); }},
      {"Elu", formula("elu({0}, alpha={alpha=1.0})")},
      {"Celu", formula("celu({0}, alpha={alpha=1.0})")},
      {"Selu",
       [](Step& s) {
         if (s.op.attributes.empty()) return Texts{"", {fmt::format("selu({})", s.name(0))}};
         return Texts{"",
                      {fmt::format("elu({}, alpha={}) * {}", s.name(0),
                                   real_text(s.real("alpha", 1.67326319217681884765625)),
                                   real_text(s.real("gamma", 1.05070102214813232421875)))}};
       }},
      {"LeakyRelu", formula("leaky_relu({0}, slope={alpha=0.01})")},
      {"PRelu", formula("where({0} < 0, {0} * {1}, {0})")},
      {"HardSigmoid", formula("clamp({0} * {alpha=0.2} + {beta=0.5}, 0, 1)")},
      {"HardSwish", formula("hardswish({0})")},
      {"Gelu",
       [](Step& s) {
         return Texts{
             "",
             {fmt::format("gelu{}({})", s.text("approximate", "none") == "tanh" ? "_tanh" : "",
                          s.name(0))}};
       }},
      {"com.microsoft.Gelu", formula("gelu({0})")},
      {"com.microsoft.QuickGelu", formula("{0} * sigmoid({alpha=1.702} * {0})")},
      {"ThresholdedRelu", formula("thresholded_relu({0}, alpha={alpha=1.0})")},
      {"Shrink", formula("shrink({0}, lambd={lambd=0.5}, bias={bias=0.0})")},
      {"HannWindow", window({0.5, -0.5})},
      {"HammingWindow", window({25.0 / 46, -21.0 / 46})},
      {"BlackmanWindow", window({0.42, -0.5, 0.08})},
      {"Momentum", optimizer(momentum)},
      {"Adagrad", optimizer(adagrad)},
      {"Adam", optimizer(adam)},
      {"ReduceSum", reduced("sum({x}, {axes})")},
      {"ReduceMean", reduced("mean({x}, {axes})")},
      {"ReduceMax", reduced("max({x}, {axes})")},
      {"ReduceMin", reduced("min({x}, {axes})")},
      {"ReduceProd", reduced("prod({x}, {axes})")},
      {"ReduceL1", reduced("l1_norm({x}, {axes})")},
      {"ReduceL2", reduced("l2_norm({x}, {axes})")},
      {"ReduceSumSquare", reduced("sum({x} * {x}, {axes})")},
      {"ReduceLogSum", reduced("log(sum({x}, {axes}))")},
      {"ReduceLogSumExp", one(log_sum_exp)},
      {"CumSum", one(cumulated)},
      {"ArgMax", extreme_index("argmax")},
      {"ArgMin", extreme_index("argmin")},
      {"TopK", top_k},
      {"Softmax", on_last("softmax")},
      {"LogSoftmax", on_last("log_softmax")},
      {"Hardmax", on_last("hardmax")},
      {"Det", one(determinant)},
      {"Gemm", one(gemm)},
      {"MatMul", formula("{0} @ {1}")},
      {"Einsum", one(einsum)},
      {"MatMulInteger",
       [](Step& s) {
         return Texts{"", {fmt::format("{} @ {}", difference(s, 0, 2), difference(s, 1, 3))}};
       }},
      {"QLinearMatMul", one(quantized_matmul)},
      {"DynamicQuantizeLinear", dynamic_quantize},
      {"QuantizeLinear",
       [](Step& s) {
         return Texts{"",
                      {fmt::format("quantize({}, axis={})", fmt::join(s.given(), ", "),
                                   s.whole("axis", 1))}};
       }},
      {"DequantizeLinear",
       [](Step& s) {
         return Texts{"",
                      {fmt::format("dequantize({}, axis={})", fmt::join(s.given(), ", "),
                                   s.whole("axis", 1))}};
       }},
  };
  return rows;
}

namespace {

const std::map<std::string_view, Row>& table() {
  static const std::map<std::string_view, Row> all = [] {
    std::map<std::string_view, Row> rows;
    for (auto* topic : {elementwise_rows, layer_rows, moving_rows, stablehlo_rows})
      for (NamedRow& row : topic()) rows.emplace(row.kind, std::move(row.row));
    return rows;
  }();
  return all;
}

}  // namespace

const Row* row_named(std::string_view kind) {
  constexpr std::string_view kTraining = "ai.onnx.preview.training.";
  if (kind.starts_with(kTraining)) kind.remove_prefix(kTraining.size());
  const auto it = table().find(kind);
  return it == table().end() ? nullptr : &it->second;
}

std::vector<std::string_view> operators() {
  std::vector<std::string_view> names;
  for (const auto& [kind, row] : table()) names.push_back(kind);
  return names;
}

}  // namespace touchstone::model
