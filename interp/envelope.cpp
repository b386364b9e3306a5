#include "touchstone/interp/envelope.h"

#include <cstring>

#include "touchstone/interp/evaluator.h"
#include "touchstone/interp/fxn_for_op.h"

namespace touchstone::interp {
namespace {

template <class T, class R, class F>
void map1(const LegalBlock& a, LegalBlock& out, F f) {
  for (std::int64_t i = 0; i < out.count(); ++i) out.set<R>(i, f(a.get<T>(i)));
}

template <class T, class R, class F>
void map2(const LegalBlock& a, const LegalBlock& b, LegalBlock& out, F f) {
  for (std::int64_t i = 0; i < out.count(); ++i) out.set<R>(i, f(a.get<T>(i), b.get<T>(i)));
}

template <class T>
void apply_typed(Op op, const Profile& profile, std::span<const LegalBlock* const> in,
                 LegalBlock& out) {
  switch (op) {
    case Op::Noop:
      return map1<T, T>(*in[0], out, [](const Legal<T>& a) { return a; });
    case Op::Neg:
      return map1<T, T>(*in[0], out, legal::neg<T>);
    case Op::Add:
      return map2<T, T>(*in[0], *in[1], out, legal::add<T>);
    case Op::Sub:
      return map2<T, T>(*in[0], *in[1], out, legal::sub<T>);
    case Op::Mul:
      return map2<T, T>(*in[0], *in[1], out, legal::mul<T>);
    case Op::Max:
      return map2<T, T>(*in[0], *in[1], out, legal::max<T>);
    case Op::CmpLt:
      return map2<T, bool>(*in[0], *in[1], out, legal::cmplt<T>);
    case Op::CmpEq:
      return map2<T, bool>(*in[0], *in[1], out, legal::cmpeq<T>);
    case Op::MulAcc:
      for (std::int64_t i = 0; i < out.count(); ++i)
        out.set<T>(i, legal::mulacc(in[0]->get<T>(i), in[1]->get<T>(i), in[2]->get<T>(i)));
      return;
    case Op::Where:
      for (std::int64_t i = 0; i < out.count(); ++i)
        out.set<T>(i, legal::where(in[0]->get<bool>(i), in[1]->get<T>(i), in[2]->get<T>(i)));
      return;
    default:
      break;
  }
  if constexpr (!std::is_same_v<T, bool>) {
    if (op == Op::Div) return map2<T, T>(*in[0], *in[1], out, legal::div<T>);
    if (op == Op::Mod) return map2<T, T>(*in[0], *in[1], out, legal::mod<T>);
  }
  if constexpr (is_float_storage<T>) {
    if (op == Op::Sqrt) return map1<T, T>(*in[0], out, legal::sqrt<T>);
    if (op == Op::Recip) return map1<T, T>(*in[0], out, legal::recip<T>);
    if (op == Op::Exp2)
      return map1<T, T>(*in[0], out,
                        [&](const Legal<T>& a) { return legal::exp2(a, profile.exp2_ulp); });
    if (op == Op::Log2)
      return map1<T, T>(*in[0], out,
                        [&](const Legal<T>& a) { return legal::log2(a, profile.log2_ulp); });
    if (op == Op::Sin)
      return map1<T, T>(*in[0], out,
                        [&](const Legal<T>& a) { return legal::sin(a, profile.sin_ulp); });
  } else {
    if (op == Op::Xor) return map2<T, T>(*in[0], *in[1], out, legal::xor_<T>);
  }
  throw AstError(fmt::format("{} has no legal form for {}", name(op), name(dtype_v<T>)));
}

// A NaN's bits are free, so what is made of them is open.
template <class From, class To>
Legal<To> bitcast_legal(const Legal<From>& a) {
  if (!a.is_point()) return Legal<To>::anything();
  if constexpr (sizeof(From) == sizeof(To))
    return Legal<To>::point(std::bit_cast<To>(a.lo));
  else
    return Legal<To>::anything();
}

void apply_cast(const ProgramNode& node, const LegalBlock& in, LegalBlock& out) {
  with_storage(node.src_dtypes[0], [&]<class From>(std::type_identity<From>) {
    with_storage(node.dtype, [&]<class To>(std::type_identity<To>) {
      if (node.bitcast)
        map1<From, To>(in, out, bitcast_legal<From, To>);
      else if constexpr (std::is_same_v<From, To>)
        map1<From, To>(in, out, [](const Legal<From>& a) { return a; });
      else
        map1<From, To>(in, out, legal::cast<To, From>);
    });
  });
}

// Whether determined operands give determined results, the ones the reference computes.
bool stays_determined(const ProgramNode& node) {
  switch (node.op) {
    case Op::Exp2:
    case Op::Log2:
    case Op::Sin:
      return false;
    case Op::MulAcc:
      return !is_float(node.dtype);
    case Op::Div:
    case Op::Mod:
      return is_float(node.dtype);
    case Op::Cast:
      return !(node.bitcast && is_float(node.src_dtypes[0]));
    default:
      return true;
  }
}

class Envelope {
 public:
  using Block = LegalBlock;

  Envelope(std::span<Buffer* const> buffers, const Profile& profile)
      : buffers_(buffers), profile_(profile) {}

  void load(const ProgramNode& node, std::span<const std::int64_t> addresses, Block& out) const {
    const Buffer& buffer = *buffers_[static_cast<std::size_t>(node.buffer)];
    with_storage(node.dtype, [&]<class T>(std::type_identity<T>) {
      const T* memory = static_cast<const T*>(buffer.memory());
      fill<T>(addresses, out, [&](std::int64_t address) {
        if (address >= buffer.size())
          throw BufferError(fmt::format("a LOAD reaches element {} of buffer {}, which holds {}",
                                        address, node.buffer, buffer.size()));
        return memory[address];
      });
    });
  }

  void constant(const ProgramNode& node, std::span<const std::int64_t> addresses,
                Block& out) const {
    with_storage(node.dtype, [&]<class T>(std::type_identity<T>) {
      fill<T>(addresses, out, [value = node.value.as<T>()](std::int64_t) { return value; });
    });
  }

  void apply(const ProgramNode& node, std::span<const Block* const> operands, std::int64_t count,
             Block& out) {
    bool determined = stays_determined(node);
    for (const Block* b : operands) determined = determined && b->determined;
    out.resize(node.dtype, count, determined);
    if (determined) {
      plain_.clear();
      for (const Block* b : operands) plain_.push_back(&b->lo);
      const ElementwiseFxn fxn = node.op == Op::Cast
                                     ? fxn_for_cast(node.src_dtypes[0], node.dtype, node.bitcast)
                                     : fxn_for_op(node.op, node.src_dtypes.back());
      fxn(plain_, out.lo);
    } else if (node.op == Op::Cast) {
      apply_cast(node, *operands[0], out);
    } else {
      with_storage(node.src_dtypes.back(), [&]<class T>(std::type_identity<T>) {
        apply_typed<T>(node.op, profile_, operands, out);
      });
    }
  }

  std::unique_ptr<LegalReducer> reducer(const ProgramNode& node) const {
    return legal_reducer(node.op, node.dtype, node.accumulator);
  }

  void prepare(const ProgramNode& node, std::int64_t count, Block& out) const {
    out.resize(node.dtype, count, false);
  }

 private:
  template <class T, class Read>
  static void fill(std::span<const std::int64_t> addresses, Block& out, Read read) {
    out.resize(dtype_v<T>, static_cast<std::int64_t>(addresses.size()), true);
    T* to = out.lo.begin<T>();
    for (std::size_t i = 0; i < addresses.size(); ++i)
      to[i] = addresses[i] < 0 ? T{} : read(addresses[i]);
  }

  std::span<Buffer* const> buffers_;
  const Profile& profile_;
  std::vector<const interp::Block*> plain_;
};

}  // namespace

void LegalBlock::resize(DType dtype, std::int64_t count, bool is_determined) {
  lo.resize(dtype, count);
  determined = is_determined;
  if (determined) return;
  hi.resize(dtype, count);
  flags.resize(static_cast<std::size_t>(count));
}

void legal_results(const LazyOpPtr& kernel, std::span<Buffer* const> buffers,
                   const Profile& profile, const symbolic::Values& values,
                   const std::function<void(std::int64_t, const LegalBlock&)>& sink) {
  const Program program = make_program(values.empty() ? kernel : bind_variables(kernel, values));
  Envelope domain(buffers, profile);
  Evaluator<Envelope> evaluator(program, domain);
  evaluator.run(sink);
}

}  // namespace touchstone::interp
