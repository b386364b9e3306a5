#include <algorithm>
#include <array>
#include <set>

#include "touchstone/codegen/c_ops.h"
#include "touchstone/codegen/c_preamble.h"
#include "touchstone/codegen/c_renderer.h"
#include "touchstone/codegen/turned_copies.h"
#include "touchstone/codegen/vector_loops.h"

namespace touchstone {

namespace codegen {

namespace {

// Renders loops over lanes with vector types of clang and gcc: auto-vectorization keeps
// accumulators of more than two vectors in memory. Buffers are parameters of a separate function,
// because clang ignores `restrict` on locals and assumes that the output aliases the inputs.
class VectorRenderer final : public Renderer {
 public:
  explicit VectorRenderer(const LinearKernel& kernel)
      : Renderer(kernel),
        found_(vector_loops(kernel)),
        chunks_(chunks_in(kernel, found_)),
        turned_(turned_copies(kernel)),
        vectors_(kernel.steps.size()) {}

 private:
  // Vectorized loops are not split into chunks, nor are loops without a benefit.
  static Chunks chunks_in(const LinearKernel& kernel, const VectorLoops& vectors) {
    const Chunks chunks = chunks_of(kernel);
    const bool takes = (chunks.past || chunks.near) && !vectors.loops.contains(chunks.loop);
    return takes ? chunks : Chunks{};
  }

  // The lanes of one vector.
  struct Part {
    std::int64_t first = 0, width = 0;
  };

  static std::vector<Part> parts_of(const VectorLoops::Loop& loop) {
    std::vector<Part> parts;
    std::int64_t first = 0;
    for (const std::int64_t width : vector_widths(loop.lanes, loop.type)) {
      parts.push_back({first, width});
      first += width;
    }
    return parts;
  }

  static std::string type_name(DType type, std::int64_t width) {
    return joined(c_type(type), "x", width);
  }

  void begin(std::string_view symbol) override {
    // Inlining would optimise its body twice.
    append_all(out_, "static __attribute__((noinline)) void ", symbol, "_of(",
               fmt::format("{}", fmt::join(buffers(), ", ")),
               ", void* const* bufs, const i64* vars, i64 part, i64 parts) {\n");
    line("(void)bufs; (void)vars; (void)part; (void)parts;");
    std::set<std::pair<DType, std::int64_t>> types;
    for (const auto& [step, loop] : found_.loops)
      for (const Part& part : parts_of(loop)) types.emplace(loop.type, part.width);
    for (const int i : found_.in_memory)
      for (const Part& part : parts_of(lanes_of(i))) types.emplace(uop(i).dtype, part.width);
    // Buffer elements may be unaligned.
    for (const auto& [type, width] : types)
      line("typedef ", c_type(type), " ", type_name(type, width), " __attribute__((vector_size(",
           width * static_cast<std::int64_t>(itemsize(type)), "), aligned(", itemsize(type),
           "), may_alias));");
  }

  void step(int i) override {
    const LinearStep& u = uop(i);
    if (u.kind == StepKind::DefineAcc) return define(i);
    if (u.kind == StepKind::DefineGlobal) {
      text_[at(i)] = {joined("b", std::get<int>(u.arg)), true};
      return;
    }
    if (i == chunks_.loop) return open_chunks(i);
    if (i == chunks_.store && chunks_.past) return line("chunk[at] = ", src(u, 2).text, ";");
    if (u.kind == StepKind::EndLoop && u.src[0] == chunks_.loop) return close_chunks(i);
    if (near_ && is_short_near_zero(u, math_)) return sine_near_zero(i);
    if (turned_.contains(i)) return open_turned(i);
    if (turning_ != nullptr && turned(i)) return;
    if (u.kind == StepKind::EndLoop && runs_once(u.src[0])) return;
    if (u.kind == StepKind::Loop && !found_.loops.contains(i)) {
      spill_for(i);
      if (runs_once(i)) {
        text_[at(i)] = {"0", true};
        return;
      }
      if (stays_rolled(i)) line("#pragma clang loop unroll(disable)");
      return Renderer::step(i);
    }
    const auto known = found_.steps.find(i);
    if (known == found_.steps.end()) return Renderer::step(i);
    if (u.kind == StepKind::Loop) {
      loop_ = &found_.loops.at(i);
      parts_ = parts_of(*loop_);
      text_[at(i)] = {"0", true};
    } else if (u.kind != StepKind::EndLoop) {
      in_lanes(i, known->second);
    }
  }

  // The lanes beyond the last whole square, then one square at a time.
  void open_turned(int i) {
    const TurnedCopy& copy = turned_.at(i);
    const std::string& name = std::get<std::string>(uop(i).arg);
    spill_for(i);
    text_[at(i)] = {name, true};
    const std::int64_t whole = copy.lanes / TurnedCopy::kSide * TurnedCopy::kSide;
    if (whole < copy.lanes) {
      line("for (i64 ", name, " = ", whole, "; ", name, " < ", copy.lanes, "; ++", name, ") {");
      ++indent_;
      const int end = end_of(i);
      for (int k = i + 1; k <= end; ++k) step(k);
    }
    turning_ = &copy;
    line("for (i64 ", name, " = 0; ", name, " < ", whole, "; ", name, " += ", TurnedCopy::kSide,
         ") {");
    ++indent_;
  }
  // True for steps of a turned copy with special text: its first address, from the first term.
  bool turned(int i) {
    const LinearStep& u = uop(i);
    const TurnedCopy& copy = *turning_;
    const auto place = [&](std::size_t index) {
      return joined(src(u, 0).text, " + ", src(u, index).text);
    };
    if (i == copy.terms) {
      text_[at(i)] = {"0", true};
    } else if (i == copy.load) {
      text_[at(i)] = {place(1), true};
    } else if (i == copy.assign) {
      line("transpose_16(", place(2), ", ", copy.to_apart, ", ", src(u, 1).text, ", ",
           copy.from_apart, ");");
    } else if (u.kind == StepKind::EndLoop) {
      if (u.src[0] != copy.terms) turning_ = nullptr;
      return turning_ != nullptr;
    } else {
      return false;
    }
    return true;
  }

  // The last half of a sum: a single iteration, which the compiler would have to discover.
  bool runs_once(int loop) const {
    return loop != kernel_.split && uop(loop).src.size() == 2 && turns(loop) == 1;
  }

  // True for loops with many or an unknown number of iterations around other loops or sums:
  // unrolling them takes a quarter of the compile time and saves no run time.
  bool stays_rolled(int loop) const {
    constexpr std::int64_t kFew = 16;
    if (uop(loop).src.size() == 3) return false;  // the opt unroll sets the count
    if (const auto end = number(uop(loop).src[1]); end && loop != kernel_.split && *end <= kFew)
      return false;
    const int last = end_of(loop);
    for (int i = loop + 1; i < last; ++i)
      if (uop(i).kind == StepKind::DefineAcc ||
          (uop(i).kind == StepKind::Loop && !found_.loops.contains(i)))
        return true;
    return false;
  }

  void in_lanes(int i, LaneValue value) {
    switch (value) {
      case LaneValue::Same: return Renderer::step(i);
      case LaneValue::Index:  // of the first lane
      case LaneValue::Twice: return index(i);
      case LaneValue::Mask: masks_[i] = mask(i); return;
      case LaneValue::Vector: return vector(i);
    }
  }

  void index(int i) {
    const LinearStep& u = uop(i);
    for (std::size_t k = 0; k < 2; ++k) {
      if (text_[at(u.src[k])].text != "0" || std::get<IndexOp>(u.arg) == IndexOp::Sub) continue;
      if (std::get<IndexOp>(u.arg) == IndexOp::Mul) {
        text_[at(i)] = {"0", true};
        return;
      }
      text_[at(i)] = src(u, 1 - k);
      return;
    }
    Renderer::step(i);
  }

  void vector(int i) {
    const LinearStep& u = uop(i);
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      const Part& part = parts_[k];
      switch (u.kind) {
        case StepKind::Load:
          if (!found_.in_choices.contains(i)) load(i, i, k, "0");
          break;
        case StepKind::LoadAcc:
          if (found_.accumulators.contains(u.src[0]))
            name(i, k, {accumulator(u.src[0], k), true}, true);
          else
            name(i, k, {memory(src(u, 0), src(u, 1), part, true), false}, false);
          break;
        case StepKind::Store:
          line(memory(src(u, 0), src(u, 1), part, false), " = ", whole(u.src[2], k), ";");
          break;
        case StepKind::Assign:
          line(found_.accumulators.contains(u.src[0]) ? accumulator(u.src[0], k)
                                                      : memory(src(u, 0), src(u, 2), part, false),
               " = ", whole(u.src[1], k), ";");
          break;
        default:
          if (std::get<Op>(u.arg) == Op::Where)
            load(i, u.src[1], k, src(u, 2).operand());
          else
            name(i, k, computed(u, k), true);
      }
    }
  }

  LaneValue value_of(int i) const {
    const auto step = found_.steps.find(i);
    return step == found_.steps.end() ? LaneValue::Same : step->second;
  }

  // Placeholder for the lane number in a mask.
  static constexpr std::string_view kLane = "@";
  CText mask(int i) const {
    const LinearStep& u = uop(i);
    if (u.kind == StepKind::Cast) return masks_.at(u.src[0]);
    std::array<CText, 3> lanes;
    std::array<const CText*, 3> known{};
    for (std::size_t s = 0; s < u.src.size(); ++s) {
      const LaneValue value = value_of(u.src[s]);
      known[s] = &lanes[s];
      if (value == LaneValue::Same)
        known[s] = &src(u, s);
      else if (value == LaneValue::Mask)
        lanes[s] = masks_.at(u.src[s]);
      else
        lanes[s] = {
            joined(src(u, s).operand(), value == LaneValue::Twice ? " + 2 * " : " + ", kLane),
            false};
    }
    return c_index(std::get<IndexOp>(u.arg), COperands(known.data(), u.src.size()));
  }
  std::string mask_at(int i, std::string_view lane) const {
    std::string text;
    for (const char c : masks_.at(i).operand())
      if (c == kLane[0])
        text += lane;
      else
        text += c;
    return text;
  }

  // Names value i as a load, with `otherwise` in lanes that its mask cuts off, at the edges only.
  void load(int i, int loaded, std::size_t k, std::string_view otherwise) {
    const LinearStep& u = uop(loaded);
    const Part& part = parts_[k];
    const std::string type = type_name(loop_->type, part.width);
    const bool twice = value_of(u.src[1]) == LaneValue::Twice;
    const std::string there =
        twice ? every_second(src(u, 0), src(u, 1), part) : memory(src(u, 0), src(u, 1), part, true);
    if (u.src.size() == 2) return name(i, k, {there, false}, false);
    if (!masks_.contains(u.src[2]))
      return name(
          i, k,
          {joined(src(u, 2).operand(), " ? ", there, " : ", otherwise, " - (", type, "){0}"),
           false},
          false);
    const std::string own = joined("x", i, "_", k);
    line(type, " ", own, ";");
    line("if (", mask_at(u.src[2], joined(part.first)), " && ",
         mask_at(u.src[2], joined(part.first + part.width - 1)), ") ", own, " = ", there, ";");
    line("else {");
    line("  ", c_type(loop_->type), " t[", part.width, "];");
    line("  #pragma clang loop unroll(disable)");  // otherwise clang makes it one masked load
    line("  for (i64 l = ", part.first, "; l < ", part.first + part.width, "; ++l) t[l - ",
         part.first, "] = ", mask_at(u.src[2], "l"), " ? ", src(u, 0).text, "[",
         src(u, 1).operand(), twice ? " + 2 * l] : " : " + l] : ", otherwise, ";");
    line("  ", own, " = *(const ", type, "*)t;");
    line("}");
    add(i, {own, true});
  }

  CText computed(const LinearStep& u, std::size_t k) const {
    std::array<const CText*, 3> known{};
    for (std::size_t s = 0; s < u.src.size(); ++s) {
      const std::vector<CText>& own = vectors_[at(u.src[s])];
      known[s] = own.empty() ? &src(u, s) : &own[k];
    }
    if (std::get<Op>(u.arg) == Op::MulAcc) return fused(u, k);
    if (std::get<Op>(u.arg) == Op::Max)
      return {joined("max_lanes(", shared(u.src[0], k), ", ", shared(u.src[1], k), ")"), true};
    return c_alu(u, loop_->type, math_, COperands(known.data(), u.src.size()));
  }

  CText fused(const LinearStep& u, std::size_t k) const {
    const std::string type = type_name(loop_->type, parts_[k].width);
    std::string text = joined("fused_lanes(", type, ", ", parts_[k].width, ", __builtin_fma",
                              loop_->type == DType::Float32 ? "f" : "");
    for (const int s : u.src) append_all(text, ", ", shared(s, k));
    return {text + ")", true};
  }
  // As a vector: subtracting a zero vector broadcasts a scalar.
  std::string shared(int i, std::size_t k) const {
    if (!vectors_[at(i)].empty()) return vectors_[at(i)][k].text;
    return joined(text_[at(i)].operand(), " - (", type_name(loop_->type, parts_[k].width), "){0}");
  }

  // A value as a vector for part k of the lanes.
  std::string whole(int i, std::size_t k) const {
    if (!vectors_[at(i)].empty()) return vectors_[at(i)][k].text;
    const auto width = static_cast<std::size_t>(parts_[k].width);
    return fmt::format("({}){{{}}}", type_name(loop_->type, parts_[k].width),
                       fmt::join(std::vector<std::string>(width, text_[at(i)].text), ", "));
  }

  std::string memory(const CText& base, const CText& index, const Part& part, bool reads) const {
    return joined("*(", reads ? "const " : "", type_name(loop_->type, part.width), "*)(", base.text,
                  " + ", index.operand(), part.first > 0 ? " + " : "",
                  part.first > 0 ? joined(part.first) : std::string(), ")");
  }

  std::string every_second(const CText& base, const CText& index, const Part& part) const {
    std::vector<std::int64_t> numbers;
    for (std::int64_t n = 0; n < 2 * part.width; n += 2)
      numbers.push_back(n < part.width ? n : n + 1);
    return joined("every_second(", type_name(loop_->type, part.width), ", ", part.width, ", ",
                  base.text, " + ", index.operand(), part.first > 0 ? " + " : "",
                  part.first > 0 ? joined(2 * part.first) : std::string(), ", ",
                  fmt::format("{}", fmt::join(numbers, ", ")), ")");
  }

  static std::string accumulator(int i, std::size_t k) { return joined("acc", i, "_", k); }

  void add(int i, CText value) { vectors_[at(i)].push_back(std::move(value)); }
  void name(int i, std::size_t k, CText value, bool may_stand_inside) {
    if (may_stand_inside && stands_inside(i, value)) return add(i, std::move(value));
    line("const ", type_name(loop_->type, parts_[k].width), " x", i, "_", k, " = ", value.text,
         ";");
    add(i, {joined("x", i, "_", k), true});
  }

  // An accumulator in registers, with a copy in memory if other loops read it; or in memory.
  void define(int i) {
    const bool in_registers = found_.accumulators.contains(i);
    if (!in_registers && !found_.in_memory.contains(i)) return Renderer::step(i);
    const LinearStep& u = uop(i);
    const std::string name = joined("acc", i);
    text_[at(i)] = {name, true};
    const VectorLoops::Loop lanes = lanes_of(i);
    if (!in_registers || found_.read_elsewhere.contains(i))
      line(c_type(u.dtype), " ", name, "[", lanes.lanes, "];");
    const std::vector<Part> parts = parts_of(lanes);
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const std::string type = type_name(u.dtype, parts[k].width);
      const std::string place = in_registers
                                    ? joined(type, " ", accumulator(i, k))
                                    : joined("*(", type, "*)(", name, " + ", parts[k].first, ")");
      line(place, " = ", src(u, 0).operand(), " - (", type, "){0};");
    }
  }

  VectorLoops::Loop lanes_of(int accumulator) const {
    return {std::get<int>(uop(accumulator).arg), uop(accumulator).dtype};
  }

  // Stores the copies that a loop reads.
  void spill_for(int loop) {
    std::set<int> read;
    const int end = end_of(loop);
    for (int i = loop + 1; i < end; ++i)
      if (const LinearStep& u = uop(i); u.kind == StepKind::LoadAcc && u.src[1] == loop &&
                                        !found_.steps.contains(i) &&
                                        found_.accumulators.contains(u.src[0]))
        read.insert(u.src[0]);
    for (const int acc : read) {
      const std::vector<Part> parts = parts_of(lanes_of(acc));
      for (std::size_t k = 0; k < parts.size(); ++k)
        line("*(", type_name(uop(acc).dtype, parts[k].width), "*)(acc", acc, " + ", parts[k].first,
             ") = ", accumulator(acc, k), ";");
    }
  }

  // Chunks of the loop's elements. Non-temporal ones are buffered in the L1 cache: four cache lines
  // (with more, reads stall) or as many as keep functions busy.
  static constexpr std::int64_t kChunkBytes = 4096, kFunctionBytes = 1024, kStretchBytes = 256,
                                kBytesAhead = 1024, kLine = 64;
  void open_chunks(int i) {
    const LinearStep& u = uop(i);
    const DType type = uop(chunks_.store).dtype;
    const auto size = static_cast<std::int64_t>(itemsize(type));
    const std::int64_t bytes = !chunks_.past       ? kChunkBytes
                               : chunks_.functions ? kFunctionBytes
                                                   : kStretchBytes;
    const std::string &begin = src(u, 0).text, &end = src(u, 1).text;
    const bool shared = i == kernel_.split;
    spill_for(i);
    line("for (i64 from = ", shared ? joined("split_at(", end, ", part, parts)") : begin,
         ", to = ", shared ? joined("split_at(", end, ", part + 1, parts)") : end,
         ", count; from < to; from += count) {");
    ++indent_;
    if (chunks_.past) {
      line(c_memory_type(type), " chunk[", bytes / size, "] __attribute__((aligned(64)));");
      line("const i64 most = ", bytes / size, " - (i64)((u64)(", src(uop(chunks_.store), 0).text,
           " + ", base_text(chunks_.base), "from) % ", bytes, " / ", size, ");");
    } else {
      line("const i64 most = ", bytes / size, ";");
    }
    if (chunks_.near) line("u32 far = 0;");
    line("count = to - from < most ? to - from : most;");
    near_ = chunks_.near;
    if (chunks_.streams.empty()) return open_chunk(i, "0", "count");
    const std::int64_t stretch = kStretchBytes / size;
    line("for (i64 begin = 0; begin < count; begin += ", stretch, ") {");
    ++indent_;
    for (const Chunks::Stream& stream : chunks_.streams) ask_ahead(stream, stretch);
    line("const i64 end = count - begin < ", stretch, " ? count : begin + ", stretch, ";");
    open_chunk(i, "begin", "end");
  }
  std::string base_text(int base) const {
    return base == -1 ? std::string() : joined(text_[at(base)].operand(), " + ");
  }
  // Prefetches the lines of one stretch ahead; those of a whole chunk at once would queue. Uses
  // numeric addresses, since they may lie outside the buffer.
  void ask_ahead(const Chunks::Stream& stream, std::int64_t stretch) {
    const auto size = static_cast<std::int64_t>(itemsize(uop(stream.buffer).dtype));
    for (std::int64_t line_at = 0; line_at < stretch * size; line_at += kLine)
      line("__builtin_prefetch((const void*)((u64)", text_[at(stream.buffer)].text, " + (u64)(",
           base_text(stream.base), "from + begin) * ", size, " + ", kBytesAhead + line_at, "));");
  }
  void open_chunk(int loop, std::string_view begin, std::string_view end) {
    const std::string& name = std::get<std::string>(uop(loop).arg);
    line("for (i64 at = ", begin, "; at < ", end, "; ++at) {");
    ++indent_;
    line("const i64 ", name, " = from + at;");
    text_[at(loop)] = {name, true};
  }
  void close_chunks(int end) {
    for (int open = chunks_.streams.empty() ? 1 : 2; open > 0; --open) {
      --indent_;
      line("}");
    }
    if (near_) {
      near_ = false;
      line("if (far) {");
      ++indent_;
      open_chunk(chunks_.loop, "0", "count");
      for (int i = chunks_.loop + 1; i < end; ++i) step(i);
      --indent_;
      line("}");
      --indent_;
      line("}");
    }
    const LinearStep& store = uop(chunks_.store);
    if (chunks_.past)
      line("write_past_cache(", src(store, 0).text, " + ", base_text(chunks_.base),
           "from, chunk, count * ", itemsize(store.dtype), ");");
    --indent_;
    line("}");
  }
  void sine_near_zero(int i) {
    std::array<const CText*, 3> known{&src(uop(i), 0)};
    CText sine = c_alu(Op::Sin, DType::Float32, math_, COperands(known.data(), 1));
    sine.text.insert(0, "near_");
    sine.text.insert(sine.text.size() - 1, ", &far");
    name_value(i, std::move(sine));
  }

  const VectorLoops found_;
  const Chunks chunks_;
  const std::map<int, TurnedCopy> turned_;
  const TurnedCopy* turning_ = nullptr;
  bool near_ = false;                        // in a sine with arguments near 0
  std::vector<std::vector<CText>> vectors_;  // by step and part
  std::map<int, CText> masks_;
  const VectorLoops::Loop* loop_ = nullptr;
  std::vector<Part> parts_;
};

}  // namespace

}  // namespace codegen

std::string render_vector_function(const LinearKernel& kernel, std::string_view symbol) {
  std::string text = codegen::VectorRenderer(kernel).run(symbol);
  const bool past = text.find("write_past_cache(") != std::string::npos;
  codegen::append_all(text, "void ", symbol,
                      "(void* const* bufs, const i64* vars, i64 part, i64 parts) {\n  ", symbol,
                      "_of(");
  for (const BufferSpec& b : kernel.buffers) codegen::append_all(text, "bufs[", b.idx, "], ");
  return text + "bufs, vars, part, parts);\n" + (past ? "  order_past_cache();\n" : "") + "}\n";
}

std::string render_vector_c(const LinearKernel& kernel) {
  const std::string function = render_vector_function(kernel, kernel.name);
  return codegen::c_preamble(function) + "\n" + function;
}

}  // namespace touchstone
