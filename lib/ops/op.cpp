#include "touchstone/ops/op.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "touchstone/base/error.h"
#include "touchstone/base/suggest.h"
#include "touchstone/ops/function.h"

namespace touchstone {

std::optional<Op> op_from_name(std::string_view name) {
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  for (const OpInfo& row : op_table)
    if (row.name == upper) return row.op;
  return std::nullopt;
}

Op parse_op(std::string_view name) {
  if (const auto op = op_from_name(name)) return *op;
  std::array<std::string_view, kOpCount> names;
  std::transform(op_table.begin(), op_table.end(), names.begin(),
                 [](const OpInfo& row) { return row.name; });
  throw AstError(fmt::format("there is no op '{}'{}", name, did_you_mean(name, names)));
}

std::optional<NamedFunction> function_from_name(std::string_view name) {
  for (const FunctionInfo& row : function_table)
    if (row.name == name) return row.function;
  return std::nullopt;
}

NamedFunction parse_function(std::string_view name) {
  if (const auto function = function_from_name(name)) return *function;
  std::array<std::string_view, kFunctionCount> names;
  std::ranges::transform(function_table, names.begin(), &FunctionInfo::name);
  throw AstError(fmt::format("there is no function '{}'{}", name, did_you_mean(name, names)));
}

}  // namespace touchstone
