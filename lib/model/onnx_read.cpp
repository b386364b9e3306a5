// ONNX's wire format: protocol buffers, with the numbers of the fields in onnx.proto (onnx 1.12).
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>

#include "touchstone/base/checked.h"
#include "touchstone/base/error.h"
#include "touchstone/base/file.h"
#include "touchstone/emit/foreign_types.h"
#include "touchstone/emit/onnx_wire.h"
#include "touchstone/model/program.h"

namespace touchstone::model {

using emit::dtype_of_onnx;
using emit::field_of;
using emit::put;

namespace {

constexpr int kMostGraphDepth = 16, kMostCallDepth = 16;

// The fields of one message.
class Fields {
 public:
  Fields(std::string_view bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  int field = 0;
  std::uint64_t number = 0;  // of a varint, or the bits of a fixed one
  std::string_view block;    // of a length-delimited one
  bool is_block = false;

  bool next() {
    if (at_ == bytes_.size()) return false;
    const std::uint64_t key = varint();
    field = static_cast<int>(std::min<std::uint64_t>(key >> 3, 1u << 30));
    is_block = false;
    switch (key & 7) {
      case 0: number = varint(); return true;
      case 1: number = fixed(8); return true;
      case 5: number = fixed(4); return true;
      case 2: {
        const std::uint64_t size = varint();
        if (size > bytes_.size() - at_) fail();
        block = bytes_.substr(at_, static_cast<std::size_t>(size));
        at_ += static_cast<std::size_t>(size);
        is_block = true;
        return true;
      }
      default: fail();
    }
  }
  std::string text() const { return std::string(block_of()); }
  std::string_view block_of() const {
    if (!is_block) fail();
    return block;
  }
  std::int64_t whole() const { return static_cast<std::int64_t>(number); }
  float real() const {
    const auto bits = static_cast<std::uint32_t>(number);
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  /// Calls `add` with each number of a repeated field, packed or not. `size`: 0 for varints.
  template <class Add>
  void each(std::size_t size, const Add& add) const {
    if (!is_block) return add(number);
    Fields packed(block, where_);
    while (packed.at_ < block.size()) add(size == 0 ? packed.varint() : packed.fixed(size));
  }

 private:
  [[noreturn]] void fail() const {
    throw ParseError(where_ + ": not an ONNX model: its fields are damaged or cut off");
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (at_ == bytes_.size()) fail();
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    fail();
  }
  std::uint64_t fixed(std::size_t size) {
    if (bytes_.size() - at_ < size) fail();
    std::uint64_t value = 0;
    std::memcpy(&value, bytes_.data() + at_, size);
    at_ += size;
    return value;
  }
  std::string_view bytes_;
  const std::string& where_;
  std::size_t at_ = 0;
};

// A function of the model: called as an operator.
struct Function {
  std::vector<std::string> inputs, outputs;
  std::vector<std::string_view> nodes;
  Attributes defaults;
  int version = 0;
};

// The call that a node stands in: the function's attributes, its values' new names, and the
// prefix of the others.
struct Call {
  Attributes given = {};
  std::string prefix = {};
  std::map<std::string, std::string, std::less<>> renamed = {};
  int calls = 0, version = 0;

  std::string name(std::string text) const {
    if (text.empty() || prefix.empty()) return text;
    const auto it = renamed.find(text);
    return it != renamed.end() ? it->second : prefix + text;
  }
};

class Reader {
 public:
  Reader(const std::string& where, const std::string& folder) : where_(where), folder_(folder) {}

  ModelProgram read(std::string_view bytes) {
    ModelProgram program;
    program.dialect = "onnx";
    std::string_view graph;
    std::string joined;  // a message given in several parts is their concatenation
    for (Fields f(bytes, where_); f.next();) {
      if (f.field == 7) {
        if (!graph.empty()) joined = std::string(graph) + f.text();
        graph = joined.empty() ? f.block_of() : std::string_view(joined);
      }
      if (f.field == 8) opset(f.block_of(), program.version);
      if (f.field == 25) function(f.block_of());
    }
    if (graph.empty()) throw ParseError(where_ + ": not an ONNX model: there is no graph");
    if (program.version == 0) program.version = 23;  // it has no operators of the standard's
    if (program.version < 7)
      throw ParseError(
          fmt::format("{}: operators of opset {}; supported is 7 and later (convert the model with "
                      "onnx.version_converter)",
                      where_, program.version));
    program.graph = read_graph(graph, 0);
    return program;
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail(fmt::format_string<Parts...> text, Parts&&... parts) const {
    throw ParseError(where_ + ": " + fmt::format(text, std::forward<Parts>(parts)...));
  }

  void opset(std::string_view bytes, int& version) const {
    std::string domain;
    std::int64_t number = 0;
    for (Fields f(bytes, where_); f.next();) {
      if (f.field == 1) domain = f.text();
      if (f.field == 2) number = f.whole();
    }
    if (domain.empty() || domain == "ai.onnx")
      version = static_cast<int>(std::clamp<std::int64_t>(number, 0, 1'000));
  }

  void function(std::string_view bytes) {
    std::string name, domain;
    Function made;
    for (Fields f(bytes, where_); f.next();) switch (f.field) {
        case 1: name = f.text(); break;
        case 4: made.inputs.push_back(f.text()); break;
        case 5: made.outputs.push_back(f.text()); break;
        case 7: made.nodes.push_back(f.block_of()); break;
        case 9: opset(f.block_of(), made.version); break;
        case 10: domain = f.text(); break;
        case 11: attribute(f.block_of(), made.defaults, 0, {}); break;
        default: break;
      }
    functions_[full_name(domain, name)] = std::move(made);
  }

  static std::string full_name(const std::string& domain, const std::string& name) {
    return domain.empty() || domain == "ai.onnx" ? name : domain + "." + name;
  }

  Graph read_graph(std::string_view bytes, int depth, const Call& call = {}) {
    if (depth > kMostGraphDepth) fail("graphs are nested more than {} deep", kMostGraphDepth);
    Graph graph;
    std::vector<Operation> found;
    for (Fields f(bytes, where_); f.next();) switch (f.field) {
        case 1: node(f.block_of(), found, depth, call); break;
        case 5: {
          std::string name;
          HostArray value = tensor(f.block_of(), name);
          graph.constants[call.name(std::move(name))] = std::move(value);
          break;
        }
        case 11:
        case 12:
        case 13: {
          Argument a = argument(f.block_of());
          a.name = call.name(std::move(a.name));
          if (f.field == 11) {
            graph.inputs.push_back(std::move(a));
            break;
          }
          if (a.dtype) graph.types[a.name] = *a.dtype;
          if (f.field == 12) graph.outputs.push_back(a.name);
          break;
        }
        case 15: fail("sparse tensors are not supported"); break;
        default: break;
      }
    std::erase_if(graph.inputs,
                  [&](const Argument& a) { return graph.constants.contains(a.name); });
    graph.operations = depth == 0 ? sorted(graph, std::move(found)) : std::move(found);
    return graph;
  }

  // In the order of the values; a model may have any.
  std::vector<Operation> sorted(const Graph& graph, std::vector<Operation> found) const {
    std::set<std::string, std::less<>> known{""};
    std::map<std::string, std::size_t, std::less<>> producer;
    for (const Argument& a : graph.inputs) known.insert(a.name);
    for (const auto& [name, value] : graph.constants) known.insert(name);
    for (std::size_t i = 0; i < found.size(); ++i)
      for (const std::string& out : found[i].outputs)
        if (!out.empty() && (known.contains(out) || !producer.emplace(out, i).second))
          fail("{}: '{}' has a value already", found[i].place, out);
    std::vector<std::vector<std::size_t>> readers(found.size());
    std::vector<std::size_t> missing(found.size()), ready, order;
    for (std::size_t i = 0; i < found.size(); ++i) {
      std::set<std::size_t> from;
      for (const std::string& in : read_by(found[i])) {
        if (known.contains(in)) continue;
        const auto it = producer.find(in);
        if (it == producer.end()) fail("{}: nothing computes its input '{}'", found[i].place, in);
        from.insert(it->second);
      }
      missing[i] = from.size();
      for (const std::size_t p : from) readers[p].push_back(i);
    }
    for (std::size_t i = found.size(); i-- > 0;)
      if (missing[i] == 0) ready.push_back(i);
    while (!ready.empty()) {
      const std::size_t i = ready.back();
      ready.pop_back();
      order.push_back(i);
      for (auto it = readers[i].rbegin(); it != readers[i].rend(); ++it)
        if (--missing[*it] == 0) ready.push_back(*it);
    }
    for (std::size_t i = 0; i < found.size(); ++i)
      if (missing[i] > 0) fail("{}: it is part of a cycle", found[i].place);
    std::vector<Operation> out;
    for (const std::size_t i : order) out.push_back(std::move(found[i]));
    return out;
  }

  // The values of the outer graph that an operation reads, also from inside its graphs.
  static std::vector<std::string> read_by(const Operation& op) {
    std::vector<std::string> names = op.inputs;
    for (const auto& [key, value] : op.attributes)
      if (const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&value)) {
        std::set<std::string, std::less<>> own{""};
        for (const Argument& a : (*inner)->inputs) own.insert(a.name);
        for (const auto& [name, constant] : (*inner)->constants) own.insert(name);
        const auto add = [&](const std::string& name) {
          if (!own.contains(name)) names.push_back(name);
        };
        for (const Operation& o : (*inner)->operations) {
          for (const std::string& name : read_by(o)) add(name);
          own.insert(o.outputs.begin(), o.outputs.end());
        }
        for (const std::string& name : (*inner)->outputs) add(name);
      }
    return names;
  }

  // Appends the node, or the nodes of the function that it calls.
  void node(std::string_view bytes, std::vector<Operation>& to, int depth, const Call& call) {
    Operation op;
    std::string name, domain, kind;
    std::vector<std::string_view> attributes;
    for (Fields f(bytes, where_); f.next();) switch (f.field) {
        case 1: op.inputs.push_back(call.name(f.text())); break;
        case 2: op.outputs.push_back(call.name(f.text())); break;
        case 3: name = f.text(); break;
        case 4: kind = f.text(); break;
        case 5: attributes.push_back(f.block_of()); break;
        case 7: domain = f.text(); break;
        default: break;
      }
    op.kind = full_name(domain, kind);
    if (++count_ > kMostOperations)
      fail("there are more than {} nodes, with those of functions called", kMostOperations);
    op.place = fmt::format("node {}{} {}", count_, name.empty() ? "" : " '" + name + "'", op.kind);
    op.version = call.version;
    op.source = bytes;
    for (const std::string_view a : attributes) attribute(a, op.attributes, depth, call, op.place);
    const auto function = functions_.find(op.kind);
    if (function == functions_.end()) {
      to.push_back(std::move(op));
      if (to.size() > kMostOperations) fail("there are more than {} nodes", kMostOperations);
      return;
    }
    if (call.calls >= kMostCallDepth)
      fail("{}: functions call each other more than {} deep", op.place, kMostCallDepth);
    const Function& f = function->second;
    if (op.inputs.size() > f.inputs.size() || op.outputs.size() > f.outputs.size())
      fail("{}: the function has {} inputs and {} outputs", op.place, f.inputs.size(),
           f.outputs.size());
    Call inside{f.defaults, fmt::format("{}#{}/", op.kind, count_), {}, call.calls + 1, f.version};
    for (std::size_t i = 0; i < f.inputs.size(); ++i)
      inside.renamed[f.inputs[i]] = i < op.inputs.size() ? op.inputs[i] : "";
    for (std::size_t i = 0; i < op.outputs.size(); ++i)
      inside.renamed[f.outputs[i]] = op.outputs[i];
    for (const auto& [key, a] : op.attributes) inside.given[key] = a;
    for (const std::string_view n : f.nodes) node(n, to, depth, inside);
  }

  void attribute(std::string_view bytes, Attributes& to, int depth, const Call& call,
                 const std::string& place = "") {
    std::string name, from, text;
    std::int64_t type = 0, whole = 0;
    double real = 0;
    std::vector<std::int64_t> ints;
    std::vector<double> floats;
    std::vector<std::string> texts;
    std::string_view tensor_bytes, graph;
    for (Fields f(bytes, where_); f.next();) switch (f.field) {
        case 1: name = f.text(); break;
        case 2: real = static_cast<double>(f.real()); break;
        case 3: whole = f.whole(); break;
        case 4: text = f.text(); break;
        case 5: tensor_bytes = f.block_of(); break;
        case 6: graph = f.block_of(); break;
        case 7:
          f.each(4, [&](std::uint64_t bits) {
            const auto low = static_cast<std::uint32_t>(bits);
            float value = 0;
            std::memcpy(&value, &low, sizeof value);
            floats.push_back(static_cast<double>(value));
          });
          break;
        case 8:
          f.each(0, [&](std::uint64_t v) { ints.push_back(static_cast<std::int64_t>(v)); });
          break;
        case 9: texts.push_back(f.text()); break;
        case 20: type = f.whole(); break;
        case 21: from = f.text(); break;
        default: break;
      }
    if (!from.empty()) {  // an attribute of the function
      if (const auto it = call.given.find(from); it != call.given.end()) to[name] = it->second;
      return;
    }
    std::string ignored;
    switch (type) {
      case 1: to[name] = real; break;
      case 2: to[name] = whole; break;
      case 3: to[name] = text; break;
      case 4: to[name] = tensor(tensor_bytes, ignored); break;
      case 5: to[name] = std::make_shared<const Graph>(read_graph(graph, depth + 1, call)); break;
      case 6: to[name] = floats; break;
      case 7: to[name] = ints; break;
      case 8: to[name] = texts; break;
      default: fail("{}: attribute '{}' is of a kind that is not supported", place, name);
    }
  }

  Argument argument(std::string_view bytes) const {
    Argument out;
    std::string_view type, tensor_type, shape;
    for (Fields f(bytes, where_); f.next();) {
      if (f.field == 1) out.name = f.text();
      if (f.field == 2) type = f.block_of();
    }
    for (Fields f(type, where_); f.next();)
      if (f.field == 1) tensor_type = f.block_of();
    bool has_shape = false;
    for (Fields f(tensor_type, where_); f.next();) {
      if (f.field == 1) out.dtype = dtype_of_onnx(f.whole());
      if (f.field == 2) shape = f.block_of(), has_shape = true;
    }
    if (!has_shape) return out;
    out.shape.emplace();
    for (Fields f(shape, where_); f.next();)
      if (f.field == 1) {
        std::variant<std::int64_t, std::string> size = "?";
        for (Fields d(f.block_of(), where_); d.next();) {
          if (d.field == 1) size = d.whole();
          if (d.field == 2 && !d.text().empty()) size = d.text();
        }
        out.shape->push_back(std::move(size));
      }
    return out;
  }

  HostArray tensor(std::string_view bytes, std::string& name) const {
    HostArray out;
    std::int64_t type = 0, location = 0;
    std::string_view raw;
    std::string elements;
    std::map<std::string, std::string, std::less<>> outside;
    std::vector<std::uint64_t> numbers;  // of varints
    const auto add = [&](std::uint64_t v) { numbers.push_back(v); };
    for (Fields f(bytes, where_); f.next();) switch (f.field) {
        case 1:
          f.each(0, [&](std::uint64_t v) { out.shape.push_back(static_cast<std::int64_t>(v)); });
          break;
        case 2: type = f.whole(); break;
        case 4: f.each(4, add); break;
        case 5:
        case 7:
        case 11: f.each(0, add); break;
        case 8: name = f.text(); break;
        case 9: raw = f.block_of(); break;
        case 10: f.each(8, add); break;
        case 13: {
          std::string key, value;
          for (Fields e(f.block_of(), where_); e.next();) {
            if (e.field == 1) key = e.text();
            if (e.field == 2) value = e.text();
          }
          outside[key] = value;
          break;
        }
        case 14: location = f.whole(); break;
        default: break;
      }
    const std::optional<DType> dtype = dtype_of_onnx(type);
    if (!dtype) fail("tensor '{}' has elements of a type that is not supported ({})", name, type);
    out.dtype = *dtype;
    std::int64_t count = 1;
    for (const std::int64_t size : out.shape)
      if (size < 0 || __builtin_mul_overflow(count, size, &count) ||
          count > (std::int64_t{1} << 34))
        fail("tensor '{}' has sizes that are negative or too large", name);
    const std::size_t wanted = static_cast<std::size_t>(count) * itemsize(*dtype);
    if (location == 1) {
      out.bytes = outside_bytes(outside, wanted, name);
    } else if (!raw.empty()) {
      out.bytes = raw;
    } else {
      out.bytes.reserve(numbers.size() * itemsize(*dtype));
      for (const std::uint64_t v : numbers)
        out.bytes.append(reinterpret_cast<const char*>(&v), itemsize(*dtype));
    }
    if (out.bytes.size() != wanted)
      fail("tensor '{}' has {} bytes of elements; its shape [{}] of {} takes {}", name,
           out.bytes.size(), fmt::join(out.shape, ","), touchstone::name(*dtype), wanted);
    require_npy_bools(*dtype, out.bytes, where_ + ": tensor '" + name + "'");
    return out;
  }

  std::string outside_bytes(const std::map<std::string, std::string, std::less<>>& from,
                            std::size_t wanted, const std::string& name) const {
    namespace fs = std::filesystem;
    const auto text = [&](std::string_view key) {
      const auto it = from.find(key);
      return it == from.end() ? std::string() : it->second;
    };
    const auto whole = [&](std::string_view key) -> std::uint64_t {
      const std::string digits = text(key);
      if (digits.empty()) return 0;
      if (digits.size() > 18 || digits.find_first_not_of("0123456789") != std::string::npos)
        fail("tensor '{}': '{}' is no {}", name, digits, key);
      return std::stoull(digits);
    };
    const fs::path location = text("location");
    if (folder_.empty())
      fail("tensor '{}' is in another file, '{}': read the model from its file", name,
           location.string());
    std::error_code error;
    const fs::path folder = fs::canonical(folder_, error);
    const fs::path file = fs::weakly_canonical(folder / location, error);
    const fs::path inside = file.lexically_relative(folder);
    if (location.empty() || location.is_absolute() || error || inside.empty() ||
        *inside.begin() == "..")
      fail("tensor '{}' is in '{}', which is outside the model's folder", name, location.string());
    const InputFile source(file);
    const std::uint64_t begin = whole("offset"),
                        length = from.contains("length") ? whole("length") : wanted;
    if (length != wanted || begin > source.size() || length > source.size() - begin)
      fail("tensor '{}': bytes {} to {} of '{}' are not its elements: it takes {}, the file has {}",
           name, begin, begin + length, location.string(), wanted, source.size());
    return source.read(begin, wanted);
  }

  const std::string where_, folder_;
  std::map<std::string, Function, std::less<>> functions_;
  std::size_t count_ = 0;
};

}  // namespace

ModelProgram parse_onnx(std::string_view bytes, const std::string& where,
                        const std::string& folder) {
  return Reader(where, folder).read(bytes);
}

ModelProgram read_onnx(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  return parse_onnx(read_file(path, std::uint64_t{2} << 30), path,
                    parent.empty() ? "." : parent.string());
}

// Parts of one message add up (the encoding's rule for a field given twice).
std::string exposing(std::string_view onnx, const std::vector<std::string>& values) {
  std::string outputs;
  for (const std::string& value : values) put(outputs, 12, field_of(1, value));
  return std::string(onnx) + field_of(7, outputs);
}

std::string single_node(const ModelProgram& program, const Operation& operation,
                        const std::map<std::string, const HostArray*>& inputs) {
  std::string graph, node;  // with the names of the program: in a function the node has others
  for (const std::string& in : operation.inputs) put(node, 1, in);
  for (const std::string& out : operation.outputs) put(node, 2, out);
  const std::string where = "the node";
  for (Fields f(operation.source, where); f.next();)
    if (f.field > 2 && f.is_block) put(node, f.field, f.block);
  put(graph, 1, node);
  put(graph, 2, "node");
  for (const auto& [name, array] : inputs)
    put(graph, 11, emit::value_info(name, array->dtype, array->shape));
  for (const std::string& name : operation.outputs)
    if (!name.empty()) put(graph, 12, field_of(1, name));
  return emit::model(graph, program.version);
}

}  // namespace touchstone::model
