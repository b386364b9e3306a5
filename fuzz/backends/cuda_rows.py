"""The rows of cuda_league.py: kernels as Touchstone formulas, and as calls of each library."""
import dataclasses

PROFILES = {
    "cuda": "cuda",
    "cuda-approx": None,  # in profiles/, with its sources
    "tensorcore": "tensorcore",
    # A library kernel may keep digits between the operations of a definition.
    "wide": {"name": "wide", "base": "cuda", "excess": {"to": "float64", "rounds": "stores"}},
    # The same in float32, including its roundings and the library's exp2.
    "wide32": {"name": "wide32", "base": "cuda", "excess": {"to": "float32", "rounds": "stores"}},
    # 1 / sqrt(x) as rsqrtf: 2 ULP by the CUDA C++ Programming Guide (17.1, table 17).
    "norms": {"name": "norms", "base": "cuda", "excess": {"to": "float64", "rounds": "stores"},
              "ulp": {"recip": 2}},
    # The same with each operation rounded to its type.
    "norms-own": {"name": "norms-own", "base": "cuda", "ulp": {"recip": 2}},
    "half-sums": {"name": "half-sums", "base": "tensorcore", "accumulator": "float16"},
    # Out-of-range float to integer casts are undefined in all of these libraries.
    "casts": {"name": "casts", "base": "cuda", "casts_saturate": False},
    "fp8-infinity": {"name": "fp8-infinity", "base": "cuda", "float8_overflow": "infinity"},
    "fp8-saturates": {"name": "fp8-saturates", "base": "cuda", "float8_overflow": "saturates"},
}

ALL = ("float16", "bfloat16", "float32", "float64")
NARROW = ("float16", "bfloat16", "float32")
LIBRARIES = ("torch", "compile", "triton", "jax", "cupy")


@dataclasses.dataclass
class Row:
    """A row of the table."""
    name: str
    text: str  # the kernel, T for the type (docs/define.md)
    types: tuple
    calls: dict  # library: an expression of x1, x2, ...; "compile" uses that of "torch"
    profile: str = "cuda"
    options: dict = dataclasses.field(default_factory=dict)  # library: flags of cuda_libraries.py
    twice: bool = False
    big: bool = False  # one random input, not the families of emit
    shows: dict = dataclasses.field(default_factory=dict)  # library: a reproducer

    def call(self, library):
        return self.calls.get(library, self.calls.get("torch") if library == "compile" else None)

    def flags(self, library):
        return self.options.get(library, self.options.get("torch", [])
                                if library == "compile" else [])


MATMUL = {"torch": "x1 @ x2", "jax": "x1 @ x2", "cupy": "x1 @ x2",
          "triton": "kernels.matmul(x1, x2, 'ieee')"}
TRITON_TF32 = "kernels.matmul(x1, x2, 'tf32')"
HALVES = ("float16", "bfloat16")
MATMUL_TEXT = "matmul(a[96,256]:T, b[256,80]:T)"
CONV_TEXT = "conv2d(x[2,32,14,14]:T, w[32,32,3,3]:T, padding=1)"
CONV = {"torch": "F.conv2d(x1, x2, padding=1)",
        "jax": "lax.conv_general_dilated(x1, x2, (1, 1), [(1, 1), (1, 1)])"}
SUM = {"torch": "torch.sum(x1)", "jax": "jnp.sum(x1)", "cupy": "cupy.sum(x1)"}


# log2(e) and log(2), each in two parts, the first exact in every type: docs/define.md rounds the
# constant to the type, libraries know more digits.
def exp(x):
    return f"exp2(({x})*1.4375 + ({x})*0.005195040888963407)"


def log(x):
    return f"(log2({x})*0.6875 + log2({x})*0.005647180559945309)"


def from_top(x, again):
    """Each element minus its row's maximum; `again` is x once it has been named."""
    return f"({x} - max({again}, axis=1, keep=1))"


def softmax(x, again):
    first, rest = from_top(x, again), from_top(again, again)
    first = f"exp2({first}*1.4375 + {rest}*0.005195040888963407)"
    return f"{first} / sum({exp(rest)}, axis=1, keep=1)"


X = "x[48,300]:T"
SCORES = "((q @ transpose(k)) * 0.25)"
ATTENTION_TEXT = (f"({softmax('((q[64,16]:T @ transpose(k[64,16]:T)) * 0.25)', SCORES)})"
                  " @ v[64,16]:T")


# x sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3)), with its two constants split as above.
GELU_TEXT = ("x[2000]:T * recip(exp2(x*-2.296875 + x*-0.005333198144325202 + x*x*x*-0.1025390625"
             " + x*x*x*-0.0004041770800234934) + 1)")


TF32_SHOWN = {
    "torch": "import torch\n"
             "torch.backends.cuda.matmul.allow_tf32 = True\n"
             "a, one = torch.full((16, 16), 1 + 2.0**-12, device='cuda'), torch.eye(16, device='cuda')\n"
             "print((a @ one)[0, 0].item())  # right is 1.000244140625",
    "jax": "import jax.numpy as jnp\n"
           "a = jnp.full((16, 16), 1 + 2.0**-12, dtype='float32')\n"
           "print(float((a @ jnp.eye(16, dtype='float32'))[0, 0]))  # right is 1.000244140625"}

ROWS = [
    Row("matmul", MATMUL_TEXT, ALL, {**MATMUL, "triton": None}, options={"jax": ["--precision", "highest"]}),
    Row("matmul by Triton", MATMUL_TEXT, NARROW, {"triton": MATMUL["triton"]}),
    Row("matmul, default precision", MATMUL_TEXT, ("float32",), {"jax": MATMUL["jax"]},
        shows={"jax": TF32_SHOWN["jax"]}),
    Row("matmul, TF32", MATMUL_TEXT, ("float32",), {"torch": MATMUL["torch"],
                                                    "triton": TRITON_TF32},
        options={"torch": ["--tf32"]}, shows={"torch": TF32_SHOWN["torch"]}),
    Row("matmul, TF32 declared", MATMUL_TEXT, ("float32",), {**MATMUL, "triton": TRITON_TF32},
        "tensorcore",
        options={"torch": ["--tf32"], "jax": ["--precision", "tensorfloat32"]}),
    Row("matmul, reduced sums", MATMUL_TEXT, ("float16", "bfloat16"), {"torch": MATMUL["torch"]},
        options={"torch": ["--reduced-sums"]}),
    Row("matmul, float16 accumulation", MATMUL_TEXT, ("float16",), {"torch": MATMUL["torch"]},
        options={"torch": ["--fp16-accumulate"]},
        shows={"torch": "import torch\n"
                        "torch.backends.cuda.matmul.allow_fp16_accumulation = True\n"
                        "a = torch.full((4096, 4096), 1 + 2.0**-10, dtype=torch.float16).cuda()\n"
                        "print((a @ a)[0, 0].item())  # right is 4104.0"}),
    Row("matmul, float16 accumulation declared", MATMUL_TEXT, ("float16",),
        {"torch": MATMUL["torch"]}, "half-sums", options={"torch": ["--fp16-accumulate"]}),
    Row("conv2d", CONV_TEXT, ALL, CONV, options={"jax": ["--precision", "highest"]},
        shows={"compile": "import torch  # cuDNN, in the layout that torch.compile prefers\n"
                          "x, w = torch.zeros(1, 8, 8, 8).cuda().half(), torch.ones(8, 8, 3, 3)"
                          ".cuda().half(); x[0, 5, 3] = -torch.inf\n"
                          "print([torch.conv2d(x.to(memory_format=f), w.to(memory_format=f), padding=1)"
                          "[0, 0, 3, 3].item() for f in (torch.contiguous_format, torch.channels_last)])"
                          "  # right is -inf twice"}),
    Row("conv2d of 8 channels", CONV_TEXT.replace("32", "8"), ALL, CONV,
        options={"jax": ["--precision", "highest"]}),
    Row("conv2d, default precision", CONV_TEXT, ("float32",), {"jax": CONV["jax"]},
        shows={"jax": "import jax, jax.numpy as jnp\n"
                      "x, w = jnp.full((2, 32, 14, 14), 1 + 2.0**-12, 'float32'), "
                      "jnp.eye(32, dtype='float32').reshape(32, 32, 1, 1)\n"
                      "print(float(jax.lax.conv(x, w, (1, 1), 'SAME')[0, 0, 0, 0]))"
                      "  # right is 1.000244140625"}),
    Row("conv2d, TF32", CONV_TEXT, ("float32",), {"torch": CONV["torch"]},
        options={"torch": ["--tf32"]},
        shows={"torch": "import torch  # torch.backends.cudnn.allow_tf32 is True from the start\n"
                        "x, w = torch.full((2, 32, 14, 14), 1 + 2.0**-12).cuda(), "
                        "torch.eye(32).reshape(32, 32, 1, 1).cuda()\n"
                        "print(torch.conv2d(x, w)[0, 0, 0, 0].item())  # right is 1.000244140625"}),
    Row("conv2d, TF32 declared", CONV_TEXT, ("float32",), CONV, "tensorcore",
        options={"torch": ["--tf32"], "jax": ["--precision", "tensorfloat32"]}),
    Row("softmax", softmax(X, "x"), NARROW,
        {"torch": "F.softmax(x1, -1)", "jax": "jax.nn.softmax(x1)",
         "triton": "kernels.softmax(x1)",
         "cupy": "special.softmax(x1, axis=-1)"}, "wide"),
    Row("log_softmax",
        f"{from_top(X, 'x')} - {log('sum(' + exp(from_top('x', 'x')) + ', axis=1, keep=1)')}",
        NARROW,
        {"torch": "F.log_softmax(x1, -1)", "jax": "jax.nn.log_softmax(x1)",
         "cupy": "special.log_softmax(x1, axis=-1)"}, "wide"),
    Row("layer_norm", "layer_norm(x[48,300]:T, w[300]:T, b[300]:T, eps=0.00000762939453125)", NARROW,
        {"torch": "F.layer_norm(x1, x1.shape[-1:], x2, x3, 2**-17)",
         "jax": "jax.nn.standardize(x1, epsilon=2**-17) * x2 + x3"}, "norms",
        shows={"torch": "import torch\n"
                        "x = torch.tensor([[1.0, 0.0, -1.0, 0.0]]).cuda()\n"
                        "print(torch.native_layer_norm(x, [4], None, None, 1e-5)[1].item())"
                        "  # the mean; right is 0",
               "jax": "import jax, jax.numpy as jnp\n"
                      "x = jnp.array([4096, 4097, 4098, 4099], 'float32')\n"
                      "print(jax.nn.standardize(x))  # right is [-1.3416 -0.4472 0.4472 1.3416]"}),
    Row("layer_norm, each operation rounded", "layer_norm(x[48,300]:T, w[300]:T, b[300]:T, "
        "eps=0.00000762939453125)", ("float32",),
        {"torch": "F.layer_norm(x1, x1.shape[-1:], x2, x3, 2**-17)",
         "jax": "jax.nn.standardize(x1, epsilon=2**-17) * x2 + x3"}, "norms-own"),
    Row("rms_norm", "rms_norm(x[48,300]:T, w[300]:T, eps=0.00000095367431640625)", NARROW,
        {"torch": "F.rms_norm(x1, x1.shape[-1:], x2, 2**-20)"}, "norms"),
    Row("sigmoid", "recip(exp2(x[2000]:T*-1.4375 + x*-0.005195040888963407) + 1)", NARROW,
        {"torch": "torch.sigmoid(x1)", "jax": "jax.nn.sigmoid(x1)", "cupy": "special.expit(x1)"},
        "wide"),
    Row("silu", "x[2000]:T * recip(exp2(x*-1.4375 + x*-0.005195040888963407) + 1)", NARROW,
        {"torch": "F.silu(x1)", "jax": "jax.nn.silu(x1)"}, "wide"),
    Row("tanh", "recip(exp2(x[2000]:T*-2.875 + x*-0.010390081777926814) + 1)*2 - 1", HALVES,
        {"torch": "torch.tanh(x1)", "jax": "jnp.tanh(x1)", "cupy": "cupy.tanh(x1)",
         "triton": "kernels.pointwise('tanh', x1)"}, "wide32"),
    Row("gelu, by tanh", GELU_TEXT, HALVES,
        {"torch": "F.gelu(x1, approximate='tanh')", "jax": "jax.nn.gelu(x1)"}, "wide32"),
    *(Row(f"{name} by Triton{more}", text, types, {"triton": call}, profile)
      for name, text, types, call in (
          ("sum of two", "x[4000]:T + y[4000]:T", NARROW, "kernels.pointwise('add', x1, x2)"),
          ("quotient", "x[4000]:T / y[4000]:T", ("float32",), "kernels.pointwise('div', x1, x2)"),
          ("maximum", "maximum(x[4000]:T, y[4000]:T)", NARROW, "kernels.pointwise('max', x1, x2)"),
          ("exp2", "exp2(x[4000]:T)", NARROW, "kernels.pointwise('exp2', x1)"),
          ("square root", "sqrt(x[4000]:T)", NARROW, "kernels.pointwise('sqrt', x1)"))
      for more, profile in (("", "cuda"), (", as cuda-approx", "cuda-approx"))),
    Row("attention", ATTENTION_TEXT, NARROW,
        {"torch": "F.scaled_dot_product_attention(x1[None, None], x2[None, None], x3[None, None])"
                  "[0, 0]",
         "jax": "jax.nn.dot_product_attention(x1[:, None], x2[:, None], x3[:, None])[:, 0]"},
        "wide", options={"jax": ["--precision", "highest"]},
        shows={"torch": "import torch\n"
                        "q, k = torch.full((1, 1, 64, 16), 1.0), torch.full((1, 1, 64, 16), -torch.inf)\n"
                        "print(torch.nn.functional.scaled_dot_product_attention(*(x.cuda().half() "
                        "for x in (q, k, q)))[0, 0, 0, 0].item())  # by the definition nan"}),
    Row("maximum of negatives",
        "maximum(maximum(-a[4000]:T, -b[4000]:T), -c[4000]:T)", ("int32", "float32"),
        {"torch": "torch.maximum(torch.maximum(-x1, -x2), -x3)",
         "jax": "jnp.maximum(jnp.maximum(-x1, -x2), -x3)",
         "cupy": "cupy.maximum(cupy.maximum(-x1, -x2), -x3)"},
        shows={"compile": "import torch\n"
                          "f = torch.compile(lambda a, b, c: torch.maximum(torch.maximum(-a, -b), -c))\n"
                          "print(f(*torch.tensor([[0], [1], [0]], dtype=torch.int32).cuda()).item())"
                          "  # right is 0",
               "jax": "import jax, jax.numpy as jnp\n"
                      "f = jax.jit(lambda a, b, c: jnp.maximum(jnp.maximum(-a, -b), -c))\n"
                      "print(f(jnp.int32(0), jnp.int32(1), jnp.int32(0)))  # right is 0"}),
    *(Row(f"sum of 10^{n}", f"sum(x[{10 ** n}]:T)", ALL if n < 7 else ("float32",), SUM,
          big=n >= 7) for n in range(3, 9)),
    Row("index_add, atomics", "sum(x[16384,64]:T, axis=0)", ("float32", "float64"),
        {"torch": "torch.zeros(64, dtype=x1.dtype, device=device).index_add(0, torch.arange("
                  "x1.numel(), device=device) % 64, x1.reshape(-1))",
         "jax": "jnp.zeros(64, x1.dtype).at[jnp.arange(x1.size) % 64].add(x1.reshape(-1))",
         "cupy": "(lambda y: (cupyx.scatter_add(y, cupy.arange(x1.size) % 64, x1.reshape(-1)), y)"
                 "[1])(cupy.zeros(64, x1.dtype))"}, twice=True),
    Row("scatter_add, atomics", "sum(x[16384,64]:T, axis=0)", ("float32", "float64"),
        {"torch": "torch.zeros(64, dtype=x1.dtype, device=device).scatter_add(0, torch.arange("
                  "x1.numel(), device=device) % 64, x1.reshape(-1))",
         "jax": "jax.ops.segment_sum(x1.reshape(-1), jnp.arange(x1.size) % 64, 64)"}, twice=True),
]

# Single operations: suites of emit, node by node in each library.
OPS = ("exp2,log2,sin,sqrt,recip,div,mod,max,mulacc,reduce_sum,reduce_max", ALL)
CASTS = ("cast", ALL)
CAST_TARGETS = ("float16", "bfloat16", "float32", "float64", "int8", "uint8", "int32", "int64")
FLOAT8 = ("float8_e4m3", "float8_e5m2")

# Reproducers of single operations that need more than one element.
SHOWS = {"reduce-max": {
    "torch": "import torch\n"
             "x = torch.tensor([-0.0, 0.0]).cuda()\n"
             "print(torch.amax(x).item(), torch.amax(x.flip(0)).item())  # right is 0.0 twice",
    "compile": "import torch\n"
               "x, f = torch.tensor([-0.0, 0.0]).cuda(), torch.compile(torch.amax)\n"
               "print(f(x, 0).item(), f(x.flip(0), 0).item())  # right is 0.0 twice",
    "cupy": "import cupy\n"
            "x = cupy.array([-0.0, 0.0], 'float32')\n"
            "print(x.max().item(), x[::-1].max().item())  # right is 0.0 twice"}}
