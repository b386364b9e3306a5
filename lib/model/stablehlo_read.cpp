// StableHLO's text: modules as MLIR prints them, in the pretty or the generic form.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <set>

#include <fmt/ranges.h>

#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/dtype/scalar.h"
#include "touchstone/emit/foreign_types.h"
#include "touchstone/model/program.h"
#include "touchstone/model/stablehlo.h"

namespace touchstone::model {
namespace {

constexpr int kMostDepth = 64, kMostCalls = 64;

// An operation as it is written.
struct Written {
  std::vector<std::string> results, operands;  // "%0#1"
  std::vector<std::string> initial;            // operands of reduces after "init:"
  std::string kind, rest;                      // rest: attributes, without operands and regions
  std::vector<std::string> types, operand_types;
  struct Region {
    std::vector<std::string> arguments;
    std::vector<Written> operations;
  };
  std::vector<Region> regions;
  int line = 0;
};
struct WrittenFunction {
  std::vector<std::string> arguments, types;
  std::vector<Written> operations;
};

bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '$' ||
         c == '-';
}

// The texts between commas outside brackets.
std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> out;
  std::string part;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '<' || c == '(' || c == '[' || c == '{') ++depth;
    if ((c == '>' && (i == 0 || text[i - 1] != '-')) || c == ')' || c == ']' || c == '}') --depth;
    if (c == ',' && depth == 0) {
      out.push_back(part);
      part.clear();
    } else if (!part.empty() || c != ' ') {
      part += c;
    }
  }
  if (!part.empty()) out.push_back(part);
  for (std::string& p : out)
    while (!p.empty() && std::isspace(static_cast<unsigned char>(p.back())) != 0) p.pop_back();
  return out;
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  std::map<std::string, WrittenFunction, std::less<>> functions() {
    std::map<std::string, WrittenFunction, std::less<>> out;
    skip();
    while (at_ < text_.size()) {
      if (take("func.func")) {
        auto [name, f] = function();
        out[name] = std::move(f);
      } else if (take("module")) {
        const std::size_t begin = at_;
        until("{");
        if (text_.substr(begin, at_ - begin).find("attributes") != std::string_view::npos) {
          bracketed();
          until("{");
        }
        ++at_;
      } else if (peek() == '}') {
        ++at_;
      } else if (take("loc")) {
        bracketed();
      } else if (peek() == '#') {  // an alias of an attribute or a location
        while (at_ < text_.size() && peek() != '\n') ++at_;
      } else {
        fail("expected 'module' or 'func.func'");
      }
      skip();
    }
    return out;
  }

 private:
  // The character at the cursor; 0 at the end, which the cursor may be past.
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  char next_char() { return text_[at_++]; }
  std::string_view rest() const { return text_.substr(std::min(at_, text_.size())); }
  [[noreturn]] void fail(const std::string& why) const {
    const auto line = 1 + std::ranges::count(text_.substr(0, std::min(at_, text_.size())), '\n');
    throw ParseError(fmt::format("{}: line {}: {}", where_, line, why));
  }
  int line() {
    for (; counted_ < std::min(at_, text_.size()); ++counted_)
      line_ += text_[counted_] == '\n' ? 1 : 0;
    return line_;
  }
  void skip() {
    while (at_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(peek())) != 0)
        ++at_;
      else if (rest().starts_with("//"))
        while (at_ < text_.size() && peek() != '\n') ++at_;
      else
        return;
    }
  }
  // Spaces, but no line's end.
  void skip_blanks() {
    while (at_ < text_.size() && (peek() == ' ' || peek() == '\t')) ++at_;
  }
  bool take(std::string_view word) {
    if (!rest().starts_with(word)) return false;
    if (is_name(word.back()) && at_ + word.size() < text_.size() &&
        is_name(text_[at_ + word.size()]))
      return false;
    at_ += word.size();
    return true;
  }
  void expect(std::string_view word) {
    skip();
    if (!take(word)) fail(fmt::format("expected '{}'", word));
  }
  void until(std::string_view stop) {
    const std::size_t found = text_.find(stop, at_);
    if (found == std::string_view::npos) fail(fmt::format("expected '{}'", stop));
    at_ = found;
  }
  std::string name() {
    const std::size_t begin = std::min(at_, text_.size());
    while (at_ < text_.size() && is_name(peek())) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  // "%0" or "%0#1".
  std::string value() {
    if (at_ >= text_.size() || peek() != '%') fail("expected a value");
    ++at_;
    std::string out = "%" + name();
    if (at_ < text_.size() && peek() == '#') {
      ++at_;
      const std::string place = name();
      if (place != "0" || many_.contains(out)) out += "#" + place;
    } else if (many_.contains(out)) {
      out += "#0";
    }
    return out;
  }
  // The text in brackets, whose first is at the cursor.
  std::string bracketed() {
    const std::size_t begin = std::min(at_, text_.size());
    int depth = 0;
    for (; at_ < text_.size(); ++at_) {
      const char c = peek();
      if (c == '"') {
        at_ = text_.find('"', at_ + 1);
        if (at_ == std::string_view::npos) {
          at_ = begin;
          fail("a text without end");
        }
      } else if (c == '(' || c == '[' || c == '{' || c == '<') {
        ++depth;
      } else if (c == ')' || c == ']' || c == '}' || (c == '>' && text_[at_ - 1] != '-')) {
        if (--depth == 0) return std::string(text_.substr(begin, ++at_ - begin));
      }
    }
    at_ = begin;
    fail("a bracket without end");
  }

  std::pair<std::string, WrittenFunction> function() {
    skip();
    if (!take("public")) take("private");
    skip();
    if (at_ >= text_.size() || peek() != '@') fail("expected the function's name");
    ++at_;
    const std::string name = at_ < text_.size() && peek() == '"' ? quoted() : this->name();
    WrittenFunction f;
    skip();
    const std::string arguments = bracketed();
    for (const std::string& a :
         split(std::string_view(arguments).substr(1, arguments.size() - 2))) {
      const std::size_t colon = a.find(':');
      if (colon == std::string::npos || a[0] != '%') fail("expected arguments as %arg0: TYPE");
      f.arguments.push_back(a.substr(0, colon));
      std::string type = a.substr(std::min(a.find_first_not_of(' ', colon + 1), a.size()));
      for (const char* const more : {" {", " loc("})
        if (const std::size_t end = type.find(more); end != std::string::npos) type.resize(end);
      f.types.push_back(type);
    }
    until("{");
    // The results may have attributes in braces: the body is the brace at the line's end.
    while (true) {
      const std::size_t open = at_;
      const std::size_t next = text_.find_first_not_of(" \t", open + 1);
      if (next != std::string_view::npos && text_[next] == '\n') break;
      bracketed();
      until("{");
    }
    ++at_;
    f.operations = operations(0);
    expect("}");
    return {name, std::move(f)};
  }
  std::string quoted() {
    const std::size_t end = text_.find('"', at_ + 1);
    if (end == std::string_view::npos) fail("a text without end");
    const std::string out(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return out;
  }

  // Until the closing brace, which stays.
  std::vector<Written> operations(int depth) {
    if (depth > kMostDepth) fail("regions are nested too deeply");
    std::vector<Written> out;
    for (skip(); at_ < text_.size() && peek() != '}'; skip()) {
      out.push_back(operation(depth));
      if (++count_ > kMostOperations)
        fail(fmt::format("there are more than {} operations", kMostOperations));
    }
    return out;
  }

  Written::Region region(int depth, std::vector<std::string> arguments) {
    expect("{");
    skip();
    if (rest().starts_with("^")) {
      ++at_;
      name();
      if (at_ < text_.size() && peek() == '(') {
        const std::string all = bracketed();
        for (const std::string& a : split(std::string_view(all).substr(1, all.size() - 2)))
          arguments.push_back(a.substr(0, a.find(':')));
      }
      expect(":");
    }
    Written::Region out{std::move(arguments), operations(depth + 1)};
    expect("}");
    return out;
  }

  Written operation(int depth) {
    Written op;
    op.line = line();
    if (peek() == '%') {
      do {
        skip();
        ++at_;
        const std::string result = "%" + name();
        int count = 1;
        if (at_ < text_.size() && peek() == ':') {
          ++at_;
          const std::string digits = name();
          count = digits.size() > 4 || digits.empty() ? 0 : std::atoi(digits.c_str());
          many_.insert(result);
          for (int i = 0; i < count; ++i) op.results.push_back(fmt::format("{}#{}", result, i));
        } else {
          many_.erase(result);
          op.results.push_back(result);
        }
        skip();
      } while (take(","));
      expect("=");
      skip();
    }
    op.kind = peek() == '"' ? quoted() : name();
    if (op.kind.empty()) fail("expected an operation");
    std::vector<std::string> arguments;  // of the next region
    std::string types;
    bool in_types = false;
    while (at_ < text_.size()) {
      skip_blanks();
      if (at_ >= text_.size()) break;
      const char c = peek();
      if (c == '\n') {  // the operation goes on only with these
        const std::size_t begin = at_;
        skip();
        const std::string_view next = rest();
        if (next.starts_with("cond ") || next.starts_with("reducer(") || next.starts_with("do "))
          continue;
        at_ = begin;
        break;
      }
      if (c == '}') break;
      if (rest().starts_with("//")) {
        skip();
        break;
      }
      if (take("cond") || take("do")) {
        skip();
        op.regions.push_back(region(depth, loop_arguments_of(op)));
      } else if (take("reducer")) {
        std::vector<std::string> firsts, seconds;
        skip_blanks();
        while (at_ < text_.size() && peek() == '(') {
          const std::string all = bracketed();
          const auto pair = split(std::string_view(all).substr(1, all.size() - 2));
          if (pair.size() != 2) fail("expected reducer(%a: TYPE, %b: TYPE)");
          firsts.push_back(pair[0].substr(0, pair[0].find(':')));
          seconds.push_back(pair[1].substr(0, pair[1].find(':')));
          skip_blanks();
        }
        firsts.insert(firsts.end(), seconds.begin(), seconds.end());
        op.regions.push_back(region(depth, firsts));
      } else if (c == ':' && !in_types) {
        ++at_;
        in_types = true;
      } else if (in_types) {
        types += c == '(' || c == '<' ? bracketed() : std::string(1, next_char());
      } else if (c == '%') {
        op.operands.push_back(value());
      } else if (c == '(') {
        parenthesis(op, depth);
      } else if (c == '<' || c == '[' || c == '{') {
        op.rest += bracketed();
        if (at_ < text_.size() && peek() == ' ') op.rest += ' ';
      } else if (c == '"') {
        op.rest += "\"" + quoted() + "\"";
      } else {
        op.rest += c;
        ++at_;
        if (at_ < text_.size() && peek() == ' ') op.rest += ' ';
      }
    }
    op.operands.insert(op.operands.end(), op.initial.begin(), op.initial.end());
    read_types(op, types);
    return op;
  }

  // Operands with their names in a loop, or regions.
  void parenthesis(Written& op, int depth) {
    const std::size_t begin = at_++;
    skip();
    if (at_ < text_.size() && peek() == '{') {
      do {
        skip();
        op.regions.push_back(region(depth, {}));
        skip();
      } while (take(","));
      expect(")");
      return;
    }
    at_ = begin;
    const std::string all = bracketed();
    const std::size_t end = at_;
    if (op.kind != "stablehlo.while" && all.find('=') != std::string::npos) op.rest += all;
    std::string before;
    for (at_ = begin; at_ < end;) {
      if (peek() == '%') {
        const std::string v = value();
        skip_blanks();
        if (op.kind == "stablehlo.while" && at_ < end && peek() == '=')
          loop_[op.line].push_back(v);
        else if (before == "init")
          op.initial.push_back(v);
        else
          op.operands.push_back(v);
        before.clear();
      } else if (std::isalpha(static_cast<unsigned char>(peek())) != 0) {
        before = name();
      } else {
        ++at_;
      }
    }
    at_ = end;
  }
  std::vector<std::string> loop_arguments_of(const Written& op) { return loop_[op.line]; }

  void read_types(Written& op, std::string types) const {
    if (const std::size_t place = types.find("loc("); place != std::string::npos)
      types.resize(place);
    const std::size_t arrow = types.find("->");
    std::string results = arrow == std::string::npos ? types : types.substr(arrow + 2);
    const auto bare = [](std::string text) {
      while (!text.empty() && text.front() == ' ') text.erase(0, 1);
      while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0)
        text.pop_back();
      return text.starts_with("(") && text.ends_with(")") ? text.substr(1, text.size() - 2) : text;
    };
    op.types = split(bare(results));
    op.operand_types = arrow == std::string::npos ? op.types : split(bare(types.substr(0, arrow)));
    if (arrow == std::string::npos && op.kind == "stablehlo.select" && op.types.size() == 2)
      op.types.erase(op.types.begin());
    if (arrow == std::string::npos && op.types.size() == 1 && op.operand_types.size() != 2)
      op.operand_types.assign(op.operands.size(), op.types[0]);
    if (op.kind == "stablehlo.complex")  // the type is the result's
      for (std::string& type : op.operand_types)
        if (const std::size_t of = type.find("complex<"), end = type.rfind('>');
            of != std::string::npos && end != std::string::npos && end > of + 8)
          type.erase(end, 1).erase(of, 8);
  }

  const std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0, counted_ = 0, count_ = 0;
  int line_ = 1;
  std::set<std::string> many_;  // names of several results
  std::map<int, std::vector<std::string>> loop_;
};

// Operations of functions as one graph.
class Builder {
 public:
  Builder(const std::map<std::string, WrittenFunction, std::less<>>& functions,
          const std::string& where)
      : functions_(functions), where_(where) {}

  Graph graph(const WrittenFunction& main) {
    Graph out;
    std::map<std::string, std::string, std::less<>> names;
    for (std::size_t i = 0; i < main.arguments.size(); ++i) {
      const TensorType type = tensor_type(main.types[i]);
      Argument a{bare(main.arguments[i]), type.dtype, {}};
      a.shape.emplace();
      for (const std::int64_t size : type.shape) {
        if (size < 0)
          a.shape->emplace_back(std::in_place_type<std::string>, "?");
        else
          a.shape->emplace_back(size);
      }
      if (type.is_complex) a.shape->emplace_back(std::int64_t{2});
      names[main.arguments[i]] = a.name;
      out.inputs.push_back(std::move(a));
    }
    out.outputs = add(main.operations, "", names, out.operations, 0);
    return out;
  }

 private:
  using Names = std::map<std::string, std::string, std::less<>>;
  static std::string bare(const std::string& value) {
    return value.empty() ? value : value.substr(1);
  }
  [[noreturn]] void fail(const Written& op, const std::string& why) const {
    throw ParseError(fmt::format("{}: line {}: {}: {}", where_, op.line, op.kind, why));
  }
  static bool is_return(const std::string& kind) {
    return kind == "return" || kind == "func.return" || kind == "stablehlo.return";
  }
  std::string named(const Names& names, const Written& op, const std::string& value) const {
    const auto it = names.find(value);
    if (it == names.end()) fail(op, fmt::format("nothing computes its operand '{}'", value));
    return it->second;
  }

  // Returns the returned values. `prefix`: of the values of a function that is called.
  std::vector<std::string> add(const std::vector<Written>& written, const std::string& prefix,
                               Names& names, std::vector<Operation>& to, int calls) {
    if (calls > kMostCalls) throw ParseError(where_ + ": functions call each other too deeply");
    for (const Written& w : written) {
      if (++count_ > kMostOperations)
        throw ParseError(
            fmt::format("{}: there are more than {} operations, with those of functions called",
                        where_, kMostOperations));
      std::vector<std::string> operands;
      for (const std::string& v : w.operands) operands.push_back(named(names, w, v));
      if (is_return(w.kind)) return operands;
      if (w.kind == "call" || w.kind == "func.call") {
        const std::size_t sign = w.rest.find('@');
        std::string callee = sign == std::string::npos ? "" : w.rest.substr(sign + 1);
        while (!callee.empty() && !is_name(callee.back()) && callee.back() != '"')
          callee.pop_back();
        if (callee.starts_with('"')) callee = callee.substr(1, callee.find('"', 1) - 1);
        const auto f = functions_.find(callee);
        if (f == functions_.end()) fail(w, fmt::format("there is no function '{}'", callee));
        if (f->second.arguments.size() != operands.size())
          fail(w, "the function takes another number of operands");
        Names inner;
        for (std::size_t i = 0; i < operands.size(); ++i)
          inner[f->second.arguments[i]] = operands[i];
        const std::string inside = fmt::format(
            "{}{}.", prefix + (w.results.empty() ? callee : bare(w.results[0])), callee);
        const std::vector<std::string> made =
            add(f->second.operations, inside, inner, to, calls + 1);
        if (made.size() != w.results.size())
          fail(w, "the function returns another number of values");
        for (std::size_t i = 0; i < made.size(); ++i) names[w.results[i]] = made[i];
        continue;
      }
      Operation op;
      op.kind = w.kind;
      op.place = fmt::format("line {} {}", w.line, w.kind);
      op.inputs = operands;
      for (const std::string& r : w.results) {
        op.outputs.push_back(prefix + bare(r));
        names[r] = op.outputs.back();
      }
      op.attributes["text"] = w.rest;
      op.attributes["types"] = w.types;
      op.attributes["operand_types"] = w.operand_types;
      for (std::size_t i = 0; i < w.regions.size(); ++i) {
        Names inner = names;
        auto graph = std::make_shared<Graph>();
        for (const std::string& a : w.regions[i].arguments) {
          const std::string name = fmt::format("{}{}@{}", prefix, bare(a), w.line);
          inner[a] = name;
          graph->inputs.push_back({name, {}, {}});
        }
        graph->outputs = add(w.regions[i].operations, fmt::format("{}{}@", prefix, w.line), inner,
                             graph->operations, calls + 1);
        op.attributes[fmt::format("region{}", i)] = std::shared_ptr<const Graph>(std::move(graph));
      }
      to.push_back(std::move(op));
      if (to.size() > kMostOperations)
        throw ParseError(
            fmt::format("{}: there are more than {} operations", where_, kMostOperations));
    }
    if (!written.empty()) fail(written.back(), "it ends its function or region, and is no return");
    return {};
  }

  const std::map<std::string, WrittenFunction, std::less<>>& functions_;
  const std::string& where_;
  std::size_t count_ = 0;
};

}  // namespace

TensorType tensor_type(std::string_view text) {
  const std::string whole(text);
  const auto refuse = [&] { return ParseError(fmt::format("type '{}' is not supported", whole)); };
  while (text.ends_with(' ')) text.remove_suffix(1);
  if (!text.starts_with("tensor<") || !text.ends_with('>')) throw refuse();
  text = text.substr(7, text.size() - 8);
  TensorType out;
  while (!text.empty() &&
         (std::isdigit(static_cast<unsigned char>(text[0])) != 0 || text[0] == '?')) {
    const std::size_t x = text.find('x');
    if (x == std::string_view::npos || x > 15) throw refuse();
    std::int64_t size = -1;
    if (text[0] != '?' &&
        std::from_chars(text.data(), text.data() + x, size).ptr != text.data() + x)
      throw refuse();
    out.shape.push_back(size);
    text.remove_prefix(x + 1);
  }
  if (const std::size_t comma = text.find(", #"); comma != std::string_view::npos)
    text = text.substr(0, comma);
  if (text.starts_with("complex<") && text.ends_with('>')) {
    out.is_complex = true;
    text = text.substr(8, text.size() - 9);
  }
  const auto* word = std::ranges::find(emit::foreign_types, text, &emit::ForeignType::mlir);
  if (word == emit::foreign_types.end()) throw refuse();
  out.dtype = word->dtype;
  std::int64_t count = out.is_complex ? 2 : 1;
  for (const std::int64_t size : out.shape)
    if (size > 0 &&
        (__builtin_mul_overflow(count, size, &count) || count > (std::int64_t{1} << 34)))
      throw refuse();
  return out;
}

HostArray dense_elements(std::string_view text, const TensorType& type) {
  HostArray out{type.dtype, type.shape, {}};
  if (type.is_complex) out.shape.push_back(2);
  const std::size_t item = itemsize(type.dtype),
                    wanted = static_cast<std::size_t>(out.size()) * item;
  if (std::ranges::any_of(type.shape, [](std::int64_t n) { return n < 0; }) ||
      out.size() > (std::int64_t{1} << 28))
    throw ParseError("constant: its size is open or too large");
  const auto refuse = [&](const std::string& why) {
    return ParseError(fmt::format("constant: {} ({} elements of {} are wanted)", why, out.size(),
                                  name(type.dtype)));
  };
  if (wanted == 0) return out;
  const std::size_t begin = text.find("dense<");
  if (begin == std::string_view::npos) throw refuse("expected dense<...>");
  text.remove_prefix(begin + 6);
  if (text.starts_with("\"0x")) {  // the bytes of all elements
    const std::string_view digits = text.substr(3, text.find('"', 3) - 3);
    const auto digit = [&](char c) -> int {
      if (c >= '0' && c <= '9') return c - '0';
      const int lower = std::tolower(static_cast<unsigned char>(c));
      if (lower >= 'a' && lower <= 'f') return lower - 'a' + 10;
      throw refuse("a digit that is not hexadecimal");
    };
    std::string bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
      bytes += static_cast<char>(digit(digits[i]) * 16 + digit(digits[i + 1]));
    if (type.dtype == DType::Bool && bytes.size() * 8 >= wanted &&
        bytes.size() != wanted) {  // packed
      for (std::size_t i = 0; i < wanted; ++i)
        out.bytes += static_cast<char>(static_cast<unsigned char>(bytes[i / 8]) >> (i % 8) & 1);
      return out;
    }
    if (bytes.size() == item * (type.is_complex ? 2 : 1) && wanted > bytes.size())
      while (out.bytes.size() < wanted) out.bytes += bytes;
    else
      out.bytes = bytes;
    if (out.bytes.size() != wanted) throw refuse(fmt::format("{} bytes of elements", bytes.size()));
    if (type.dtype == DType::Bool)
      for (char& c : out.bytes) c = c != 0;
    return out;
  }
  std::string all;
  std::size_t at = 0;
  const std::size_t end = [&] {  // the bracket that closes dense<
    int depth = 1;
    for (std::size_t i = 0; i < text.size(); ++i) {
      depth += text[i] == '<' ? 1 : text[i] == '>' ? -1 : 0;
      if (depth == 0) return i;
    }
    return text.size();
  }();
  while (at < end) {
    const char c = text[at];
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '+') {
      ++at;
      continue;
    }
    const std::size_t first = at;
    while (at < end && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 ||
                        text[at] == '.' || text[at] == '-' || text[at] == '+'))
      ++at;
    std::string word(text.substr(first, at - first));
    std::uint64_t bits = 0;
    if (is_float(type.dtype) && word.starts_with("0x")) {
      bits = std::strtoull(word.c_str(), nullptr, 16);
      bits = Scalar::from_bits(type.dtype, bits).bits();
    } else {
      try {
        bits = Scalar::parse(type.dtype, word).bits();
      } catch (const Error& e) {
        throw refuse(e.what());
      }
    }
    out.bytes.append(reinterpret_cast<const char*>(&bits), item);
    if (out.bytes.size() > wanted) throw refuse("too many elements");
  }
  const std::size_t one = item * (type.is_complex ? 2 : 1);
  if (out.bytes.size() == one && wanted > one) {
    const std::string value = out.bytes;
    while (out.bytes.size() < wanted) out.bytes += value;
  }
  if (out.bytes.size() != wanted) throw refuse("too few elements");
  return out;
}

ModelProgram parse_stablehlo(std::string_view text, const std::string& where) try {
  const auto functions = Parser(text, where).functions();
  const auto main = functions.contains("main") || functions.size() != 1 ? functions.find("main")
                                                                        : functions.begin();
  if (main == functions.end()) throw ParseError(where + ": there is no function 'main'");
  ModelProgram program;
  program.dialect = "stablehlo";
  program.graph = Builder(functions, where).graph(main->second);
  return program;
} catch (const std::out_of_range&) {
  throw ParseError(where + ": the text ends within an operation");
}

ModelProgram read_model(const std::string& path) {
  return path.ends_with(".mlir") ? parse_stablehlo(read_file(path), path) : read_onnx(path);
}

}  // namespace touchstone::model
