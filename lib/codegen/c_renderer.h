#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "touchstone/codegen/c_values.h"
#include "touchstone/codegen/render_c.h"
#include "touchstone/codegen/text.h"
#include "touchstone/uop/step_reader.h"

namespace touchstone::codegen {

enum class Dialect : std::uint8_t { C, OpenCl };

/// Writes the function of one kernel step by step.
class Renderer : protected StepReader {
 public:
  explicit Renderer(const LinearKernel& kernel, Dialect dialect = Dialect::C,
                    CStyle style = CStyle::Short);
  virtual ~Renderer() = default;
  Renderer(const Renderer&) = delete;
  Renderer& operator=(const Renderer&) = delete;

  std::string run(std::string_view symbol);
  /// After run(): for each step, its first line in `text`, or that of its first user.
  std::vector<int> lines(std::string_view text) const;

 protected:
  /// Writes everything before the first step.
  virtual void begin(std::string_view symbol);
  virtual void step(int i);
  /// An element of a buffer or array; `index` is a step.
  virtual std::string place(int memory, int index) const;
  virtual std::string loaded(const LinearStep& load) const {
    return place(load.src[0], load.src[1]);
  }
  /// The first two arguments of note_fault.
  virtual std::string fault_place() const;

  const CText& src(const LinearStep& u, std::size_t k) const { return text_[at(u.src[k])]; }
  DType dtype(int i) const { return uop(i).dtype; }
  template <class... Pieces>
  void line(const Pieces&... pieces) {
    out_.append(2 * indent_, ' ');
    append_all(out_, pieces..., "\n");
  }
  /// True if a value used once may be written inline at its use; otherwise it gets a name.
  bool stands_inside(int i, const CText& value) const;
  void name_value(int i, CText value);

  CText expression(const LinearStep& u) const;
  /// The declarations of the buffers, and those of the variables, as parameters.
  std::vector<std::string> buffers(std::string_view space = "") const;
  std::vector<std::string> parameters(std::string_view space = "") const;

  Dialect dialect_;
  CStyle style_;
  MathLevel math_;
  std::vector<CText> text_;
  std::vector<int> uses_;
  std::vector<int> loop_of_;
  std::vector<bool> inline_;
  std::string out_;
  std::size_t indent_ = 1;

 private:
  void find_single_users();
  void constant(int i);
  void define_global(int i);
  void define_acc(int i);
  void define_var(int i);
  void open_loop(int i);
  void load(int i);
  void check(const LinearStep& u);
  void prefetch(const LinearStep& u);

  std::vector<std::size_t> begins_;  // start of each step's text
};

}  // namespace touchstone::codegen
