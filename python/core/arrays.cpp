#include "arrays.h"

#include <bit>
#include <cstring>

#include "dlpack.h"
#include "touchstone/base/checked.h"
#include "touchstone/base/counted.h"

namespace touchstone::python {
namespace {

[[noreturn]] void refused(const std::string& what, const std::string& why) {
  throw DTypeError(what + ": " + why);
}

std::optional<DType> integer_of(bool is_signed, std::int64_t bytes) {
  switch (bytes) {
    case 1: return is_signed ? DType::Int8 : DType::UInt8;
    case 2: return is_signed ? DType::Int16 : DType::UInt16;
    case 4: return is_signed ? DType::Int32 : DType::UInt32;
    case 8: return is_signed ? DType::Int64 : DType::UInt64;
    default: return std::nullopt;
  }
}
std::optional<DType> float_of(std::int64_t bytes) {
  if (bytes == 2) return DType::Float16;
  if (bytes == 4) return DType::Float32;
  if (bytes == 8) return DType::Float64;
  return std::nullopt;
}

// One-element formats of the struct module. The size resolves letters with several meanings.
DType dtype_of_format(const char* format, std::int64_t bytes, const std::string& what) {
  std::string_view text = format == nullptr ? "B" : format;
  const std::string whole(text);
  if (!text.empty() && (text[0] == '>' || text[0] == '!') && bytes > 1)
    refused(what, fmt::format("elements of format '{}' are big-endian; give them the machine's "
                              "byte order, as x.astype(x.dtype.newbyteorder('='))",
                              whole));
  if (!text.empty() && std::string_view("@=<>!|").find(text[0]) != std::string_view::npos)
    text.remove_prefix(1);
  std::optional<DType> found;
  if (text == "?") {
    if (bytes == 1) found = DType::Bool;
  } else if (text == "e" || text == "f" || text == "d") {
    found = float_of(bytes);
  } else if (text.size() == 1 &&
             std::string_view("bhilqn").find(text[0]) != std::string_view::npos) {
    found = integer_of(true, bytes);
  } else if (text.size() == 1 &&
             std::string_view("BHILQN").find(text[0]) != std::string_view::npos) {
    found = integer_of(false, bytes);
  }
  if (!found)
    refused(what, fmt::format("elements of format '{}', {}, are not supported", whole,
                              counted(bytes, "byte")));
  return *found;
}

// Types that NumPy gets from ml_dtypes, by name.
std::optional<DType> extended_type(const std::string& name) {
  if (name == "bfloat16") return DType::BFloat16;
  if (name == "float8_e4m3fn") return DType::Float8E4M3;
  if (name == "float8_e5m2") return DType::Float8E5M2;
  return std::nullopt;
}

bool is_bits_of(DType given, DType wanted) {
  const bool narrow = wanted == DType::BFloat16 || wanted == DType::Float8E4M3 ||
                      wanted == DType::Float8E5M2 || wanted == DType::Float16;
  return narrow && is_unsigned(given) && itemsize(given) == itemsize(wanted);
}

// An attribute, or nothing if missing. Passes on exceptions of its getter.
std::optional<py::object> attribute(py::handle object, const char* name) {
  if (PyObject* const found = PyObject_GetAttrString(object.ptr(), name))
    return py::reinterpret_steal<py::object>(found);
  if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) throw py::error_already_set();
  PyErr_Clear();
  return std::nullopt;
}

// A member of __array_interface__.
std::vector<std::int64_t> whole_numbers(const py::handle given, const char* member,
                                        const std::string& what) {
  try {
    return given.cast<std::vector<std::int64_t>>();
  } catch (const py::cast_error&) {
    throw py::type_error(
        fmt::format("{}: the {} of __array_interface__ must be a tuple of whole numbers below 2^63",
                    what, member));
  }
}

std::int64_t product(const std::vector<std::int64_t>& shape, std::size_t width,
                     const std::string& what) {
  std::int64_t size = 1, bytes = 0;
  bool over = false, empty = false;
  for (const std::int64_t n : shape) {
    if (n < 0) throw BufferError(what + ": a size is negative");
    empty = empty || n == 0;
    over = __builtin_mul_overflow(size, n, &size) || over;
  }
  if (empty) return 0;
  over = __builtin_mul_overflow(size, static_cast<std::int64_t>(width), &bytes) || over;
  if (over) throw BufferError(what + ": more bytes than 64 bits can count");
  return size;
}

// Copies the elements at these strides, in bytes, to contiguous memory.
void gather(std::byte*& to, const std::byte* from, std::span<const std::int64_t> shape,
            std::span<const std::int64_t> strides, std::size_t width) {
  if (shape.empty()) {
    std::memcpy(to, from, width);
    to += width;
    return;
  }
  if (shape.size() == 1 && strides[0] == static_cast<std::int64_t>(width)) {
    std::memcpy(to, from, width * static_cast<std::size_t>(shape[0]));
    to += width * static_cast<std::size_t>(shape[0]);
    return;
  }
  for (std::int64_t i = 0; i < shape[0]; ++i)
    gather(to, from + i * strides[0], shape.subspan(1), strides.subspan(1), width);
}

}  // namespace

Memory::Memory(std::size_t bytes)
    : bytes_(static_cast<std::byte*>(std::calloc(std::max<std::size_t>(bytes, 1), 1))) {
  if (!bytes_) throw BufferError(fmt::format("cannot allocate an array of {} bytes", bytes));
}

Borrowed::Borrowed(py::handle object, const std::string& what, std::optional<DType> wanted) {
  if (!by_buffer(object, what) && !by_interface(object, what) && !by_dlpack(object, what))
    throw py::type_error(
        fmt::format("{}: {} is not an array; it has neither the buffer protocol nor "
                    "__array_interface__ nor __dlpack__",
                    what, py::str(py::type::of(object).attr("__name__")).cast<std::string>()));
  if (wanted && dtype_ != *wanted) {
    if (!is_bits_of(dtype_, *wanted))
      throw DTypeError(fmt::format("{} is {}, expected {}; convert it, as x.astype('{}')", what,
                                   name(dtype_), name(*wanted), name(*wanted)));
    dtype_ = *wanted;
  }
  if (is_bool(dtype_))
    for (std::int64_t i = 0; i < size_; ++i)
      if (data_[i] > std::byte{1})
        throw BufferError(what + ": contains a bool that is neither 0 nor 1");
}

bool Borrowed::by_buffer(py::handle object, const std::string& what) {
  if (py::isinstance<Elements>(object)) {  // handles types that the buffer protocol lacks
    auto& e = object.cast<Elements&>();
    owner_ = std::make_shared<py::object>(py::reinterpret_borrow<py::object>(object));
    dtype_ = e.dtype;
    shape_ = e.shape;
    data_ = e.data();
    lay_out({}, what);
    return true;
  }
  if (PyObject_CheckBuffer(object.ptr()) == 0) return false;
  auto held = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(object.ptr(), held.get(), PyBUF_FULL_RO) != 0) {
    // NumPy's extension types have no format; the other protocols handle them.
    if (py::hasattr(object, "__array_interface__") || py::hasattr(object, "__dlpack__")) {
      PyErr_Clear();
      return by_interface(object, what) || by_dlpack(object, what);
    }
    throw py::error_already_set();
  }
  const Py_buffer& b = *held;
  owner_ = std::shared_ptr<Py_buffer>(held.release(), [](Py_buffer* p) {
    PyBuffer_Release(p);
    delete p;
  });
  if (b.suboffsets != nullptr) throw BufferError(what + ": arrays of pointers are not supported");
  dtype_ = dtype_of_format(b.format, b.itemsize, what);
  data_ = static_cast<const std::byte*>(b.buf);
  if (b.ndim > 0 && b.shape == nullptr) throw BufferError(what + ": the array has no shape");
  shape_.assign(b.shape, b.shape + b.ndim);
  std::vector<std::int64_t> strides;
  if (b.strides != nullptr) strides.assign(b.strides, b.strides + b.ndim);
  lay_out(strides, what);
  return true;
}

bool Borrowed::by_interface(py::handle object, const std::string& what) {
  const std::optional<py::object> asked = attribute(object, "__array_interface__");
  if (!asked) return false;
  if (!py::isinstance<py::dict>(*asked))
    throw py::type_error(what + ": __array_interface__ must be a dict");
  const py::dict said = *asked;
  for (const char* const member : {"typestr", "shape", "data"})
    if (!said.contains(member))
      throw BufferError(fmt::format("{}: __array_interface__ has no '{}'", what, member));
  if (said.contains("mask") && !said["mask"].is_none())
    throw BufferError(what + ": __array_interface__ has a mask; fill the masked elements first");
  if (!py::isinstance<py::str>(said["typestr"]))
    throw py::type_error(what + ": the typestr of __array_interface__ must be a string");
  const auto type = said["typestr"].cast<std::string>();
  if (type.size() < 3) refused(what, "the typestr '" + type + "' is invalid");
  std::int64_t bytes = 0;
  for (const char c : type.substr(2)) {
    if (c < '0' || c > '9' || bytes > 1000) refused(what, "the typestr '" + type + "' is invalid");
    bytes = bytes * 10 + (c - '0');
  }
  std::optional<DType> found;
  if (type[0] == '>' && bytes > 1)
    refused(what, "elements are big-endian; give them the machine's byte order");
  if (type[1] == 'b' && bytes == 1) found = DType::Bool;
  if (type[1] == 'i' || type[1] == 'u') found = integer_of(type[1] == 'i', bytes);
  if (type[1] == 'f') found = float_of(bytes);
  // By its ml_dtypes name; NumPy versions spell such types differently.
  if ((type[1] == 'V' || (type[1] == 'f' && bytes == 1)) && py::hasattr(object, "dtype"))
    found = extended_type(py::str(object.attr("dtype").attr("name")).cast<std::string>());
  if (!found || static_cast<std::int64_t>(itemsize(*found)) != bytes)
    refused(what, "elements of typestr '" + type + "' are not supported");
  dtype_ = *found;
  shape_ = whole_numbers(said["shape"], "shape", what);
  std::vector<std::int64_t> strides;
  if (said.contains("strides") && !said["strides"].is_none())
    strides = whole_numbers(said["strides"], "strides", what);
  if (!strides.empty() && strides.size() != shape_.size())
    throw BufferError(what + ": __array_interface__ has different numbers of strides and axes");
  const py::object data = said["data"];
  if (py::isinstance<py::tuple>(data)) {
    const py::tuple pair = data;
    if (pair.empty() || !py::isinstance<py::int_>(pair[0]))
      throw BufferError(what + ": __array_interface__ has no address");
    data_ = reinterpret_cast<const std::byte*>(pair[0].cast<std::uintptr_t>());
    // Keeps the object and its interface dict: either may own the memory.
    owner_ = std::make_shared<py::object>(py::make_tuple(object, said));
    if (data_ == nullptr && product(shape_, itemsize(dtype_), what) != 0)
      throw BufferError(what + ": __array_interface__ has no address");
  } else {
    const py::object offset =
        said.contains("offset") ? py::object(said["offset"]) : py::object(py::int_(0));
    lie_within(data, offset, strides, what);
  }
  lay_out(strides, what);
  return true;
}

void Borrowed::lie_within(const py::object& data, const py::object& offset,
                          const std::vector<std::int64_t>& strides, const std::string& what) {
  if (PyObject_CheckBuffer(data.ptr()) == 0 || !py::isinstance<py::int_>(offset))
    throw BufferError(what + ": __array_interface__ has neither an address nor a buffer");
  auto held = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(data.ptr(), held.get(), PyBUF_SIMPLE) != 0) throw py::error_already_set();
  const Py_buffer& b = *held;
  owner_ = std::shared_ptr<Py_buffer>(held.release(), [](Py_buffer* p) {
    PyBuffer_Release(p);
    delete p;
  });
  // The range from the lowest byte to the one after the highest.
  const auto width = static_cast<std::int64_t>(itemsize(dtype_));
  std::int64_t least = offset.cast<std::int64_t>(), step = width;
  std::int64_t most = checked_add(least, width);
  for (std::size_t i = shape_.size(); i-- > 0;) {
    const std::int64_t reach =
        checked_mul(strides.empty() ? step : strides[i], std::max<std::int64_t>(shape_[i] - 1, 0));
    reach < 0 ? least = checked_add(least, reach) : most = checked_add(most, reach);
    step = checked_mul(step, std::max<std::int64_t>(shape_[i], 1));
  }
  if (product(shape_, itemsize(dtype_), what) != 0 && (least < 0 || most > b.len))
    throw BufferError(fmt::format("{}: __array_interface__ reads bytes {} to {} of a buffer of {}",
                                  what, least, most, b.len));
  data_ = static_cast<const std::byte*>(b.buf) + offset.cast<std::int64_t>();
}

bool Borrowed::by_dlpack(py::handle object, const std::string& what) {
  const bool capsule = PyCapsule_IsValid(object.ptr(), "dltensor") != 0;
  const std::optional<py::object> give = capsule ? std::nullopt : attribute(object, "__dlpack__");
  if (!capsule && !give) return false;
  const auto elsewhere = [&](std::int32_t type) {
    if (type != dlpack::kHost && type != dlpack::kPinned)
      throw BufferError(fmt::format(
          "{} is on a device (DLPack's type {}); copy it to the host first, as x.cpu() or x.get()",
          what, type));
  };
  if (!capsule && py::hasattr(object, "__dlpack_device__")) {
    const py::object said = object.attr("__dlpack_device__")();
    if (!py::isinstance<py::tuple>(said) || py::len(said) != 2)
      throw py::type_error(what + ": __dlpack_device__() did not return a pair (type, number)");
    elsewhere(py::int_(said[py::int_(0)]).cast<std::int32_t>());
  }
  py::object held;
  try {
    held = capsule ? py::reinterpret_borrow<py::object>(object) : (*give)();
  } catch (py::error_already_set&) {  // PyTorch gives no bool to DLPack before version 2.2
    const std::optional<py::object> numpy = attribute(object, "numpy");
    if (!numpy) throw;
    return by_buffer((*numpy)(), what);
  }
  auto* const managed = static_cast<dlpack::Managed*>(PyCapsule_GetPointer(held.ptr(), "dltensor"));
  if (managed == nullptr) throw py::error_already_set();
  // Takes ownership; renaming the capsule marks it as consumed.
  if (PyCapsule_SetName(held.ptr(), "used_dltensor") != 0) throw py::error_already_set();
  owner_ = std::shared_ptr<dlpack::Managed>(managed, [](dlpack::Managed* m) {
    if (m->deleter != nullptr) m->deleter(m);
  });
  const dlpack::Tensor& t = managed->tensor;
  elsewhere(t.device.type);
  if (t.dtype.lanes != 1 || t.dtype.bits % 8 != 0 || t.rank < 0)
    refused(what, "packed elements are not supported");
  const std::int64_t bytes = t.dtype.bits / 8;
  std::optional<DType> found;
  if (t.dtype.code <= 1) found = integer_of(t.dtype.code == 0, bytes);
  if (t.dtype.code == 2) found = float_of(bytes);
  if (t.dtype.code == 4 && bytes == 2) found = DType::BFloat16;
  if (t.dtype.code == 6 && bytes == 1) found = DType::Bool;
  if (t.dtype.code == 10 && bytes == 1) found = DType::Float8E4M3;
  if (t.dtype.code == 12 && bytes == 1) found = DType::Float8E5M2;
  if (!found)
    refused(what, fmt::format("DLPack's type {} of {} bits is not supported", t.dtype.code,
                              t.dtype.bits));
  dtype_ = *found;
  shape_.assign(t.shape, t.shape + t.rank);
  data_ = static_cast<const std::byte*>(t.data) + t.byte_offset;
  std::vector<std::int64_t> strides;
  if (t.strides != nullptr)
    for (std::int32_t i = 0; i < t.rank; ++i) strides.push_back(checked_mul(t.strides[i], bytes));
  lay_out(strides, what);
  return true;
}

void Borrowed::lay_out(const std::vector<std::int64_t>& strides, const std::string& what) {
  const std::size_t width = itemsize(dtype_);
  size_ = product(shape_, width, what);
  bool in_order = true;
  auto wanted = static_cast<std::int64_t>(width);
  for (std::size_t i = shape_.size(); i-- > 0 && !strides.empty();) {
    if (shape_[i] != 1 && strides[i] != wanted) in_order = false;
    wanted *= shape_[i] == 0 ? 1 : shape_[i];
  }
  const bool aligned = reinterpret_cast<std::uintptr_t>(data_) % width == 0;
  // Bools are copied, because another writer could store neither 0 nor 1.
  if (size_ == 0 || (in_order && aligned && !is_bool(dtype_))) return;
  copy_ = Memory(static_cast<std::size_t>(size_) * width);
  std::byte* to = copy_.data();
  if (in_order)
    std::memcpy(to, data_, static_cast<std::size_t>(size_) * width);
  else
    gather(to, data_, shape_, strides, width);
  data_ = copy_.data();
}

std::unique_ptr<Buffer> Borrowed::buffer(Device& host) const {
  static const std::shared_ptr<const void> elsewhere(&host, [](const void*) {});
  // Nothing writes through it: it is a kernel's input or an output to be judged.
  return std::make_unique<Buffer>(host, dtype_, size_, const_cast<std::byte*>(data_), elsewhere);
}

Elements::Elements(DType of, std::vector<std::int64_t> sizes)
    : dtype(of),
      shape(std::move(sizes)),
      memory(static_cast<std::size_t>(product(shape, itemsize(of), "array")) * itemsize(of)) {}

std::int64_t Elements::size() const { return product(shape, itemsize(dtype), "array"); }

// Floats that Python lacks have the format of their bits.
const char* format_of(DType dtype) {
  constexpr const char* kSigned[] = {"b", "h", "i", "q"};
  constexpr const char* kUnsigned[] = {"B", "H", "I", "Q"};
  constexpr const char* kFloats[] = {"B", "e", "f", "d"};
  if (is_bool(dtype)) return "?";
  const bool whole = !is_float(dtype), bits = is_unsigned(dtype) || dtype == DType::BFloat16;
  return (bits ? kUnsigned : whole ? kSigned : kFloats)[std::bit_width(itemsize(dtype)) - 1];
}

py::object python_scalar(const Scalar& value) {
  if (is_bool(value.dtype())) return py::bool_(value.bits() != 0);
  if (is_unsigned(value.dtype())) return py::int_(value.bits());
  if (is_integer(value.dtype())) return py::int_(value.to_int64());
  return py::float_(value.to_double());
}

void bind_arrays(py::module_& m) {
  py::class_<Elements>(m, "Elements", py::buffer_protocol(),
                       "Elements in row-major order, with the buffer protocol; bfloat16 and float8 "
                       "appear as their bits.")
      .def_buffer([](Elements& e) {
        const auto width = static_cast<py::ssize_t>(itemsize(e.dtype));
        std::vector<py::ssize_t> shape(e.shape.begin(), e.shape.end()), strides(shape.size());
        py::ssize_t step = width;
        for (std::size_t i = shape.size(); i-- > 0;) {
          strides[i] = step;
          step *= shape[i];
        }
        return py::buffer_info(e.data(), width, format_of(e.dtype),
                               static_cast<py::ssize_t>(shape.size()), shape, strides);
      })
      .def_property_readonly("dtype", [](const Elements& e) { return name(e.dtype); })
      .def_property_readonly("shape",
                             [](const Elements& e) { return py::tuple(py::cast(e.shape)); });
  m.def(
      "as_dtype",
      [](py::handle array, const std::string& dtype) {
        const Borrowed b(array, "array", parse_dtype(dtype));
        Elements e(b.dtype(), b.shape());
        std::memcpy(e.data(), b.data(), b.bytes());
        return e;
      },
      py::arg("array"), py::arg("dtype"),
      "A copy of the elements as that dtype: unsigned integers are the bits of a float of 8 or 16 "
      "bits, as of bfloat16.");
  m.def(
      "_layout",
      [](py::handle array) {
        const Borrowed b(array, "array");
        return py::make_tuple(std::string(name(b.dtype())), py::tuple(py::cast(b.shape())),
                              b.copied());
      },
      py::arg("array"), "(dtype, shape, whether its elements must be copied)");
}

}  // namespace touchstone::python
