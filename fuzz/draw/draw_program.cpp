#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "touchstone/fuzz/edges.h"
#include "touchstone/fuzz/program.h"
#include "touchstone/fuzz/values.h"
#include "touchstone/ops/op.h"

namespace touchstone::fuzz {
namespace {

using Sizes = std::vector<std::int64_t>;

std::string words(const Sizes& sizes) {
  return sizes.empty() ? "()" : fmt::format("{}", fmt::join(sizes, ","));
}

class ProgramDraw {
 public:
  ProgramDraw(Chooser& chooser, const ProgramKind& kind)
      : chooser_(chooser), smooth_(kind.gradients), left_out_(chooser.below(1 << 20)) {}

  std::string draw() {
    for (std::uint64_t types = 1 + (smooth_ ? 0 : chooser_.below(3)); types > 0; --types)
      types_.push_back(smooth_ ? DType::Float64 : any_type());
    Sizes shape;
    for (std::uint64_t rank = chooser_.below(4); rank > 0; --rank) {
      constexpr std::int64_t kSizes[] = {2, 3, 1, 4, 2, 3, 1, 0};
      shape.push_back(kSizes[chooser_.below(smooth_ ? 7 : 8)]);
      if (product(shape) > most_inputs()) shape.back() = 1;
    }
    if (!smooth_ && !shape.empty() && chooser_.chance(1, 12))  // where a reduce may be split
      shape[static_cast<std::size_t>(chooser_.index(shape.size()))] = 16;
    often_constant_ = !smooth_ && chooser_.chance(1, 8);
    if (!smooth_ && chooser_.chance(1, often_constant_ ? 2 : 12))
      constant({shape, types_[0]});
    else
      input(shape, types_[0]);
    for (std::uint64_t more = 1 + chooser_.below(8); more > 0; --more) step();
    return text_;
  }

 private:
  std::int64_t most_inputs() const { return smooth_ ? 6 : 24; }

  DType any_type() {
    constexpr DType kSimplestFirst[] = {
        DType::Float32, DType::Int32,  DType::Bool,    DType::Float16,    DType::Int8,
        DType::UInt8,   DType::Int64,  DType::Float64, DType::BFloat16,   DType::UInt32,
        DType::Int16,   DType::UInt64, DType::UInt16,  DType::Float8E4M3, DType::Float8E5M2};
    return kSimplestFirst[chooser_.below(kDTypeCount)];
  }

  int last() const { return static_cast<int>(known_.size()) - 1; }
  const ProgramType& type(int i) const { return known_[static_cast<std::size_t>(i)]; }

  int emit(const std::string& statement, ProgramType result) {
    if (!text_.empty()) text_ += "; ";
    text_ += statement;
    known_.push_back(std::move(result));
    return last();
  }

  static constexpr std::uint64_t kZeros = 4, kInfinite = 5, kAnyFamily = 6;  // of inputs

  int input(const Sizes& shape, DType dtype, std::uint64_t wanted = kAnyFamily) {
    std::string values;
    const std::int64_t n = std::clamp<std::int64_t>(product(shape), 1, smooth_ ? 64 : 7);
    // Small numbers; any; those at an edge of their type; zeros of both signs, and ones; what is
    // neutral or hides the other operand.
    const std::uint64_t family = smooth_                ? 0
                                 : wanted == kAnyFamily ? chooser_.below(kAnyFamily)
                                                        : wanted;
    static constexpr std::string_view kSigned[] = {"0", "-0.0", "1", "0"};
    for (std::int64_t i = 0; i < n; ++i) {
      if (smooth_)  // no two alike, and none near where a kink would be
        values += fmt::format(" {}", static_cast<double>(chooser_.between(-12, 12)) / 8 + 0.03 +
                                         0.001 * static_cast<double>(i + std::int64_t{7} * last()));
      else if (family == 3)
        values += " " + chooser_.pick(edge_values(dtype)).str();
      else if (family == kInfinite)
        values += " " + (chooser_.chance(1, 6) && is_float(dtype)
                             ? "nan"
                             : chooser_.pick(neutral_values(dtype)).str());
      else if (family == kZeros && is_float(dtype))
        values += fmt::format(" {}", kSigned[chooser_.below(4)]);
      else if (family == 2 && !is_bool(dtype))
        values += " " + any_number(dtype).str();
      else if (is_float(dtype))
        values += fmt::format(" {}", static_cast<double>(chooser_.between(-8, 8)) / 4);
      else if (is_bool(dtype))
        values += chooser_.chance(1, 2) ? " 1" : " 0";
      else
        values += fmt::format(" {}", Scalar::from_int(dtype, chooser_.between(-4, 9)).str());
    }
    return emit(fmt::format("{} {}:{}", name(dtype), words(shape), values), {shape, dtype});
  }

  // Of a float, all digits are in use; an integer is anywhere in its range.
  Scalar any_number(DType dtype) {
    const std::uint64_t bits = chooser_.below(std::uint64_t{1} << 53);
    if (is_float(dtype))
      return Scalar::from_double(dtype, (static_cast<double>(bits) * 0x1p-52 - 1) * 4);
    return Scalar::from_bits(dtype, (bits * 0x9e3779b97f4a7c15U) >> (64 - 8 * itemsize(dtype)));
  }

  // The constants that rules look for, and others.
  int constant(const ProgramType& wanted) {
    return chooser_.chance(1, 2) ? constant(wanted, chooser_.pick(edge_values(wanted.dtype)).str())
                                 : usual_constant(wanted);
  }
  int usual_constant(const ProgramType& wanted) {
    static constexpr std::string_view kUsual[] = {"0", "1", "-1", "-0.0", "2"};
    return constant(wanted, std::string(kUsual[chooser_.below(5)]));
  }
  int constant(const ProgramType& wanted, std::string value) {
    if (!is_float(wanted.dtype) && value == "-0.0") value = "0";
    if (value == "-1" && !is_float(wanted.dtype) && info(wanted.dtype).kind != DTypeKind::Signed)
      value = "1";
    if (is_bool(wanted.dtype)) value = chooser_.chance(1, 2) ? "1" : "0";
    return emit(fmt::format("const {} {}: {}", name(wanted.dtype), words(wanted.shape), value),
                wanted);
  }

  // A value of this type: one that is there, or a new input.
  int operand(const ProgramType& wanted) {
    if (!smooth_ && chooser_.chance(often_constant_ ? 4 : 1, 6)) return constant(wanted);
    std::vector<int> fitting;
    for (int i = last(); i >= 0; --i)
      if (type(i) == wanted) fitting.push_back(i);
    if (fitting.empty() || chooser_.chance(1, 3))
      return product(wanted.shape) > most_inputs() && !fitting.empty() ? fitting[0]
                                                                       : input_like(wanted);
    return chooser_.pick(fitting);
  }

  // An input, expanded where it would be large.
  int input_like(const ProgramType& wanted, std::uint64_t family = kAnyFamily) {
    Sizes small = wanted.shape;
    for (std::size_t i = 0; i < small.size() && product(small) > most_inputs(); ++i) small[i] = 1;
    const int from = input(small, wanted.dtype, family);
    if (small == wanted.shape) return from;
    return emit(fmt::format("expand %{} {}", from, words(wanted.shape)), wanted);
  }

  void step() {
    const int x = chooser_.chance(1, 4) ? chooser_.index(known_.size()) : last();
    using Make = void (ProgramDraw::*)(int);
    static constexpr Make kAll[] = {
        &ProgramDraw::unary,   &ProgramDraw::binary,   &ProgramDraw::movement,
        &ProgramDraw::reduce,  &ProgramDraw::choice,   &ProgramDraw::settle,
        &ProgramDraw::special, &ProgramDraw::meet,     &ProgramDraw::broadcast,
        &ProgramDraw::folded,  &ProgramDraw::gathered, &ProgramDraw::carried,
        &ProgramDraw::padded};
    static constexpr std::size_t kWhich[] = {0, 1, 2, 2, 3, 1, 4, 5, 2, 6, 7, 8, 3, 9, 10, 11, 12};
    const std::size_t which = kWhich[chooser_.below(std::size(kWhich))];
    const bool out = (left_out_ >> (2 * which) & 3) == 3;
    (this->*kAll[out ? 0 : which])(x);
  }

  void unary(int x) {
    static constexpr std::string_view kSmooth[] = {"neg",     "square", "sin",   "exp2s",
                                                   "sqrtp",   "recipp", "log2p", "tanh",
                                                   "sigmoid", "gelu",   "relu",  "abs"};
    if (smooth_) {
      emit(fmt::format("{} %{}", kSmooth[chooser_.below(std::size(kSmooth))], x), type(x));
      return;
    }
    std::vector<std::string> names;
    for (const OpInfo& row : op_table)
      if (is_elementwise(row.op) && row.arity == 1 && row.op != Op::Noop && row.op != Op::Cast &&
          takes(row.op, type(x).dtype))
        names.push_back(lower(row.name));
    if (names.empty()) {
      special(x);
      return;
    }
    emit(fmt::format("{} %{}", chooser_.pick(names), x), type(x));
  }

  static std::string lower(std::string_view name) {
    std::string text(name);
    for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    return text;
  }

  void binary(int x) {
    const ProgramType t = type(x);
    std::vector<std::string> names;
    if (smooth_) {
      names = {"add", "mul", "sub", "maximum", "minimum"};
    } else {
      for (const OpInfo& row : op_table)
        if (is_elementwise(row.op) && row.arity == 2 && takes(row.op, t.dtype))
          names.push_back(lower(row.name));
    }
    const std::string name = chooser_.pick(names);
    const int y = operand(t);
    const bool compares = name == "cmplt" || name == "cmpeq";
    emit(chooser_.chance(1, 2) ? fmt::format("{} %{} %{}", name, y, x)
                               : fmt::format("{} %{} %{}", name, x, y),
         {t.shape, compares ? DType::Bool : t.dtype});
  }

  // Two values of one type as one.
  void joined(int x, int y) {
    const ProgramType t = type(x);
    std::vector<std::string> names;
    for (const OpInfo& row : op_table)
      if (is_elementwise(row.op) && row.arity == 2 && row.op != Op::CmpLt && row.op != Op::CmpEq &&
          takes(row.op, t.dtype))
        names.push_back(lower(row.name));
    emit(fmt::format("{} %{} %{}", chooser_.pick(names), x, y), t);
  }

  // A value read twice, once turned, shifted, transposed, as it is kept that way, or through an
  // operation.
  void meet(int x) {
    const ProgramType t = type(x);
    const std::size_t rank = t.shape.size();
    if (smooth_ || rank == 0) {
      unary(x);
      return;
    }
    int y = x;
    const auto axis = static_cast<std::size_t>(chooser_.index(rank));
    switch (chooser_.below(3)) {
      case 0: {
        std::string steps;
        for (std::size_t i = 0; i < rank; ++i)
          steps += fmt::format("{}{}", i == 0 ? "" : ",", i == axis ? -1 : 1);
        y = emit(fmt::format("stride %{} {}", x, steps), t);
        break;
      }
      case 1: {
        std::string ends, keep;
        ProgramType padded = t;
        ++padded.shape[axis];
        for (std::size_t i = 0; i < rank; ++i) {
          ends += fmt::format("{}{}:0", i == 0 ? "" : ",", i == axis ? 1 : 0);
          keep += fmt::format("{}0:{}", i == 0 ? "" : ",", t.shape[i]);
        }
        y = emit(fmt::format("pad %{} {}", x, ends), padded);
        y = emit(fmt::format("shrink %{} {}", y, keep), t);
        break;
      }
      default: {
        Sizes order(rank);
        std::iota(order.begin(), order.end(), 0);
        for (std::size_t i = 0; i < rank; ++i)
          if (i != axis && t.shape[i] == t.shape[axis]) std::swap(order[i], order[axis]);
        y = emit(fmt::format("permute %{} {}", x, words(order)), t);
      }
    }
    if (chooser_.chance(1, 3)) {
      unary(y);
      y = last();
    } else if (chooser_.chance(1, 4)) {
      y = emit(fmt::format("contiguous %{}", y), t);
    }
    chooser_.chance(1, 2) ? joined(x, y) : joined(y, x);
  }

  // What is computed, of one value or of two apart, and then padded: the padding is 0 whatever the
  // operations make of zeros, also where another shape is seen that no single view gives.
  void padded(int x) {
    if (smooth_ || type(x).shape.empty()) return unary(x);
    chooser_.chance(1, 2) ? unary(x) : binary(x);
    if (chooser_.chance(1, 2)) {
      const int a = last();
      const ProgramType own = type(a);
      unary(operand(own));
      if (const int b = last(); type(b) == type(a))
        chooser_.chance(1, 2) ? joined(a, b) : joined(b, a);
    }
    if (chooser_.chance(1, 3)) reduce(last());
    const ProgramType t = type(last());
    ProgramType wide = t;
    const auto axis = static_cast<std::size_t>(chooser_.index(t.shape.size()));
    ++wide.shape[axis];
    const bool front = chooser_.chance(1, 2);
    std::string ends, keep;
    for (std::size_t i = 0; i < t.shape.size(); ++i) {
      const std::string_view comma = i == 0 ? "" : ",";
      ends += fmt::format("{}{}", comma, i != axis ? "0:0" : front ? "1:0" : "0:1");
      // One element less, at the other end.
      const std::int64_t begin = i == axis && !front ? 1 : 0;
      keep += fmt::format("{}{}:{}", comma, begin, begin + t.shape[i]);
    }
    emit(fmt::format("pad %{} {}", last(), ends), wide);
    if (chooser_.chance(1, 2)) emit(fmt::format("shrink %{} {}", last(), keep), t);
    ProgramType seen = type(last());
    std::ranges::reverse(seen.shape);
    if (chooser_.chance(1, 2)) emit(fmt::format("reshape %{} {}", last(), words(seen.shape)), seen);
    if (chooser_.chance(1, 2)) chooser_.chance(1, 2) ? reduce(last()) : unary(last());
  }

  // Operands that folding may remove: a constant, with zeros of both signs, with infinities and the
  // ends of the type, or with another.
  void folded(int x) {
    const ProgramType t = type(x);
    if (smooth_) {
      unary(x);
      return;
    }
    constexpr std::uint64_t kBeside[] = {kZeros, kInfinite};
    const std::uint64_t beside = chooser_.below(3);
    const int a = beside == 2 ? usual_constant(t) : input_like(t, kBeside[beside]),
              b = usual_constant(t);
    chooser_.chance(1, 2) ? joined(a, b) : joined(b, a);
  }

  // A value expanded to the shape of one that is there, as what was reduced, and joined with it.
  void broadcast(int x) {
    const ProgramType t = type(x);
    std::vector<int> fitting;
    for (int i = last(); i >= 0 && !smooth_; --i) {
      bool fits = type(i).dtype == t.dtype && type(i).shape.size() == t.shape.size() &&
                  type(i).shape != t.shape;
      for (std::size_t k = 0; fits && k < t.shape.size(); ++k)
        fits = t.shape[k] == 1 || t.shape[k] == type(i).shape[k];
      if (fits) fitting.push_back(i);
    }
    if (fitting.empty()) {
      binary(x);
      return;
    }
    const int y = chooser_.pick(fitting);
    const int wide = emit(fmt::format("expand %{} {}", x, words(type(y).shape)), type(y));
    chooser_.chance(1, 2) ? joined(wide, y) : joined(y, wide);
  }

  // A value as a table, or as the positions in one: inside, at its ends and outside.
  void gathered(int x) {
    const ProgramType t = type(x);
    if (smooth_) {
      if (t.shape.empty() || t.shape[0] == 0) return unary(x);
      Sizes rows(static_cast<std::size_t>(chooser_.between(1, 3)));
      for (std::int64_t& row : rows) row = chooser_.between(-t.shape[0], t.shape[0] - 1);
      ProgramType chosen = t;
      chosen.shape[0] = std::ssize(rows);
      emit(fmt::format("rows %{} {}", x, words(rows)), chosen);
      return;
    }
    if (!t.shape.empty() && chooser_.chance(1, 2)) {
      const ProgramType row{Sizes(t.shape.begin() + 1, t.shape.end()), t.dtype};
      const int at = operand({row.shape, DType::Int64});
      emit(fmt::format("gather %{} %{}", x, at), row);
      return overwritten(x);
    }
    int at = x;
    if (t.dtype != DType::Int64)
      at = emit(fmt::format("cast %{} int64", x), {t.shape, DType::Int64});
    ProgramType table{t.shape, chooser_.pick(types_)};
    table.shape.insert(table.shape.begin(), chooser_.between(0, 4));
    if (product(table.shape) > 96) table.shape[0] = 1;
    const int from = operand(table);
    emit(fmt::format("gather %{} %{}", from, at), {t.shape, table.dtype});
    overwritten(from);
  }

  // Now and then the table that was read last is written to, and what it then has is read beside
  // what was read.
  void overwritten(int table) {
    const ProgramType t = type(table);
    if (t.shape[0] == 0 || !chooser_.chance(1, 6)) return;
    const int read = last();
    const int now = emit(fmt::format("assign %{} %{}", table, operand(t)), t);
    ProgramType first = t;
    first.shape[0] = 1;
    std::string keep = "0:1";
    for (std::size_t i = 1; i < t.shape.size(); ++i) keep += fmt::format(",0:{}", t.shape[i]);
    const int row = emit(fmt::format("shrink %{} {}", now, keep), first);
    const ProgramType all = type(read);
    const int beside = emit(fmt::format("reshape %{} {}", row, words(all.shape)), all);
    chooser_.chance(1, 2) ? joined(read, beside) : joined(beside, read);
  }

  void choice(int x) {
    const ProgramType t = type(x);
    if (smooth_) {
      const int a = operand(t), b = operand(t);
      emit(fmt::format("select %{} %{} %{}", x, a, b), t);
      return;
    }
    const int y = operand(t), condition = operand({t.shape, DType::Bool});
    emit(fmt::format("where %{} %{} %{}", condition, x, y), t);
  }

  void reduce(int x) {
    ProgramType t = type(x);
    Sizes axes;
    for (std::size_t i = 0; i < t.shape.size(); ++i)
      if (chooser_.chance(1, 2)) axes.push_back(static_cast<std::int64_t>(i));
    if (axes.empty() || (smooth_ && product(t.shape) == 0)) {
      unary(x);
      return;
    }
    static constexpr std::string_view kNames[] = {"reduce_sum", "reduce_max", "mean", "softmax"};
    const std::string_view name = kNames[chooser_.below(smooth_ ? 4 : 2)];
    if (name == "softmax") axes.resize(1);
    for (const std::int64_t a : axes)
      if (name != "softmax") t.shape[static_cast<std::size_t>(a)] = 1;
    emit(fmt::format("{} %{} {}", name, x, words(axes)), t);
  }

  // A copy that is reduced, or what is reduced copied, to another device and perhaps back.
  void carried(int x) {
    if (smooth_) return unary(x);
    static constexpr std::string_view kNames[] = {"copy", "away", "back", "away"};
    const bool first = chooser_.chance(1, 2);
    const std::string name(kNames[chooser_.below(4)]);
    if (first) emit(fmt::format("{} %{}", name, x), type(x));
    reduce(first ? last() : x);
    if (!first) emit(fmt::format("{} %{}", name, last()), type(last()));
  }

  void settle(int x) {
    static constexpr std::string_view kNames[] = {"realize", "contiguous", "copy",
                                                  "assign",  "away",       "back"};
    const std::string_view name = kNames[chooser_.below(smooth_ ? 2 : 6)];
    const ProgramType t = type(x);
    if (name == "assign") {
      const int to = operand(t);
      emit(fmt::format("assign %{} %{}", to, x), t);
    } else {
      emit(fmt::format("{} %{}", name, x), t);
    }
  }

  void special(int x) {
    const ProgramType t = type(x);
    if (smooth_) {
      if (t.shape.size() != 2) {
        binary(x);
        return;
      }
      const std::int64_t n = chooser_.between(1, 3);
      const int y = operand({{t.shape[1], n}, t.dtype});
      emit(fmt::format("matmul %{} %{}", x, y), {{t.shape[0], n}, t.dtype});
      return;
    }
    const DType to = chooser_.pick(types_);
    const bool bits = itemsize(to) == itemsize(t.dtype) && !is_bool(to) && !is_bool(t.dtype) &&
                      chooser_.chance(1, 3);
    emit(fmt::format("{} %{} {}", bits ? "bitcast" : "cast", x, name(to)), {t.shape, to});
  }

  void movement(int x) {
    const ProgramType t = type(x);
    Sizes now = t.shape;
    std::string argument;
    const auto add = [&](const std::string& word) {
      argument += (argument.empty() ? "" : ",") + word;
    };
    const std::int64_t most = smooth_ ? 24 : 96;
    std::string_view name;
    switch (chooser_.below(6)) {
      case 0: {
        name = "reshape";
        std::int64_t rest = product(t.shape);
        now.clear();
        if (rest == 0) {
          now = t.shape;
          now.push_back(1);
        }
        while (rest > 1 && now.size() < 4) {
          std::vector<std::int64_t> divisors;
          for (std::int64_t d = rest; d > 1; --d)
            if (rest % d == 0) divisors.push_back(d);
          now.push_back(chooser_.pick(divisors));
          rest /= now.back();
          if (chooser_.chance(1, 6)) now.push_back(1);
        }
        if (rest > 1) now.back() *= rest;
        argument = words(now);
        break;
      }
      case 1: {
        name = "permute";
        Sizes order(t.shape.size());
        std::iota(order.begin(), order.end(), 0);
        for (std::size_t i = order.size(); i > 1; --i)
          std::swap(order[i - 1], order[i - 1 - chooser_.below(i)]);
        for (std::size_t i = 0; i < order.size(); ++i)
          now[i] = t.shape[static_cast<std::size_t>(order[i])];
        argument = words(order);
        break;
      }
      case 2:
        name = "pad";
        for (std::int64_t& size : now) {
          std::int64_t a = chooser_.between(0, 2), b = chooser_.between(0, 1);
          size += a + b;
          if (product(now) > most) {
            size -= a + b;
            a = b = 0;
          }
          add(fmt::format("{}:{}", a, b));
        }
        break;
      case 3:
        name = "shrink";
        for (std::int64_t& size : now) {
          const std::int64_t a = chooser_.between(0, std::min<std::int64_t>(size, 1));
          const std::int64_t b = chooser_.between(0, std::min<std::int64_t>(size - a, 1));
          const bool all = a + b == size && smooth_;  // keep something
          add(all ? fmt::format("0:{}", size) : fmt::format("{}:{}", a, size - b));
          if (!all) size -= a + b;
        }
        break;
      case 4:
        name = "expand";
        for (std::int64_t& size : now) {
          const std::int64_t wide = size == 1 ? chooser_.between(1, 3) : size;
          if (product(now) * wide <= most * std::max<std::int64_t>(size, 1)) size = wide;
        }
        argument = words(now);
        break;
      default:
        name = "stride";
        for (std::int64_t& size : now) {
          constexpr std::int64_t kSteps[] = {1, -1, 2, -2};
          const std::int64_t by = kSteps[chooser_.below(4)];
          const std::int64_t width = by < 0 ? -by : by;
          size = (size + width - 1) / width;
          add(fmt::format("{}", by));
        }
        break;
    }
    emit(fmt::format("{} %{} {}", name, x, argument.empty() ? "()" : argument), {now, t.dtype});
  }

  Chooser& chooser_;
  bool smooth_, often_constant_ = false;
  std::uint64_t left_out_;
  std::vector<DType> types_;
  std::vector<ProgramType> known_;
  std::string text_;
};

}  // namespace

std::string draw_program(Chooser& chooser, const ProgramKind& kind) {
  return ProgramDraw(chooser, kind).draw();
}

}  // namespace touchstone::fuzz
