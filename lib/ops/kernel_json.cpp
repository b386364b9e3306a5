#include "touchstone/ops/kernel_json.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "touchstone/base/hash.h"
#include "touchstone/base/interrupt.h"
#include "touchstone/base/json_fault.h"
#include "touchstone/base/json_line.h"
#include "touchstone/base/suggest.h"
#include "touchstone/ops/node_map.h"

namespace touchstone {
namespace {

using nlohmann::json;
using Names = std::map<std::string, symbolic::Node>;

constexpr std::size_t kUsualLength = 2048;  // of a kernel's text

// Maps equal nodes to one representative. Operands come first, so comparing two nodes needs only
// the representatives of their operands.
class Twins {
 public:
  const LazyOpPtr& only(const LazyOpPtr& node) {
    const std::uint64_t hash =
        is_nan(*node) ? LazyOp::constant(nan_of(*node), node->constant().st)->hash() : node->hash();
    const auto [first, last] = by_hash_.equal_range(hash);
    const auto twin =
        std::find_if(first, last, [&](const auto& t) { return equal(*t.second, *node); });
    const LazyOpPtr& found = twin == last ? by_hash_.emplace(hash, node)->second : twin->second;
    only_.emplace(node.get(), found.get());
    if (found != node) others_.push_back(node);
    return found;
  }

 private:
  // Constants that are NaN have one text.
  static bool is_nan(const LazyOp& node) {
    return node.op() == Op::Const && node.constant().value.is_nan();
  }
  static Scalar nan_of(const LazyOp& node) { return Scalar::parse(node.dtype(), "nan"); }
  bool equal(const LazyOp& a, const LazyOp& b) const {
    const auto one = [&](const LazyOpPtr& s) { return only_[s.get()]; };
    if (is_nan(a) && is_nan(b)) return a.dtype() == b.dtype() && a.constant().st == b.constant().st;
    return a.op() == b.op() && a.arg() == b.arg() &&
           std::ranges::equal(a.src(), b.src(), {}, one, one);
  }
  std::unordered_multimap<std::uint64_t, LazyOpPtr> by_hash_;
  NodeMap<const LazyOp*> only_;
  std::vector<LazyOpPtr> others_;  // kept alive so that their addresses are not reused
};

// ---- writing -------------------------------------------------------------------------------

// Written directly, keys in alphabetical order: a campaign writes every case.
std::string text_of(const sint& s) {
  return s.is_int() ? fmt::to_string(s.as_int()) : json(s.str()).dump();
}
std::string text_of(const std::pair<sint, sint>& range) {
  return fmt::format("[{},{}]", text_of(range.first), text_of(range.second));
}
std::string text_of(const View& view);

template <class Range>
std::string list_of(const Range& values) {
  std::string out = "[";
  for (const auto& v : values) {
    if (out.size() > 1) out += ',';
    out += text_of(v);
  }
  return out + ']';
}

std::string text_of(const View& view) {
  return fmt::format(R"({{"mask":{},"offset":{},"shape":{},"strides":{}}})",
                     view.mask() ? list_of(*view.mask()) : "null", text_of(view.offset()),
                     list_of(view.shape()), list_of(view.strides()));
}

// The members of an op's argument; empty if it has none.
std::string arg_of(const LazyOp& node) {
  struct Visitor {
    std::string operator()(std::monostate) const { return {}; }
    std::string operator()(const MemBuffer& b) const {
      const std::string checked =
          b.checked ? fmt::format(R"("checked":{},)", list_of(b.checked->views())) : "";
      return fmt::format(R"("buffer":{},{}"views":{})", b.idx, checked, list_of(b.st.views()));
    }
    std::string operator()(const ConstBuffer& c) const {
      return fmt::format(R"("value":"{}","views":{})", c.value.str(), list_of(c.st.views()));
    }
    std::string operator()(const CastArg& c) const {
      return fmt::format(R"("bitcast":{})", c.bitcast);
    }
    std::string operator()(const ReduceArg& r) const {
      return fmt::format(R"("accumulator":"{}","axes":[{}])", name(r.accumulator),
                         fmt::join(r.axes, ","));
    }
    std::string operator()(const RandArg& r) const {
      return fmt::format(R"("first":{},"seed":{})", r.first, r.seed);
    }
    std::string operator()(const FunctionArg& f) const {
      return fmt::format(R"("function":"{}")", info(f.function).name);
    }
  };
  return std::visit(Visitor{}, node.arg());
}

std::string text_of(const LazyOp& node, int id, std::span<const int> src) {
  const std::string arg = arg_of(node);
  return fmt::format(R"({{{}"dtype":"{}","id":{},"op":"{}","src":[{}]}})",
                     arg.empty() ? "" : fmt::format(R"("arg":{{{}}},)", arg), name(node.dtype()),
                     id, name(node.op()), fmt::join(src, ","));
}

// The canonical list: nodes in toposort order, structurally equal ones once.
void write_nodes(std::string& out, const LazyOpPtr& ast) {
  Twins twins;
  NodeMap<int> ids;
  std::vector<int> src;
  int next = 0;
  for (const LazyOpPtr& node : toposort(ast)) {
    const LazyOpPtr& only = twins.only(node);
    ids.emplace(node.get(), only == node ? next : ids[only.get()]);
    if (only != node) continue;
    src.clear();
    for (const LazyOpPtr& s : node->src()) src.push_back(ids[s.get()]);
    out += next == 0 ? "\n" : ",\n";
    out += text_of(*node, next++, src);
  }
}

// Everything except the hash, which covers this text.
void write_body(std::string& out, const KernelFile& kernel) {
  json variables = json::object();
  for (const symbolic::Node& v : variables_of(kernel.ast))
    variables[symbolic::variable_name(v)] = {v.min().value(), v.max().value()};
  out += fmt::format("\"touchstone_kernel\":{},\n\"variables\":{},\n\"buffers\":[",
                     kKernelJsonVersion, variables.dump());
  for (const BufferSpec& b : kernel.buffers)
    out += fmt::format("{}\n{{\"dtype\":\"{}\",\"idx\":{},\"size\":{}}}",
                       &b == kernel.buffers.data() ? "" : ",", name(b.dtype), b.idx, b.size);
  out += "\n],\n\"nodes\":[";
  write_nodes(out, kernel.ast);
  out += "\n]";
}

// ---- reading -------------------------------------------------------------------------------

constexpr std::string_view kPrefix = "kernel.json: ";

// A product of distinct variables takes quadratic time.
constexpr std::size_t kMostSizeText = 4096, kMostVariables = 256;
constexpr std::size_t kMostNodes = std::size_t{1} << 16;

[[noreturn]] void bad(const std::string& where, const std::string& why) {
  throw ParseError(fmt::format("{}{}: {}", kPrefix, where, why));
}

const json& field(const json& object, const char* key, const std::string& where) {
  if (!object.is_object()) bad(where, "is not an object");
  const auto it = object.find(key);
  if (it == object.end()) bad(where, fmt::format("\"{}\" is missing", key));
  return *it;
}

// An unknown member is a mistake that may change the meaning.
void require_only(const json& object, std::span<const std::string_view> known,
                  const std::string& where) {
  if (!object.is_object()) bad(where, "is not an object");
  for (const auto& [key, ignored] : object.items()) {
    if (std::ranges::find(known, key) != known.end()) continue;
    const std::string shown = ascii_json_line(json(key.substr(0, 40)));
    bad(where, known.empty()
                   ? fmt::format("takes no members, but has {}", shown)
                   : fmt::format("unknown member {}{}; known: {}", shown,
                                 did_you_mean(key.substr(0, 40), known), fmt::join(known, ", ")));
  }
}

std::int64_t integer(const json& value, const std::string& where) {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX)
    bad(where, fmt::format("{} does not fit in 64 bits", value.dump()));
  if (!value.is_number_integer()) bad(where, fmt::format("{} is not an integer", value.dump()));
  return value.get<std::int64_t>();
}

int small_integer(const json& value, const std::string& where) {
  const std::int64_t i = integer(value, where);
  if (i < 0 || i > 1'000'000) bad(where, fmt::format("{} is not in [0, 1000000]", i));
  return static_cast<int>(i);
}

std::string text(const json& value, const std::string& where) {
  if (!value.is_string()) bad(where, fmt::format("{} is not a string", value.dump()));
  return value.get<std::string>();
}

const json& list(const json& value, const std::string& where) {
  if (!value.is_array()) bad(where, "is not a list");
  return value;
}

sint parse_sint(const json& value, const Names& names, const std::string& where) {
  if (!value.is_string()) return integer(value, where);
  const auto& expression = value.get_ref<const std::string&>();
  if (expression.size() > kMostSizeText)
    bad(where, fmt::format("the expression has {} characters; the limit is {}", expression.size(),
                           kMostSizeText));
  return symbolic::parse(expression, names);
}

std::vector<sint> parse_sints(const json& value, const Names& names, const std::string& where) {
  std::vector<sint> out;
  for (const json& v : list(value, where)) out.push_back(parse_sint(v, names, where));
  return out;
}

View parse_view(const json& value, const Names& names, const std::string& where) {
  static constexpr std::string_view kKnown[] = {"mask", "offset", "shape", "strides"};
  require_only(value, kKnown, where);
  std::optional<Mask> mask;
  if (const json& m = field(value, "mask", where); !m.is_null()) {
    mask.emplace();
    for (const json& range : list(m, where + " mask")) {
      if (!range.is_array() || range.size() != 2) bad(where, "a mask range must be [begin, end]");
      mask->emplace_back(parse_sint(range[0], names, where), parse_sint(range[1], names, where));
    }
  }
  return View::strided(parse_sints(field(value, "shape", where), names, where + " shape"),
                       parse_sints(field(value, "strides", where), names, where + " strides"),
                       parse_sint(field(value, "offset", where), names, where + " offset"), mask);
}

ShapeTracker parse_views(const json& arg, const Names& names, const std::string& where,
                         const char* key = "views") {
  std::vector<View> views;
  for (const json& v : list(field(arg, key, where), fmt::format("{} {}", where, key)))
    views.push_back(parse_view(v, names, fmt::format("{} view {}", where, views.size())));
  return ShapeTracker(std::move(views));
}

// The members allowed in an op's argument.
std::span<const std::string_view> arg_members(Op op) {
  static constexpr std::string_view kMemory[] = {"buffer", "views"};
  static constexpr std::string_view kGather[] = {"buffer", "checked", "views"};
  static constexpr std::string_view kConst[] = {"value", "views"};
  static constexpr std::string_view kCast[] = {"bitcast"};
  static constexpr std::string_view kReduce[] = {"axes", "accumulator"};
  static constexpr std::string_view kFunction[] = {"function"};
  if (op == Op::Gather) return kGather;
  if (op == Op::Load || op == Op::Store) return kMemory;
  if (op == Op::Const) return kConst;
  if (op == Op::Cast) return kCast;
  if (is_reduce(op)) return kReduce;
  if (op == Op::Function) return kFunction;
  return {};
}

OpArg parse_arg(Op op, DType dtype, const json& node, const Names& names,
                const std::string& where) {
  static constexpr std::string_view kNode[] = {"arg", "dtype", "id", "op", "src"};
  require_only(node, kNode, where);
  if (const auto arg = node.find("arg"); arg != node.end() && !arg->is_null())
    require_only(*arg, arg_members(op), where + " arg");
  if (is_load(op) || op == Op::Store) {
    const json& arg = field(node, "arg", where);
    MemBuffer buffer{small_integer(field(arg, "buffer", where), where + " buffer"), dtype,
                     parse_views(arg, names, where)};
    if (arg.contains("checked")) buffer.checked = parse_views(arg, names, where, "checked");
    return buffer;
  }
  if (op == Op::Const) {
    const json& arg = field(node, "arg", where);
    return ConstBuffer{Scalar::parse(dtype, text(field(arg, "value", where), where)),
                       parse_views(arg, names, where)};
  }
  if (op == Op::Cast) {
    const json& bits = field(field(node, "arg", where), "bitcast", where);
    if (!bits.is_boolean()) bad(where, "\"bitcast\" is not true or false");
    return CastArg{dtype, bits.get<bool>()};
  }
  if (op == Op::Function)
    return FunctionArg{
        parse_function(text(field(field(node, "arg", where), "function", where), where))};
  if (is_reduce(op)) {
    const json& arg = field(node, "arg", where);
    ReduceArg reduce;
    for (const json& axis : list(field(arg, "axes", where), where + " axes"))
      reduce.axes.push_back(small_integer(axis, where + " axes"));
    reduce.accumulator = parse_dtype(text(field(arg, "accumulator", where), where));
    return reduce;
  }
  return {};
}

LazyOpPtr parse_node(const json& node, const std::vector<LazyOpPtr>& earlier, const Names& names,
                     std::string where) {
  if (const std::int64_t id = integer(field(node, "id", where), where);
      id != static_cast<std::int64_t>(earlier.size()))
    bad(where, fmt::format("has id {}; ids count from 0 in order", id));
  const std::string op_name = text(field(node, "op", where), where);
  try {
    const Op op = parse_op(op_name);
    where += fmt::format(" ({})", name(op));
    const DType dtype = parse_dtype(text(field(node, "dtype", where), where));
    std::vector<LazyOpPtr> src;
    for (const json& s : list(field(node, "src", where), where + " src")) {
      const int id = small_integer(s, where + " src");
      if (id >= static_cast<int>(earlier.size()))
        bad(where, fmt::format("uses node {}, which does not come before it", id));
      src.push_back(earlier[static_cast<std::size_t>(id)]);
    }
    LazyOpPtr made = LazyOp::make(op, std::move(src), parse_arg(op, dtype, node, names, where));
    if (made->dtype() != dtype)
      bad(where,
          fmt::format("says dtype {}, but its dtype is {}", name(dtype), name(made->dtype())));
    return made;
  } catch (const ParseError& e) {
    if (std::string_view(e.what()).starts_with(kPrefix)) throw;
    bad(where, e.what());
  } catch (const Error& e) {
    throw AstError(fmt::format("kernel.json: {}: {}", where, e.what()));
  }
}

Names parse_variables(const json& root) {
  Names names;
  const auto it = root.find("variables");
  if (it == root.end()) return names;
  if (!it->is_object()) bad("variables", "is not an object");
  if (it->size() > kMostVariables)
    bad("variables", fmt::format("there are {}; the limit is {}", it->size(), kMostVariables));
  for (const auto& [name, range] : it->items()) {
    const std::string where = fmt::format("variable '{}'", name);
    if (!range.is_array() || range.size() != 2) bad(where, "its range must be [min, max]");
    const std::int64_t least = integer(range[0], where), most = integer(range[1], where);
    try {
      names.emplace(name, symbolic::variable(name, least, most));
    } catch (const Error& e) {
      bad(where, e.what());
    }
  }
  return names;
}

std::vector<BufferSpec> parse_buffers(const json& root) {
  std::map<int, BufferSpec> found;
  for (const json& b : list(field(root, "buffers", "the kernel"), "buffers")) {
    const std::string where = fmt::format("buffer {}", found.size());
    static constexpr std::string_view kKnown[] = {"dtype", "idx", "size"};
    require_only(b, kKnown, where);
    BufferSpec spec{small_integer(field(b, "idx", where), where), {}, 0};
    try {
      spec.dtype = parse_dtype(text(field(b, "dtype", where), where));
    } catch (const DTypeError& e) {
      bad(where, e.what());
    }
    spec.size = integer(field(b, "size", where), where);
    if (spec.size < 0) bad(where, fmt::format("size {} is negative", spec.size));
    if (!found.emplace(spec.idx, spec).second)
      bad(where, fmt::format("number {} is given twice", spec.idx));
  }
  std::vector<BufferSpec> specs;
  for (const auto& [idx, spec] : found) specs.push_back(spec);
  return specs;
}

void check_buffers(const KernelFile& kernel) {
  const std::vector<LazyOpPtr> order = toposort(kernel.ast);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto* b = std::get_if<MemBuffer>(&order[i]->arg());
    if (b == nullptr) continue;
    const std::string where = fmt::format("node {} ({})", i, name(order[i]->op()));
    const auto spec = std::ranges::lower_bound(kernel.buffers, b->idx, {}, &BufferSpec::idx);
    if (spec == kernel.buffers.end() || spec->idx != b->idx)
      throw AstError(
          fmt::format("kernel.json: {}: buffer {} is not in \"buffers\"", where, b->idx));
    if (spec->dtype != b->dtype)
      throw AstError(fmt::format("kernel.json: {}: takes buffer {} as {}, but it contains {}",
                                 where, b->idx, name(b->dtype), name(spec->dtype)));
    // The reach of the whole stack, as buffers_of counts it: outer views may leave elements out.
    if (const std::int64_t needs = b->st.real_size(); needs > spec->size)
      throw AstError(fmt::format(
          "kernel.json: {}: {} accesses element {} of buffer {}, which has {}", where,
          b->st.views().size() == 1 ? "the view " + b->st.views()[0].str() : b->st.str(), needs - 1,
          b->idx, spec->size));
  }
}

void check_all_used(const std::vector<LazyOpPtr>& nodes) {
  std::unordered_set<const LazyOp*> used;
  for (const LazyOpPtr& node : toposort(nodes.back())) used.insert(node.get());
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (!used.contains(nodes[i].get()))
      bad(fmt::format("node {} ({})", i, name(nodes[i]->op())),
          "the last node does not depend on it; remove it, or put the STORE last");
}

void check_version(const json& root) {
  if (!root.is_object() || !root.contains("touchstone_kernel"))
    bad("the file", "is not a kernel: \"touchstone_kernel\" is missing");
  const std::int64_t version = integer(root["touchstone_kernel"], "touchstone_kernel");
  if (version != kKernelJsonVersion)
    bad("the file", fmt::format("has version {}, but this program reads version {}; write it again "
                                "with a matching touchstone",
                                version, kKernelJsonVersion));
}

}  // namespace

KernelFile kernel_file(LazyOpPtr ast) {
  std::vector<BufferSpec> buffers = buffers_of(ast);
  return {std::move(ast), std::move(buffers)};
}

std::string kernel_hash(const KernelFile& kernel) {
  std::string text;
  write_body(text, kernel);
  return content_hash(text);
}

std::string to_json(const KernelFile& kernel) {
  std::string text = "{";
  text.reserve(kUsualLength);
  write_body(text, kernel);
  const std::string hash = content_hash(std::string_view(text).substr(1));
  return text + ",\n\"hash\":\"" + hash + "\"}\n";
}

KernelFile kernel_from_json(std::string_view input) {
  json root = read_json<json>(input, "kernel.json: not JSON");
  check_version(root);
  static constexpr std::string_view kKnown[] = {"touchstone_kernel", "variables", "buffers",
                                                "nodes", "hash"};
  require_only(root, kKnown, "the kernel");
  const Names names = parse_variables(root);
  KernelFile kernel;
  kernel.buffers = parse_buffers(root);
  std::vector<LazyOpPtr> nodes;
  Twins twins;
  const json& said = list(field(root, "nodes", "the kernel"), "nodes");
  if (said.size() > kMostNodes)
    bad("nodes", fmt::format("there are {}; the limit is {}", said.size(), kMostNodes));
  for (const json& node : said) {
    Interrupt::poll();
    nodes.push_back(
        twins.only(parse_node(node, nodes, names, fmt::format("node {}", nodes.size()))));
  }
  if (nodes.empty()) bad("nodes", "the list is empty");
  kernel.ast = nodes.back();
  check_all_used(nodes);
  validate_kernel(kernel.ast);
  check_buffers(kernel);
  if (const auto it = root.find("hash"); it != root.end()) {
    const std::string wanted = text(*it, "hash"), found = kernel_hash(kernel);
    if (wanted != found)
      bad("hash",
          fmt::format(
              "is {}, but its contents have {}; if the file was edited by hand, remove the line",
              wanted, found));
  }
  return kernel;
}

}  // namespace touchstone
