#include "touchstone/files/torch_pickle.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>

#include "touchstone/base/checked.h"
#include "touchstone/base/error.h"
#include "touchstone/base/visible.h"

namespace touchstone {
namespace {

constexpr int kDeepest = 64;                   // nesting of containers
constexpr std::size_t kMostNodes = 1'000'000;  // visited, counting repeats

// A value of the pickle. Lists and dictionaries may contain themselves.
struct PickleValue {
  enum class Kind {
    None,
    Truth,
    Whole,
    Fraction,
    Text,
    Tuple,
    List,
    Dict,
    Global,
    Storage,
    Strided
  };
  Kind kind = Kind::None;
  std::int64_t whole = 0;
  std::string text;                  // the text, or a global's "module.name"
  std::vector<PickleValue*> values;  // of a dictionary: alternating keys and values
  std::optional<TorchStorage> storage;
  std::optional<TorchTensor> tensor;
};
using PickleKind = PickleValue::Kind;

const std::map<std::string_view, DType>& storage_types() {
  static const std::map<std::string_view, DType> types = {
      {"torch.DoubleStorage", DType::Float64}, {"torch.FloatStorage", DType::Float32},
      {"torch.HalfStorage", DType::Float16},   {"torch.BFloat16Storage", DType::BFloat16},
      {"torch.LongStorage", DType::Int64},     {"torch.IntStorage", DType::Int32},
      {"torch.ShortStorage", DType::Int16},    {"torch.CharStorage", DType::Int8},
      {"torch.ByteStorage", DType::UInt8},     {"torch.BoolStorage", DType::Bool}};
  return types;
}
constexpr std::string_view kDictionary = "collections.OrderedDict",
                           kTensor = "torch._utils._rebuild_tensor_v2",
                           kParameter = "torch._utils._rebuild_parameter";

class Unpickler {
 public:
  /// `at`: start of the pickle.
  Unpickler(std::string_view bytes, const TorchFault& bad, std::size_t at = 0)
      : bytes_(bytes), bad_(bad), at_(at) {}

  std::size_t end() const { return at_; }
  /// The storages named, by key.
  const std::map<std::string, TorchStorage>& storages() const { return storages_; }

  const PickleValue& run() {
    while (true) {
      const auto code = static_cast<unsigned char>(take(1)[0]);
      if (code == '.') break;
      step(code);
    }
    if (stack_.size() != 1 || !marks_.empty()) bad("it ends with unused values");
    return *stack_[0];
  }

 private:
  [[noreturn]] void bad(const std::string& why) const {
    bad_(fmt::format("its pickle, at byte {}: {}", at_, why));
    std::abort();  // not reached: bad() throws
  }

  std::string_view take(std::size_t count) {
    if (count > bytes_.size() - at_) bad("it ends inside an instruction");
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  std::uint64_t number(std::size_t count) {  // little-endian
    std::uint64_t n = 0;
    const std::string_view raw = take(count);
    for (std::size_t i = count; i-- > 0;) n = n << 8 | static_cast<unsigned char>(raw[i]);
    return n;
  }
  std::string line() {
    const std::size_t end = bytes_.find('\n', at_);
    if (end == bytes_.npos) bad("it ends inside a name");
    const std::string text(take(end - at_));
    ++at_;
    return text;
  }

  PickleValue* make(PickleKind kind) {
    made_.push_back(std::make_unique<PickleValue>());
    made_.back()->kind = kind;
    return made_.back().get();
  }
  void push(PickleValue* value) { stack_.push_back(value); }
  void push_text(std::string_view text) {
    PickleValue* const value = make(PickleKind::Text);
    value->text = text;
    push(value);
  }
  void push_whole(std::int64_t whole) {
    PickleValue* const value = make(PickleKind::Whole);
    value->whole = whole;
    push(value);
  }
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  PickleValue* pop() {
    if (stack_.size() <= floor()) bad("it uses a value that is not there");
    PickleValue* const value = stack_.back();
    stack_.pop_back();
    return value;
  }
  PickleValue* top(PickleKind kind, const char* what) {
    if (stack_.size() <= floor() || stack_.back()->kind != kind)
      bad(fmt::format("it modifies something that is not a {}", what));
    return stack_.back();
  }
  // Pops the values above the last mark, and the mark.
  std::vector<PickleValue*> above_mark() {
    if (marks_.empty()) bad("it has no mark");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<PickleValue*> values(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return values;
  }
  void push_tuple(std::vector<PickleValue*> values) {
    PickleValue* const tuple = make(PickleKind::Tuple);
    tuple->values = std::move(values);
    push(tuple);
  }
  void push_tuple(std::size_t count) {
    std::vector<PickleValue*> values(count);
    for (std::size_t i = count; i-- > 0;) values[i] = pop();
    push_tuple(std::move(values));
  }
  void remember(std::uint64_t i) {
    if (stack_.size() <= floor()) bad("it memoizes a value that is not there");
    memo_[i] = stack_.back();
  }
  void recall(std::uint64_t i) {
    const auto found = memo_.find(i);
    if (found == memo_.end()) bad("it recalls a value that was not memoized");
    push(found->second);
  }
  void push_global(const std::string& name) {
    if (name != kDictionary && name != kTensor && name != kParameter &&
        !storage_types().contains(name))
      bad(
          fmt::format("it names '{}', which tensors do not need; functions named by a file are "
                      "never called. Save the state_dict() alone",
                      visible(name)));
    PickleValue* const value = make(PickleKind::Global);
    value->text = name;
    push(value);
  }

  void step(unsigned char code) {
    switch (code) {
      case 0x80:  // PROTO
        if (number(1) > 5) bad("its protocol is above 5");
        return;
      case 0x95:  // FRAME
        (void)take(8);
        return;
      case '(': return marks_.push_back(stack_.size());
      case 'N': return push(make(PickleKind::None));
      case 0x88:  // NEWTRUE
      case 0x89:  // NEWFALSE
        push(make(PickleKind::Truth));
        stack_.back()->whole = code == 0x88 ? 1 : 0;
        return;
      case 'J': return push_whole(static_cast<std::int32_t>(static_cast<std::uint32_t>(number(4))));
      case 'K': return push_whole(static_cast<std::int64_t>(number(1)));
      case 'M': return push_whole(static_cast<std::int64_t>(number(2)));
      case 0x8a:  // LONG1
        return push_long(static_cast<std::size_t>(number(1)));
      case 'G': (void)take(8); return push(make(PickleKind::Fraction));
      case 'X': return push_text(take(static_cast<std::size_t>(number(4))));
      case 0x8c:  // SHORT_BINUNICODE
        return push_text(take(static_cast<std::size_t>(number(1))));
      case ')': return push_tuple(std::size_t{0});
      case 0x85:
      case 0x86:
      case 0x87:  // TUPLE1 to 3
        return push_tuple(std::size_t{code} - 0x84);
      case 't': return push_tuple(above_mark());
      case ']': return push(make(PickleKind::List));
      case '}': return push(make(PickleKind::Dict));
      case 'a': {
        PickleValue* const value = pop();
        return top(PickleKind::List, "list")->values.push_back(value);
      }
      case 'e': return append(PickleKind::List, "list", above_mark());
      case 's': {
        PickleValue *const value = pop(), *const key = pop();
        return append(PickleKind::Dict, "dictionary", {key, value});
      }
      case 'u': return append(PickleKind::Dict, "dictionary", above_mark());
      case 'q': return remember(number(1));
      case 'r': return remember(number(4));
      case 0x94:  // MEMOIZE
        return remember(memo_.size());
      case 'h': return recall(number(1));
      case 'j': return recall(number(4));
      case 'c': {
        const std::string module = line();
        return push_global(module + "." + line());
      }
      case 0x93: {  // STACK_GLOBAL
        const PickleValue *const name = pop(), *const module = pop();
        if (name->kind != PickleKind::Text || module->kind != PickleKind::Text)
          bad("a name is not a string");
        return push_global(module->text + "." + name->text);
      }
      case 'Q': return push_storage(pop());
      case 'R': {
        const PickleValue *const arguments = pop(), *const function = pop();
        return call(*function, *arguments);
      }
      case 'b':  // BUILD: attributes of a dictionary (_metadata); ignored
        (void)pop();
        (void)top(PickleKind::Dict, "dictionary");
        return;
      default:
        bad(fmt::format("instruction 0x{:02x} is not supported, since tensors do not need it",
                        code));
    }
  }

  void push_long(std::size_t count) {
    if (count > 8) bad("it has a number of more than 64 bits");
    std::uint64_t n = number(count);
    if (count > 0 && count < 8 && (n >> (8 * count - 1) & 1) != 0)
      n |= ~std::uint64_t{0} << (8 * count);
    push_whole(static_cast<std::int64_t>(n));
  }

  void append(PickleKind kind, const char* what, const std::vector<PickleValue*>& values) {
    PickleValue* const target = top(kind, what);
    if (kind == PickleKind::Dict && values.size() % 2 != 0)
      bad("a dictionary has a key without a value");
    target->values.insert(target->values.end(), values.begin(), values.end());
  }

  std::int64_t whole(const PickleValue& value) const {
    if (value.kind != PickleKind::Whole || value.whole < 0)
      bad("a size, stride or offset is invalid");
    return value.whole;
  }
  std::vector<std::int64_t> wholes(const PickleValue& value) const {
    if (value.kind != PickleKind::Tuple) bad("a shape or strides are not a tuple");
    std::vector<std::int64_t> all;
    for (const PickleValue* const v : value.values) all.push_back(whole(*v));
    return all;
  }

  // ('storage', torch.FloatStorage, '0', 'cpu', 12), plus None before PyTorch 1.6.
  void push_storage(const PickleValue* id) {
    const std::size_t parts = id->kind == PickleKind::Tuple ? id->values.size() : 0;
    if (parts == 6 && id->values[5]->kind != PickleKind::None)
      bad("it uses a part of another storage; load it in PyTorch and save it again");
    if ((parts != 5 && parts != 6) || id->values[0]->kind != PickleKind::Text ||
        id->values[0]->text != "storage" || id->values[1]->kind != PickleKind::Global ||
        id->values[2]->kind != PickleKind::Text)
      bad("it uses something that is not a storage");
    const auto type = storage_types().find(id->values[1]->text);
    if (type == storage_types().end()) bad("a storage has no element type");
    PickleValue* const made = make(PickleKind::Storage);
    made->storage = TorchStorage{type->second, id->values[2]->text, whole(*id->values[4])};
    const auto [known, fresh] = storages_.emplace(made->storage->key, *made->storage);
    if (!fresh &&
        (known->second.dtype != made->storage->dtype || known->second.size != made->storage->size))
      bad(fmt::format("storage '{}' has two types or sizes", visible(made->storage->key)));
    push(made);
  }

  void call(const PickleValue& function, const PickleValue& arguments) {
    if (function.kind != PickleKind::Global || arguments.kind != PickleKind::Tuple)
      bad("it calls something without a name");
    const std::vector<PickleValue*>& given = arguments.values;
    if (function.text == kDictionary && given.empty()) return push(make(PickleKind::Dict));
    if (function.text == kParameter && !given.empty() && given[0]->kind == PickleKind::Strided)
      return push(given[0]);
    if (function.text != kTensor || given.size() < 4 || given[0]->kind != PickleKind::Storage)
      bad(fmt::format("it calls '{}' with arguments that do not make a tensor", function.text));
    TorchTensor tensor{"", *given[0]->storage, whole(*given[1]), wholes(*given[2]),
                       wholes(*given[3])};
    require_within(tensor);
    PickleValue* const made = make(PickleKind::Strided);
    made->tensor = std::move(tensor);
    push(made);
  }

  void require_within(const TorchTensor& x) const {
    if (x.shape.size() != x.strides.size())
      bad("a tensor has different numbers of strides and sizes");
    try {
      std::int64_t count = 1, last = x.offset;
      for (std::size_t i = 0; i < x.shape.size(); ++i) {
        count = checked_mul(count, x.shape[i]);
        last =
            checked_add(last, checked_mul(x.strides[i], std::max<std::int64_t>(x.shape[i] - 1, 0)));
      }
      if (count > 0 && last >= x.storage.size) bad("a tensor lies outside its storage");
      // Otherwise a few bytes could make an array of any size.
      if (count > x.storage.size) bad("a tensor has more elements than its storage");
    } catch (const OverflowError&) {
      bad("the sizes of a tensor are too large");
    }
  }

  std::string_view bytes_;
  const TorchFault& bad_;
  std::size_t at_;
  std::map<std::string, TorchStorage> storages_;
  std::vector<std::unique_ptr<PickleValue>> made_;
  std::vector<PickleValue*> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, PickleValue*> memo_;
};

// Collects all tensors in a value, named by keys and positions.
class Flattened {
 public:
  explicit Flattened(const TorchFault& bad) : bad_(bad) {}
  std::vector<TorchTensor> all;

  void add(const PickleValue& value, const std::string& name, int depth = 0) {
    if (depth > kDeepest) bad_("its containers contain themselves, or nest 65 deep or more");
    if (++nodes_ > kMostNodes) bad_("it has more than 1,000,000 values");
    if (value.kind == PickleKind::Strided) {
      if (!seen_.insert(name).second) bad_(fmt::format("it has two tensors '{}'", visible(name)));
      all.push_back(*value.tensor);
      all.back().name = name;
    } else if (value.kind == PickleKind::Dict) {
      for (std::size_t i = 0; i < value.values.size(); i += 2)
        add(*value.values[i + 1], inner(name, key_of(*value.values[i])), depth + 1);
    } else if (value.kind == PickleKind::List || value.kind == PickleKind::Tuple) {
      for (std::size_t i = 0; i < value.values.size(); ++i)
        add(*value.values[i], inner(name, std::to_string(i)), depth + 1);
    }
  }

 private:
  static std::string inner(const std::string& name, const std::string& key) {
    return name.empty() ? key : name + "." + key;
  }
  std::string key_of(const PickleValue& key) const {
    if (key.kind == PickleKind::Text) return key.text;
    if (key.kind == PickleKind::Whole) return std::to_string(key.whole);
    bad_("a key of a dictionary is neither a string nor an integer");
    return {};
  }

  const TorchFault& bad_;
  std::set<std::string> seen_;
  std::size_t nodes_ = 0;
};

}  // namespace

std::vector<TorchTensor> torch_tensors(std::string_view pickle, const TorchFault& bad) {
  Unpickler unpickler(pickle, bad);
  Flattened flat(bad);
  flat.add(unpickler.run(), "");
  return std::move(flat.all);
}

namespace {
// pickle.dumps(0x1950a86a20f9469cfc6c, 2); no other file starts with it.
constexpr std::string_view kStream("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15);
constexpr std::int64_t kStreamVersion = 1001;
}  // namespace

bool begins_torch_stream(std::string_view front) { return front.starts_with(kStream); }

TorchStream torch_stream(std::string_view front, const TorchFault& bad) {
  TorchStream made;
  Unpickler version(front, bad, kStream.size());
  if (const PickleValue& v = version.run();
      v.kind != PickleKind::Whole || v.whole != kStreamVersion)
    bad("its version is not 1001");
  Unpickler system(front, bad, version.end());
  const PickleValue& facts = system.run();
  bool little = false;
  for (std::size_t i = 0; facts.kind == PickleKind::Dict && i + 1 < facts.values.size(); i += 2)
    if (facts.values[i]->text == "little_endian") little = facts.values[i + 1]->whole == 1;
  if (!little) bad("its elements are big-endian");
  Unpickler tensors(front, bad, system.end());
  Flattened flat(bad);
  flat.add(tensors.run(), "");
  made.tensors = std::move(flat.all);
  Unpickler list(front, bad, tensors.end());
  const PickleValue& keys = list.run();
  if (keys.kind != PickleKind::List) bad("the keys of its storages are not a list");
  for (const PickleValue* const key : keys.values) {
    const auto known = tensors.storages().find(key->text);
    if (key->kind != PickleKind::Text || known == tensors.storages().end())
      bad("it has a storage that no tensor named");
    made.storages.push_back(known->second);
  }
  made.end = list.end();
  return made;
}

HostArray strided_elements(const TorchTensor& x, std::string_view storage, const Wanted& wanted,
                           const TorchFault& bad) {
  const std::size_t each = itemsize(x.storage.dtype);
  ArrayLayout at{x.name, x.storage.dtype, x.shape, 0};
  const std::size_t count = wanted_of(at, wanted) / each;
  HostArray made{at.dtype, std::move(at.shape), std::string(count * each, '\0')};
  std::vector<std::int64_t> index(x.shape.size(), 0);
  std::int64_t from = x.offset;
  for (std::size_t n = 0; n < count; ++n) {
    std::memcpy(made.bytes.data() + n * each,
                storage.data() + static_cast<std::size_t>(from) * each, each);
    for (std::size_t axis = index.size(); axis-- > 0;) {
      from += x.strides[axis];
      if (++index[axis] < x.shape[axis]) break;
      from -= x.strides[axis] * x.shape[axis];
      index[axis] = 0;
    }
  }
  if (is_bool(made.dtype) &&
      made.bytes.find_first_not_of(std::string_view("\0\1", 2)) != made.bytes.npos)
    bad(fmt::format("'{}' contains a bool that is neither 0 nor 1", visible(x.name)));
  return made;
}

}  // namespace touchstone
