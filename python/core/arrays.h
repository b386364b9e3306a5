#pragma once

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "convert.h"
#include "touchstone/device/buffer.h"
#include "touchstone/files/npy.h"

// Python arrays, by the buffer protocol, __array_interface__ or DLPack.

namespace touchstone::python {

/// Zeroed memory, aligned for every type. Throws BufferError if there is none.
class Memory {
 public:
  Memory() = default;
  explicit Memory(std::size_t bytes);
  std::byte* data() const { return bytes_.get(); }

 private:
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };
  std::unique_ptr<std::byte, Free> bytes_;
};

/// A Python array with row-major elements: in place, or copied if they lie otherwise. Keeps its
/// source alive; must be destroyed by a thread that holds the interpreter.
class Borrowed {
 public:
  /// what: its name in errors, "input 1". wanted: 8- and 16-bit floats may be given as unsigned
  /// integers. Throws DTypeError, BufferError, or TypeError if it is no array.
  Borrowed(py::handle object, const std::string& what, std::optional<DType> wanted = {});

  DType dtype() const { return dtype_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  std::int64_t size() const { return size_; }
  const std::byte* data() const { return data_; }
  std::size_t bytes() const { return static_cast<std::size_t>(size_) * itemsize(dtype_); }
  /// Whether the elements were copied.
  bool copied() const { return copy_.data() != nullptr; }
  /// A buffer over the elements, which must outlive it.
  std::unique_ptr<Buffer> buffer(Device& host) const;

 private:
  bool by_buffer(py::handle object, const std::string& what);
  bool by_interface(py::handle object, const std::string& what);
  bool by_dlpack(py::handle object, const std::string& what);
  /// Takes the data of a buffer with shape_ and dtype_ at `offset`; it must lie inside.
  void lie_within(const py::object& data, const py::object& offset,
                  const std::vector<std::int64_t>& strides, const std::string& what);
  void lay_out(const std::vector<std::int64_t>& strides, const std::string& what);

  DType dtype_ = DType::Float32;
  std::vector<std::int64_t> shape_;
  std::int64_t size_ = 1;
  const std::byte* data_ = nullptr;
  std::shared_ptr<void> owner_;
  Memory copy_;
};

/// Elements made by the library, with Python's buffer protocol and __array_interface__.
struct Elements {
  DType dtype = DType::Float32;
  std::vector<std::int64_t> shape;
  Memory memory;

  Elements(DType dtype, std::vector<std::int64_t> shape);
  std::int64_t size() const;
  std::byte* data() const { return memory.data(); }
};

/// A format letter of Python's struct module; for floats without one, that of their bits.
const char* format_of(DType dtype);
/// The value as a Python number.
py::object python_scalar(const Scalar& value);

void bind_arrays(py::module_& m);

}  // namespace touchstone::python
