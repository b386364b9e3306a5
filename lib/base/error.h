#pragma once

#include <stdexcept>
#include <string>

#include <fmt/format.h>

namespace touchstone {

/// The base class of all errors caused by external input. The message says what was wrong, where,
/// and how to fix it; it can be shown to users unchanged.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An invalid shape, axis, stride, mask or view.
class ShapeError : public Error {
 public:
  using Error::Error;
};

/// An operation that its element type does not support, or operand types that disagree.
class DTypeError : public Error {
 public:
  using Error::Error;
};

/// A kernel AST that breaks a rule of lib/ops; the message names the node.
class AstError : public Error {
 public:
  using Error::Error;
};

/// Text that does not parse: an expression, a kernel.json, a number, an option.
class ParseError : public Error {
 public:
  using Error::Error;
};

/// Integer arithmetic that left the range required of its result.
class OverflowError : public Error {
 public:
  using Error::Error;
};

/// A buffer that is too small, unallocated, or on the wrong device.
class BufferError : public Error {
 public:
  using Error::Error;
};

/// Something outside the process failed: a file, a compiler, a full disk.
class SystemError : public Error {
 public:
  using Error::Error;
};

}  // namespace touchstone
