"""Types of touchstone._core; tests hold the names against the module."""
import builtins

class Error(builtins.Exception):
    ...

class ShapeError(Error, builtins.ValueError):
    ...

class IndexError(ShapeError, builtins.IndexError):
    ...

class DTypeError(Error, builtins.TypeError):
    ...

class AstError(Error, builtins.ValueError):
    ...

class ParseError(Error, builtins.ValueError):
    ...

class OverflowError(Error, builtins.OverflowError):
    ...

class BufferError(Error, builtins.BufferError):
    ...

class SystemError(Error, builtins.OSError):
    ...

class Interrupted(Error):
    ...

__version__: str
