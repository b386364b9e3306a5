#include "bugs.h"

#include <algorithm>
#include <initializer_list>

namespace touchstone::power {
namespace {

using S = const Subject&;

bool is_sum(S s) { return s.op == Op::ReduceSum; }
bool is_max(S s) { return s.op == Op::ReduceMax; }
bool is_map(S s) { return !s.reduces(); }
bool floats(S s) { return is_float(s.dtype); }
bool signed_integers(S s) { return info(s.dtype).kind == DTypeKind::Signed; }
bool one_of(S s, std::initializer_list<Op> ops) {
  return std::find(ops.begin(), ops.end(), s.op) != ops.end();
}
int digits(DType d) { return info(d).digits; }
int bits(DType d) { return 8 * info(d).itemsize; }
bool narrows(S s) {  // a cast of floats that rounds
  return s.op == Op::Cast && floats(s) && is_float(s.to) &&
         (digits(s.to) < digits(s.dtype) || info(s.to).min_exponent > info(s.dtype).min_exponent);
}
bool float_to_integer(S s) { return s.op == Op::Cast && floats(s) && is_integer(s.to); }
bool integer_to_float(S s) { return s.op == Op::Cast && is_integer(s.dtype) && is_float(s.to); }
bool rounds(S s) {
  return floats(s) && (one_of(s, {Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Sqrt, Op::Recip}) ||
                       (narrows(s) && digits(s.to) < digits(s.dtype)));
}
bool commutes(S s) { return info(s.op).commutes || is_bool(s.dtype); }

const BugInfo kTable[] = {
    {Bug::DropLast, "last element or term left out", [](S) { return true; }},
    {Bug::DropFirst, "first element or term left out", [](S) { return true; }},
    {Bug::DropMiddle, "one element or term left out",
     [](S s) { return !is_max(s) && !(is_sum(s) && is_bool(s.dtype)); }},
    {Bug::TailDropped, "what is left after blocks of 8 left out", [](S) { return true; }},
    {Bug::Duplicate, "one term counted twice", [](S s) { return is_sum(s) && !is_bool(s.dtype); }},
    {Bug::Shift, "every read one element further on", [](S) { return true; }},
    {Bug::SwapResults, "neighbouring results swapped", [](S) { return true; }},
    {Bug::SwapOperands, "operands swapped",
     [](S s) { return (is_map(s) && info(s.op).arity == 2 && !commutes(s)) || s.op == Op::Where; }},
    {Bug::Misaligned, "one operand read from the neighbour",
     [](S s) { return s.dot || (is_map(s) && info(s.op).arity >= 2); }},
    {Bug::MaskOffByOne, "one term of the next row too many",
     [](S s) { return s.reduces() && !(is_sum(s) && is_bool(s.dtype)); }},
    {Bug::WrongRow, "last row read where the one before lies", [](S s) { return s.reduces(); }},
    {Bug::LaneLost, "one of 8 partial results lost",
     [](S s) { return is_sum(s) && !is_bool(s.dtype); }},
    {Bug::LaneTwice, "one of 8 partial results counted twice",
     [](S s) { return is_sum(s) && !is_bool(s.dtype); }},
    {Bug::StaleAccumulator, "a row starts from the result of the one before",
     [](S s) { return s.reduces(); }},
    {Bug::StartsAtOne, "a sum starts at 1", is_sum},
    {Bug::WrongIdentity, "a maximum starts at 0",
     [](S s) { return is_max(s) && (floats(s) || signed_integers(s)); }},
    {Bug::FiniteIdentity, "a maximum starts at the least finite number",
     [](S s) { return is_max(s) && floats(s); }},
    {Bug::NarrowAccumulator, "a sum in a type half as wide",
     [](S s) { return is_sum(s) && floats(s); }},
    {Bug::ShortSum, "an integer sum in half its bits",
     [](S s) { return is_sum(s) && is_integer(s.dtype); }},
    {Bug::SaturatingSum, "an integer sum that saturates",
     [](S s) { return is_sum(s) && is_integer(s.dtype); }},
    {Bug::ParitySum, "a sum of bools that is their parity",
     [](S s) { return is_sum(s) && is_bool(s.dtype); }},
    {Bug::SignOfOneTerm, "sign of one term wrong",
     [](S s) { return is_sum(s) && !is_bool(s.dtype); }},
    {Bug::SignLost, "sign of the result lost",
     [](S s) {
       return (floats(s) || signed_integers(s)) && s.to == s.dtype &&
              !one_of(s, {Op::Exp2, Op::Sqrt});
     }},
    {Bug::NegativeZeroLost, "-0 given as +0",
     [](S s) {
       return floats(s) && is_map(s) && is_float(s.to) && !one_of(s, {Op::Exp2, Op::Log2});
     }},
    {Bug::ZeroMinus, "NEG as 0 - x", [](S s) { return s.op == Op::Neg && floats(s); }},
    {Bug::ZerosInMax, "MAX of zeros the last one",
     [](S s) { return s.op == Op::Max && floats(s); }},
    {Bug::Tf32Inputs, "operands cut to 10 bits (TF32)",
     [](S s) {
       return (s.dot || one_of(s, {Op::Mul, Op::Add, Op::MulAcc})) && floats(s) &&
              digits(s.dtype) > 11;
     }},
    {Bug::Bf16Inputs, "operands rounded to bfloat16",
     [](S s) {
       return (s.dot || one_of(s, {Op::Mul, Op::Add, Op::MulAcc})) && floats(s) &&
              s.dtype != DType::BFloat16;
     }},
    {Bug::Truncates, "results truncated",
     [](S s) { return rounds(s) || (is_sum(s) && !s.dot && floats(s)); }},
    {Bug::TiesAway, "ties rounded away from zero",
     [](S s) {
       return rounds(s) && !one_of(s, {Op::Sqrt, Op::Recip, Op::Div});
     }},
    {Bug::DoubleRounding, "a cast that rounds twice",
     [](S s) {
       return (s.dtype == DType::Float64 && is_float(s.to) && digits(s.to) < 24 &&
               s.op == Op::Cast) ||
              (integer_to_float(s) && digits(s.dtype) > 53 &&
               (s.to == DType::BFloat16 || s.to == DType::Float32));
     }},
    {Bug::Flushes, "subnormals flushed to zero",
     [](S s) {
       return floats(s) &&
              ((is_map(s) && s.to == s.dtype && !one_of(s, {Op::Log2, Op::Neg, Op::Where})) ||
               narrows(s));
     }},
    {Bug::DividesByReciprocal, "x / y as x * (1 / y)",
     [](S s) { return s.op == Op::Div && floats(s); }},
    {Bug::SqrtByReciprocal, "sqrt(x) as x * (1 / sqrt(x))", [](S s) { return s.op == Op::Sqrt; }},
    {Bug::Exp2ByExp, "2^x as exp(x * 0.693147)", [](S s) { return s.op == Op::Exp2; }},
    {Bug::Log2ByLog, "log2(x) as log(x) * 1.4427 in half the digits",
     [](S s) { return s.op == Op::Log2; }},
    {Bug::ShortPi, "sin with a pi of the type's digits", [](S s) { return s.op == Op::Sin; }},
    {Bug::NanIgnored, "MAX ignores NaN",
     [](S s) {
       return one_of(s, {Op::Max, Op::ReduceMax}) && floats(s);
     }},
    {Bug::NanOnOneSide, "MAX as a > b ? a : b",
     [](S s) {
       return one_of(s, {Op::Max, Op::ReduceMax}) && floats(s);
     }},
    {Bug::NanCompares, "a < b as not (a >= b)", [](S s) { return s.op == Op::CmpLt && floats(s); }},
    {Bug::ComparesBits, "floats compared by their bits",
     [](S s) {
       return one_of(s, {Op::CmpEq, Op::CmpLt}) && floats(s);
     }},
    {Bug::WhereByProduct, "WHERE as c * a + (1 - c) * b",
     [](S s) { return s.op == Op::Where && floats(s); }},
    {Bug::SqrtOfNegative, "sqrt of what is below 0 gives 0", [](S s) { return s.op == Op::Sqrt; }},
    {Bug::Saturates, "the largest number instead of infinity",
     [](S s) {
       return floats(s) && (one_of(s, {Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Recip, Op::Exp2}) ||
                            (narrows(s) && info(s.to).max_exponent <= info(s.dtype).max_exponent));
     }},
    {Bug::IntegersSaturate, "integers saturate",
     [](S s) {
       return is_integer(s.dtype) &&
              (one_of(s, {Op::Add, Op::Sub, Op::Mul, Op::MulAcc}) || (s.op == Op::Neg));
     }},
    {Bug::IntegersThroughFloat, "integers through float32",
     [](S s) {
       return is_integer(s.dtype) && digits(s.dtype) > 24 &&
              one_of(s, {Op::Add, Op::Sub, Op::Mul, Op::Max});
     }},
    {Bug::OtherSign, "signed compared as unsigned, or the reverse",
     [](S s) {
       return is_integer(s.dtype) && one_of(s, {Op::CmpLt, Op::Max, Op::ReduceMax});
     }},
    {Bug::FloorsDivision, "integer division floors",
     [](S s) { return s.op == Op::Div && signed_integers(s); }},
    {Bug::FloorsRemainder, "MOD with the sign of the divisor",
     [](S s) { return s.op == Op::Mod && (floats(s) || signed_integers(s)); }},
    {Bug::OrForXor, "or for XOR", [](S s) { return s.op == Op::Xor; }},
    {Bug::AddendLost, "MULACC without its addend", [](S s) { return s.op == Op::MulAcc; }},
    {Bug::CastRounds, "float to integer rounds", float_to_integer},
    {Bug::CastWraps, "float to integer wraps", float_to_integer},
    {Bug::CastSaturates, "integer to integer saturates",
     [](S s) {
       return s.op == Op::Cast && is_integer(s.dtype) && is_integer(s.to) &&
              (bits(s.to) < bits(s.dtype) || (bits(s.to) == bits(s.dtype)) ||
               (signed_integers(s) && is_unsigned(s.to)));
     }},
    {Bug::CastNanIsLeast, "NaN to the least integer",
     [](S s) { return float_to_integer(s) && !is_unsigned(s.to); }},
    {Bug::CastBoolTruncates, "float to bool through int",
     [](S s) { return s.op == Op::Cast && floats(s) && is_bool(s.to); }},
    {Bug::CastZeroExtends, "a signed integer widened as if unsigned",
     [](S s) { return s.op == Op::Cast && signed_integers(s) && bits(s.to) > bits(s.dtype); }},
    {Bug::CastCutsInteger, "integer to float truncates",
     [](S s) { return integer_to_float(s) && digits(s.dtype) > digits(s.to); }},
};

}  // namespace

std::span<const BugInfo> bug_table() { return kTable; }

}  // namespace touchstone::power
