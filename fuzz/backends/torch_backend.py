"""PyTorch on the CPU as a backend of Touchstone, over the line protocol of docs/backends.md.

touchstone judge --backend '/usr/bin/python3 fuzz/backends/torch_backend.py'
"""
import cuda_libraries
from line_protocol import serve

# PyTorch's out-of-range float to integer casts are undefined, as in C; its maximum of zeros may be
# either.
PROFILE = {"name": "torch", "base": "glibc", "casts_saturate": False, "zeros_alike": True}

cuda_libraries.THEIRS = {}  # the profile says nothing of PyTorch's float8_e4m3fn, which overflows
library = cuda_libraries.Torch(cuda_libraries.options_of([], "cpu"))
library.torch.set_num_threads(1)
serve({"name": "torch", "version": library.version, "profile": PROFILE},
      cuda_libraries.Runner(library).run)
