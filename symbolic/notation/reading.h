#pragma once

#include <functional>
#include <set>
#include <utility>

#include "touchstone/symbolic/notation/bits.h"
#include "touchstone/symbolic/notation/scanner.h"

namespace touchstone::symbolic {

/// What has been read of a text in another language.
class Draft {
 public:
  explicit Draft(Question given) : scope(std::move(given)), bits(exprs, scope) {}
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  /// The variable of a name in the text; declares it, with `range` unless it is given. Throws Error
  /// if another name has the same identifier.
  Expr variable(std::string_view spelled, const Interval& range = {});
  bool has(std::string_view spelled);
  /// Narrows the range of a variable.
  void bound(const std::string& name, const Interval& range);
  /// Takes a condition for granted: a range of one variable narrows it, another is an assumption.
  void suppose(Expr condition);
  void note(const std::string& text);
  /// Records the result of an operator of the text.
  void computed(Expr value, const std::vector<Expr>& when, int bits, bool is_signed);
  /// Narrows the range of a variable to what its type holds, without a note.
  void within_type(const std::string& name, const Interval& range);
  /// One result for each expression.
  Translation finished() const;

  Exprs exprs;
  std::vector<Expr> results;
  Question scope;  // the variables so far
  Bits bits;
  std::vector<std::string> symbols;  // as Translation's
  std::vector<Int> modes;

 private:
  std::vector<std::pair<std::string, Interval>>::iterator declared(const std::string& name);

  std::map<std::string, std::string> spelled_;  // by identifier
  std::vector<std::string> notes_;
  struct Computed {
    Expr value;
    std::vector<Expr> when;
    int bits;
    bool is_signed;
  };
  std::vector<Computed> computed_;
};

/// The name with what cannot be in an identifier replaced: blockIdx.x is blockIdx_x.
std::string identifier_of(std::string_view spelled);

/// A quotient that is whole unless den is other than 1.
struct Quotient {
  Expr num;
  Expr den;
  int bits = 0;  // of its type in C, as declared or cast; 0: unknown
  bool is_signed = true;
};

/// Reads expressions by precedence.
class LanguageReader {
 public:
  LanguageReader(Draft& draft, Language language) : d_(draft), language_(language) {}

  /// Statements, containers (affine_map, isl) or one expression; adds to the draft's results.
  void read(std::string_view text);
  /// One expression that fills the text.
  Expr read_one(std::string_view text);

 private:
  struct Statement {
    std::size_t from, to;
  };
  std::vector<Statement> statements(std::string_view text) const;
  std::optional<Expr> statement(std::string_view text, const Statement& place);
  void affine();
  void isl();
  std::vector<Expr> list(std::string_view end);
  void names(std::string_view end, bool symbols = false);

  Expr whole(int level = 1);
  Quotient expression(int level);
  Quotient prefix();
  Quotient primary();
  Quotient name();
  Quotient call(const Scanner::Token& name, std::optional<Quotient> receiver,
                const std::string& unknown = "");
  Expr inverted(Expr x);
  /// Reads what is computed only where the condition holds.
  template <class F>
  auto under(Expr condition, F&& f);
  Quotient with_methods(Quotient value);
  Quotient binary(int act, const Quotient& a, const Quotient& b, std::size_t at);
  Expr variable(std::string_view spelled, std::size_t at);
  std::vector<Quotient> arguments();
  Quotient piecewise(std::size_t at);
  Expr cast(Expr value, std::string_view type, std::size_t at);
  /// The same value with that type, as far as C gives one.
  Quotient typed(Expr value, std::string_view type);
  /// The result of C's arithmetic in the common type: unsigned results wrap around.
  Quotient in_common_type(Quotient result, const Quotient& a, const Quotient& b);
  /// The type at this place, of one or more words; nullopt if there is none.
  std::optional<std::string> type();
  Expr only_whole(const Quotient& value, std::size_t at) const;
  Quotient plain(Expr value) { return {value, d_.exprs.constant(1), 0, true}; }
  template <class F>
  Expr at_place(std::size_t at, F&& f) const;

  Draft& d_;
  Language language_;
  Scanner* s_ = nullptr;
  int depth_ = 0;
  std::vector<Expr> conditions_;  // under which the text at this place is computed
  std::map<std::string, Expr, std::less<>> bound_;      // by assignments
  std::map<std::string, Quotient, std::less<>> typed_;  // types of declared variables
};

/// Reads a layout of CuTe, or a Triton linear layout.
void read_cute(Draft& draft, std::string_view text);
void read_triton(Draft& draft, std::string_view text);
/// memref<4x8xf32, strided<[8, 1], offset: 2>>
void read_memref(Draft& draft, std::string_view text);
/// shape=(4, 8), strides=(8, 1), offset=2, as NumPy and PyTorch print them; itemsize=4 if the
/// strides are in bytes. Without strides row-major.
void read_strides(Draft& draft, std::string_view text);
/// b (h w) -> b h w, h=4, w=8: the element of the input that an element of the output is. Axes only
/// on the left are further indices, those only on the right repeat.
void read_einops(Draft& draft, std::string_view text);

}  // namespace touchstone::symbolic
