#pragma once

#include <stdexcept>
#include <string>

#include <fmt/format.h>

namespace touchstone {

/// The root of every error that input from outside can cause. The message says what was wrong,
/// where, and how to mend it; a caller may show it as it stands.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A shape, axis, stride, mask or view that cannot be.
class ShapeError : public Error {
 public:
  using Error::Error;
};

/// An operation on an element type that does not have it, or on types that disagree.
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

/// Arithmetic on integers that left the range a result must have.
class OverflowError : public Error {
 public:
  using Error::Error;
};

/// A buffer that is too small, not allocated, or on another device than asked for.
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
