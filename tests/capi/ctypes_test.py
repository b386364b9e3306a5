"""The library from Python by ctypes, following touchstone.h.

usage: ctypes_test.py LIBRARY VERSION
"""

import ctypes
import sys
import unittest
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_void_p

VERSION = sys.argv.pop()
LIBRARY = ctypes.CDLL(sys.argv.pop())


def function(name, result, *arguments):
    found = getattr(LIBRARY, "touchstone_" + name)
    found.restype, found.argtypes = result, arguments
    return found


error = function("error", c_char_p)
version = function("version", c_char_p)
scope_new = function("scope_new", c_int, POINTER(c_void_p))
scope_free = function("scope_free", None, c_void_p)
scope_variable = function("scope_variable", c_int, c_void_p, c_char_p, c_char_p, c_char_p)
simplify = function("simplify", c_int, c_void_p, c_char_p, POINTER(c_void_p))
simplified_text = function("simplified_text", c_char_p, c_void_p)
simplified_free = function("simplified_free", None, c_void_p)
prove = function("prove", c_int, c_char_p, c_char_p, POINTER(c_void_p))
proof_verdict = function("proof_verdict", c_int, c_void_p)
proof_free = function("proof_free", None, c_void_p)
view_new = function("view_new", c_int, POINTER(c_int64), c_size_t, POINTER(c_void_p))
view_permute = function("view_permute", c_int, c_void_p, POINTER(c_int), c_size_t)
view_index = function("view_index", c_char_p, c_void_p)
view_free = function("view_free", None, c_void_p)
kernel_formula = function("kernel_formula", c_int, c_char_p, POINTER(c_void_p))
kernel_bytes = function("kernel_bytes", c_size_t, c_void_p, c_size_t)
kernel_free = function("kernel_free", None, c_void_p)
eval_ = function("eval", c_int, c_void_p, POINTER(c_void_p), POINTER(c_size_t), c_size_t)
check = function("check", c_int, c_void_p, c_char_p, POINTER(c_void_p), POINTER(c_size_t), c_size_t, POINTER(c_void_p))
verdict_outcome = function("verdict_outcome", c_int, c_void_p)
verdict_text = function("verdict_text", c_char_p, c_void_p)
verdict_free = function("verdict_free", None, c_void_p)


class Library(unittest.TestCase):
    def made(self, free, make, *arguments):
        handle = c_void_p()
        self.assertEqual(make(*arguments, byref(handle)), 0, error())
        self.addCleanup(free, handle)
        return handle

    def test_has_the_version_of_the_project(self):
        self.assertEqual(version().decode(), VERSION)

    def test_simplifies(self):
        scope = self.made(scope_free, scope_new)
        self.assertEqual(scope_variable(scope, b"a", b"0", b"10"), 0)
        self.assertEqual(scope_variable(scope, b"b", b"0", b"3"), 0)
        answer = self.made(simplified_free, simplify, scope, b"(a*4 + b)//4")
        self.assertEqual(simplified_text(answer), b"a")
        self.assertEqual(simplify(scope, b"a +", byref(c_void_p())), 1)
        self.assertIn(b"column", error())

    def test_proves(self):
        self.assertEqual(proof_verdict(self.made(proof_free, prove, b"x + 0 -> x", None)), 0)
        self.assertEqual(proof_verdict(self.made(proof_free, prove, b"x + 1 -> x", None)), 1)

    def test_moves_views(self):
        view = self.made(view_free, view_new, (c_int64 * 2)(4, 6), 2)
        self.assertEqual(view_permute(view, (c_int * 2)(1, 0), 2), 0)
        self.assertEqual(view_index(view), b"idx0 + idx1*6")

    def test_evaluates_and_judges(self):
        kernel = self.made(kernel_free, kernel_formula, b"a[3]:i32 + b[3]:i32")
        self.assertEqual(kernel_bytes(kernel, 0), 12)
        out, a, b = (ctypes.c_int32 * 3)(), (ctypes.c_int32 * 3)(1, 2, 3), (ctypes.c_int32 * 3)(10, -20, 2**31 - 1)
        buffers = (c_void_p * 3)(*(ctypes.addressof(x) for x in (out, a, b)))
        sizes = (c_size_t * 3)(12, 12, 12)
        self.assertEqual(eval_(kernel, buffers, sizes, 3), 0, error())
        self.assertEqual(list(out), [11, -18, 2 - 2**31])
        self.assertEqual(verdict_outcome(self.made(verdict_free, check, kernel, None, buffers, sizes, 3)), 0)
        out[1] = 0
        verdict = self.made(verdict_free, check, kernel, b"ieee", buffers, sizes, 3)
        self.assertEqual(verdict_outcome(verdict), 1)
        self.assertTrue(verdict_text(verdict).startswith(b"FAIL: 1 of 3 elements"))


if __name__ == "__main__":
    unittest.main()
