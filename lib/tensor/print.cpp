#include "touchstone/tensor/print.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ostream>

#include "touchstone/ops/op.h"

namespace touchstone {
namespace {

constexpr std::int64_t kMostPrinted = 1000, kEnds = 3;
constexpr int kMostDigits = 8;
constexpr std::size_t kLine = 75;

// The shortest digits that read back as the same value: d.ddde+dd.
template <class T>
std::string shortest(T value) {
  const double wide = convert<double>(value);
  for (int digits = 0; digits < 17; ++digits) {
    std::string text = fmt::format("{:.{}e}", wide, digits);
    if (convert<double>(convert<T>(std::strtod(text.c_str(), nullptr))) == wide) return text;
  }
  return fmt::format("{:.17e}", wide);
}

// Digits after the point of d.ddde+dd, in scientific notation or not.
int digits_of(const std::string& text, bool scientific) {
  const std::size_t e = text.find('e'), point = text.find('.');
  const int mantissa = point == text.npos ? 0 : static_cast<int>(e - point) - 1;
  const int exponent = std::atoi(text.c_str() + e + 1);
  return std::clamp(scientific ? mantissa : mantissa - exponent, 0, kMostDigits);
}

template <class T>
std::vector<std::string> written_floats(const std::vector<T>& values) {
  double most = 0, least = std::numeric_limits<double>::infinity();
  for (const T value : values) {
    const double size = std::abs(convert<double>(value));
    if (!std::isfinite(size) || size == 0) continue;
    most = std::max(most, size);
    least = std::min(least, size);
  }
  const bool scientific = most > 0 && (most >= 1e8 || least < 1e-4 || most / least > 1000);
  int digits = 0;
  for (const T value : values)
    if (std::isfinite(convert<double>(value)))
      digits = std::max(digits, digits_of(shortest(value), scientific));
  std::vector<std::string> texts;
  for (const T value : values) {
    const double wide = convert<double>(value);
    if (!std::isfinite(wide)) {
      texts.push_back(std::isnan(wide) ? "nan" : wide < 0 ? "-inf" : "inf");
      continue;
    }
    const int own = digits_of(shortest(value), scientific);
    const auto missing = static_cast<std::size_t>(digits - own);
    if (scientific) {
      std::string text = fmt::format("{:#.{}e}", wide, own);
      texts.push_back(text.insert(text.find('e'), missing, '0'));
    } else {
      texts.push_back(fmt::format("{:#.{}f}", wide, own) + std::string(missing, ' '));
    }
  }
  return texts;
}

std::vector<std::string> written(const Tensor& x) {
  std::vector<std::string> texts = with_storage(x.dtype(), [&]<class T>(std::type_identity<T>) {
    const std::vector<T> values = x.read<T>();
    if constexpr (std::is_same_v<T, bool>) {
      std::vector<std::string> truths;
      for (const bool value : values) truths.push_back(value ? "True" : "False");
      return truths;
    } else if constexpr (std::is_integral_v<T>) {
      std::vector<std::string> numbers;
      for (const T value : values) numbers.push_back(fmt::format("{}", value));
      return numbers;
    } else {
      return written_floats(values);
    }
  });
  std::size_t width = 0;
  for (const std::string& text : texts) width = std::max(width, text.size());
  for (std::string& text : texts) text.insert(0, width - text.size(), ' ');
  return texts;
}

// Formats texts as nested lists; dots replace the middle of a long axis.
struct Nested {
  const std::vector<std::string>& texts;
  std::vector<std::int64_t> sizes;
  std::vector<bool> cut;
  std::size_t next = 0;

  std::string list(std::size_t axis, std::size_t indent) {
    if (axis == sizes.size()) return texts[next++];
    const bool inner = axis + 1 == sizes.size();
    std::string out = "[";
    std::size_t line = indent + 1;
    for (std::int64_t i = 0; i < sizes[axis]; ++i) {
      std::vector<std::string> parts;
      if (cut[axis] && i == kEnds) parts.emplace_back("...");
      parts.push_back(list(axis + 1, indent + 1));
      for (const std::string& part : parts) {
        if (out.size() > 1) {
          out += ',';
          if (!inner) {
            out += std::string(sizes.size() - axis - 1, '\n') + std::string(indent + 1, ' ');
          } else if (line + 2 + part.size() >= kLine) {
            out += '\n' + std::string(indent + 1, ' ');
            line = indent + 1;
          } else {
            out += ' ';
            ++line;
          }
          ++line;
        }
        out += part;
        line += part.size();
      }
    }
    return out + ']';
  }
};

}  // namespace

std::string str(const Tensor& x) {
  if (!x.defined()) return "Tensor(none)";
  constexpr std::string_view kHead = "Tensor(";
  std::string text(kHead);
  Tensor shown = x.detach();
  std::vector<std::int64_t> sizes;
  std::vector<bool> shortened;
  const bool cut = x.elements() > kMostPrinted;
  for (int axis = 0; axis < x.rank(); ++axis) {
    shortened.push_back(cut && x.size(axis) > 2 * kEnds);
    if (shortened.back())
      shown = Tensor::cat(
          {shown.narrow(axis, 0, kEnds), shown.narrow(axis, x.size(axis) - kEnds, kEnds)}, axis);
    sizes.push_back(shown.size(axis));
  }
  if (x.elements() == 0) {
    text += "[]";
  } else {
    const std::vector<std::string> texts = written(shown);
    Nested all{texts, sizes, shortened};
    text += all.list(0, kHead.size());
  }
  text +=
      fmt::format(", shape={}, dtype={}, device={}", str(x.shape()), name(x.dtype()), x.device());
  return text + (x.requires_grad() ? ", requires_grad=True)" : ")");
}

std::string str(const LazyBuffer& x) {
  const LazyBuffer& base = x.base();
  std::string from;
  if (x.is_realized())
    from = "realized";
  else if (const auto value = base.constant_value())
    from = "CONST " + value->str();
  else
    from = std::string(info(base.op()).name);
  if (!x.is_realized() && !base.srcs().empty()) {
    from += " of";
    for (const LazyBufferPtr& source : base.srcs())
      from += fmt::format(" {}", str(source->shape()));
  }
  return fmt::format("LazyBuffer({}, shape={}, dtype={}, device={}{})", from, str(x.shape()),
                     name(x.dtype()), x.device(),
                     x.is_base() ? "" : fmt::format(", view={}", x.st().str()));
}

std::ostream& operator<<(std::ostream& out, const Tensor& x) { return out << str(x); }
std::ostream& operator<<(std::ostream& out, const LazyBuffer& x) { return out << str(x); }
std::ostream& operator<<(std::ostream& out, const LazyOpPtr& kernel) { return out << str(kernel); }

}  // namespace touchstone
