"""Small networks of known kinds with seeded weights, as ONNX models: python3 networks.py FOLDER. Needs PyTorch."""
import sys, math, pathlib, torch
from torch import nn
import torch.nn.functional as F

class LeNet(nn.Module):
    def __init__(s):
        super().__init__()
        s.c1, s.c2, s.f1, s.f2, s.f3 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5), nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)
    def forward(s, x):
        x = F.max_pool2d(torch.tanh(s.c1(x)), 2)
        x = F.max_pool2d(torch.tanh(s.c2(x)), 2).flatten(1)
        return F.log_softmax(s.f3(torch.tanh(s.f2(torch.tanh(s.f1(x))))), 1)

class ResNet(nn.Module):
    def __init__(s, c=16):
        super().__init__()
        s.stem, s.b0 = nn.Conv2d(3, c, 7, 2, 3, bias=False), nn.BatchNorm2d(c)
        s.c1, s.b1, s.c2, s.b2 = nn.Conv2d(c, 2*c, 3, 2, 1, bias=False), nn.BatchNorm2d(2*c), nn.Conv2d(2*c, 2*c, 3, 1, 1, bias=False), nn.BatchNorm2d(2*c)
        s.d, s.bd, s.fc = nn.Conv2d(c, 2*c, 1, 2, bias=False), nn.BatchNorm2d(2*c), nn.Linear(2*c, 10)
    def forward(s, x):
        x = F.max_pool2d(F.relu(s.b0(s.stem(x))), 3, 2, 1)
        y = s.b2(s.c2(F.relu(s.b1(s.c1(x)))))
        return s.fc(F.adaptive_avg_pool2d(F.relu(y + s.bd(s.d(x))), 1).flatten(1))

class MobileNet(nn.Module):
    def __init__(s, c=8):
        super().__init__()
        s.e, s.be = nn.Conv2d(c, 4*c, 1, bias=False), nn.BatchNorm2d(4*c)
        s.dw, s.bdw = nn.Conv2d(4*c, 4*c, 3, 1, 1, groups=4*c, bias=False), nn.BatchNorm2d(4*c)
        s.s1, s.s2 = nn.Conv2d(4*c, c, 1), nn.Conv2d(c, 4*c, 1)
        s.p, s.bp = nn.Conv2d(4*c, c, 1, bias=False), nn.BatchNorm2d(c)
    def forward(s, x):
        y = F.hardswish(s.be(s.e(x)))
        y = F.relu6(s.bdw(s.dw(y)))
        y = y * F.hardsigmoid(s.s2(F.relu(s.s1(F.adaptive_avg_pool2d(y, 1)))))
        return x + s.bp(s.p(y))

def attend(q, k, v, mask=None):
    a = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    return torch.softmax(a if mask is None else a + mask, -1) @ v

class ViT(nn.Module):
    def __init__(s, d=32, h=4):
        super().__init__()
        s.h, s.patch, s.pos = h, nn.Conv2d(3, d, 4, 4), nn.Parameter(torch.randn(1, 17, d) * .1)
        s.cls, s.n1, s.qkv, s.o = nn.Parameter(torch.randn(1, 1, d)), nn.LayerNorm(d), nn.Linear(d, 3*d), nn.Linear(d, d)
        s.n2, s.m1, s.m2, s.head = nn.LayerNorm(d), nn.Linear(d, 4*d), nn.Linear(4*d, d), nn.Linear(d, 10)
    def forward(s, x):
        x = s.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([s.cls.expand(x.shape[0], -1, -1), x], 1) + s.pos
        b, t, d = x.shape
        q, k, v = s.qkv(s.n1(x)).reshape(b, t, 3, s.h, d // s.h).permute(2, 0, 3, 1, 4)
        x = x + s.o(attend(q, k, v).transpose(1, 2).reshape(b, t, d))
        x = x + s.m2(F.gelu(s.m1(s.n2(x))))
        return s.head(x[:, 0])

class GPT(nn.Module):
    """One block that continues a cache of keys and values."""
    def __init__(s, d=32, h=4, vocab=50):
        super().__init__()
        s.h, s.emb, s.pos = h, nn.Embedding(vocab, d), nn.Embedding(32, d)
        s.n1, s.qkv, s.o, s.n2, s.m1, s.m2, s.nf = nn.LayerNorm(d), nn.Linear(d, 3*d), nn.Linear(d, d), nn.LayerNorm(d), nn.Linear(d, 4*d), nn.Linear(4*d, d), nn.LayerNorm(d)
    def forward(s, tokens, keys, values):
        past, t = keys.shape[2], tokens.shape[1]
        x = s.emb(tokens) + s.pos(torch.arange(past, past + t))
        b, t, d = x.shape
        q, k, v = [z.reshape(b, t, s.h, d // s.h).transpose(1, 2) for z in s.qkv(s.n1(x)).chunk(3, -1)]
        k, v = torch.cat([keys, k], 2), torch.cat([values, v], 2)
        mask = torch.full((t, past + t), float("-inf")).triu(past + 1)
        x = x + s.o(attend(q, k, v, mask).transpose(1, 2).reshape(b, t, d))
        x = x + s.m2(F.gelu(s.m1(s.n2(x)), approximate="tanh"))
        return s.nf(x) @ s.emb.weight.T, k, v

class Llama(nn.Module):
    """RoPE, RMS norm, SwiGLU, grouped heads."""
    def __init__(s, d=32, h=4, g=2):
        super().__init__()
        s.h, s.g, e = h, g, d // h
        s.w1, s.w2 = nn.Parameter(1 + .1 * torch.randn(d)), nn.Parameter(1 + .1 * torch.randn(d))
        s.q, s.k, s.v, s.o = nn.Linear(d, d, bias=False), nn.Linear(d, g*e, bias=False), nn.Linear(d, g*e, bias=False), nn.Linear(d, d, bias=False)
        s.gate, s.up, s.down = nn.Linear(d, 3*d, bias=False), nn.Linear(d, 3*d, bias=False), nn.Linear(3*d, d, bias=False)
        t = torch.arange(12)[:, None] * 10000.0 ** (-torch.arange(0, e, 2) / e)
        s.register_buffer("cos", torch.cat([t, t], 1).cos()); s.register_buffer("sin", torch.cat([t, t], 1).sin())
    def rms(s, x, w): return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5) * w
    def rope(s, x):
        a, b = x.chunk(2, -1)
        return x * s.cos + torch.cat([-b, a], -1) * s.sin
    def forward(s, x):
        b, t, d = x.shape
        y = s.rms(x, s.w1)
        q, k, v = [f(y).reshape(b, t, n, d // s.h).transpose(1, 2) for f, n in ((s.q, s.h), (s.k, s.g), (s.v, s.g))]
        q, k = s.rope(q), s.rope(k).repeat_interleave(s.h // s.g, 1)
        mask = torch.full((t, t), -1e9).triu(1)
        x = x + s.o(attend(q, k, v.repeat_interleave(s.h // s.g, 1), mask).transpose(1, 2).reshape(b, t, d))
        y = s.rms(x, s.w2)
        return x + s.down(F.silu(s.gate(y)) * s.up(y))

class Whisper(nn.Module):
    def __init__(s, d=24, h=3):
        super().__init__()
        s.h, s.c1, s.c2 = h, nn.Conv1d(20, d, 3, 1, 1), nn.Conv1d(d, d, 3, 2, 1)
        s.n, s.q, s.k, s.v, s.o = nn.LayerNorm(d), nn.Linear(d, d), nn.Linear(d, d, bias=False), nn.Linear(d, d), nn.Linear(d, d)
    def forward(s, mel):
        x = F.gelu(s.c2(F.gelu(s.c1(mel)))).transpose(1, 2)
        b, t, d = x.shape
        y = s.n(x)
        q, k, v = [f(y).reshape(b, t, s.h, -1).transpose(1, 2) for f in (s.q, s.k, s.v)]
        return x + s.o(attend(q, k, v).transpose(1, 2).reshape(b, t, d))

class UNet(nn.Module):
    def __init__(s, c=8):
        super().__init__()
        s.i, s.g1, s.c1, s.down = nn.Conv2d(3, c, 3, 1, 1), nn.GroupNorm(4, c), nn.Conv2d(c, c, 3, 1, 1), nn.Conv2d(c, 2*c, 3, 2, 1)
        s.g2, s.c2, s.up, s.t, s.out = nn.GroupNorm(4, 2*c), nn.Conv2d(2*c, 2*c, 3, 1, 1), nn.ConvTranspose2d(2*c, c, 2, 2), nn.Linear(6, 2*c), nn.Conv2d(2*c, 3, 3, 1, 1)
    def forward(s, x, time):
        a = s.c1(F.silu(s.g1(s.i(x))))
        b = s.down(a) + s.t(time)[:, :, None, None]
        b = F.interpolate(s.up(s.c2(F.silu(s.g2(b)))), size=a.shape[2:], mode="nearest")
        return s.out(torch.cat([a, b], 1))

class Lstm(nn.Module):
    def __init__(s):
        super().__init__()
        s.l, s.gru, s.f = nn.LSTM(6, 8, batch_first=False), nn.GRU(8, 5), nn.Linear(5, 3)
    def forward(s, x):
        y, _ = s.l(x)
        return s.f(s.gru(y)[0][-1])

class QuantizedCnn(nn.Module):
    """Activations in uint8 and weights in int8 between quantizers, as trained for them."""

    def __init__(self):
        super().__init__()
        self.first, self.second, self.last = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 6, 3), nn.Linear(54, 10)

    def forward(self, x):
        weight = lambda m, scale: torch.fake_quantize_per_tensor_affine(m.weight, scale, 0, -128, 127)  # noqa: E731
        value = lambda y, scale, zero: torch.fake_quantize_per_tensor_affine(y, scale, zero, 0, 255)  # noqa: E731
        y = torch.relu(nn.functional.conv2d(value(x, .03, 128), weight(self.first, .003), self.first.bias, padding=1))
        y = nn.functional.max_pool2d(value(y, .01, 0), 2)
        y = value(torch.relu(nn.functional.conv2d(y, weight(self.second, .002), self.second.bias)), .01, 0)
        return value(nn.functional.linear(y.flatten(1), weight(self.last, .001), self.last.bias), .01, 128)


class Q4Linear(nn.Module):
    """A linear layer of ggml's q4_0: blocks of 32 weights, two in a byte, with one float16 scale."""

    def __init__(self, size=64, out=24):
        super().__init__()
        self.register_buffer("packed", torch.randint(0, 256, (out, size // 32, 16), dtype=torch.int32))
        self.register_buffer("scale", (torch.rand(out, size // 32, 1) * .1).half())

    def forward(self, x):
        low, high = torch.remainder(self.packed, 16), torch.div(self.packed, 16, rounding_mode="floor")
        weight = (torch.cat([low, high], -1) - 8).float() * self.scale.float()
        return x @ weight.flatten(1).t()


def models():
    r = torch.randn
    return {"lenet": (LeNet(), [r(2, 1, 28, 28)], ["x"]), "resnet": (ResNet(), [r(2, 3, 32, 32)], ["x"]), "mobilenet": (MobileNet(), [r(2, 8, 12, 12)], ["x"]),
            "vit": (ViT(), [r(2, 3, 16, 16)], ["x"]), "gpt": (GPT(), [torch.randint(0, 50, (2, 5)), r(2, 4, 7, 8), r(2, 4, 7, 8)], ["tokens", "keys", "values"]),
            "llama": (Llama(), [r(2, 12, 32)], ["x"]), "whisper": (Whisper(), [r(2, 20, 16)], ["mel"]), "unet": (UNet(), [r(1, 3, 8, 8), r(1, 6)], ["x", "time"]),
            "lstm": (Lstm(), [r(4, 3, 6)], ["x"]), "int8 cnn": (QuantizedCnn(), [r(2, 1, 10, 10)], ["x"]), "q4_0": (Q4Linear(), [r(5, 64)], ["x"])}

if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1]); folder.mkdir(exist_ok=True)
    torch.manual_seed(1)
    for name, (net, inputs, names) in models().items():
        net.eval()
        for m in net.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.running_mean.normal_(0, .2); m.running_var.uniform_(.5, 2); m.weight.data.uniform_(.5, 1.5); m.bias.data.normal_(0, .2)
        torch.onnx.export(net, tuple(inputs), str(folder / f"{name}.onnx"), input_names=names, opset_version=16, do_constant_folding=False)
        import numpy as np
        np.savez(folder / f"{name}.npz", **{n: x.numpy() for n, x in zip(names, inputs)})
