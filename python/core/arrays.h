#pragma once

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "convert.h"
#include "touchstone/device/buffer.h"
#include "touchstone/files/npy.h"

// Arrays of Python, by the buffer protocol, __array_interface__ or DLPack.

namespace touchstone::python {

/// Memory of zeros, aligned for every type. Throws BufferError where there is none.
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

/// An array of Python's, its elements in row-major order: where they lie, or a copy where they do
/// not lie so. It keeps what it was taken from; to be destroyed by a thread that has the
/// interpreter.
class Borrowed {
 public:
  /// what: as errors call it, "input 1". wanted: bits of a float of 8 or 16 bits may come as
  /// unsigned integers. Throws DTypeError, BufferError, or TypeError for what is no array.
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
  /// Takes data of a buffer with shape_ and dtype_ at `offset`, which it must not leave.
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

/// Elements that the library made, with Python's buffer protocol and __array_interface__.
struct Elements {
  DType dtype = DType::Float32;
  std::vector<std::int64_t> shape;
  Memory memory;

  Elements(DType dtype, std::vector<std::int64_t> shape);
  std::int64_t size() const;
  std::byte* data() const { return memory.data(); }
};

/// A letter of Python's struct module; of floats that it does not know, that of their bits.
const char* format_of(DType dtype);
/// A Python number with the value.
py::object python_scalar(const Scalar& value);

void bind_arrays(py::module_& m);

}  // namespace touchstone::python
