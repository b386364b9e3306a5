"""Layers, functions, losses and optimizers, all of lib/tensor's headers, against NumPy."""
import os
import pathlib
import re

import numpy as np
import pytest

import touchstone
from touchstone import Tensor, nn, optim
from touchstone.tensor import training

HEADERS = pathlib.Path(os.environ["TOUCHSTONE_SOURCE"]) / "lib" / "tensor"

# Names that Python spells differently: operators, protocols and items, or other words.
ELSEWHERE = {
    "from": "__init__", "none": "__init__", "full_like": "full", "elements": "size", "defined": "__init__", "lazy": "_elements",
    "node": "_elements", "read": "numpy", "to_": "to", "half": "cast", "float_": "cast", "double_": "cast", "int_": "cast",
    "long_": "cast", "bool_": "cast", "set": "__setitem__", "set_requires_grad": "requires_grad", "set_grad": "grad", "pow": "__pow__",
    "slice": "__getitem__", "index": "__getitem__", "set_index": "__setitem__", "sequential": "__init__", "normal_axis": "squeeze",
    "normal_axes": "squeeze", "pool": "unfold", "broadcast_shape": "expand", "size": "__len__"}


def declared(header, pattern):
    text = re.sub(r"//[^\n]*", "", (HEADERS / header).read_text()).split(" private:\n  static Tensor arange_of")[0]
    return set(re.findall(pattern, text, re.M)) - {"operator"}


def missing(names, *places):
    return sorted(n for n in names if not any(hasattr(p, ELSEWHERE.get(n, n)) for p in places))


def test_every_layer_is_there():
    layers = declared("nn.h", r"^(?:struct|class) (\w+) final : (?:public )?(?:Module|Convolution<\w+>|Normalization|Recurrent) {")
    assert len(layers) == 17 and missing(layers, nn) == []
    assert all(callable(getattr(nn, name)) and getattr(nn, name).__doc__ for name in layers | {"KvCache"})


def test_every_function_and_loss_is_there():
    names = declared("functional.h", r"^Tensor (\w+)\(") | declared("conv.h", r"^Tensor (\w+)\(") | declared("einsum.h", r"^Tensor (\w+)\(")
    assert len(names) > 24 and missing(names - {"conv1d", "conv2d"}, nn, Tensor) == []


def test_every_optimizer_and_schedule_is_there():
    names = declared("optim.h", r"^class (\w+) (?:final )?: public \w+") | declared("schedules.h", r"^Schedule (\w+)\(") | {"Plateau"}
    names |= declared("optim.h", r"^(?:Tensor|void) (clip\w+)\(")
    assert {"SGD", "LAMB", "one_cycle", "clip_grad_norm"} < names and missing(names, optim) == []


def test_everything_of_a_tensor_is_there():
    names = declared("tensor.h", r"^  (?:static )?(?:const )?(?:Tensor|std::vector<Tensor>|void|bool|int|std::int64_t|DType|std::string|"
                                 r"Shape|std::optional<Tensor>)&? (\w+)\(")
    names |= declared("indexing.h", r"^(?:Tensor|Sorted|void) (\w+)\(") | declared("tensor.h", r"^Tensor (\w+)\(")
    assert len(names) > 120 and missing(names, Tensor) == []


def near(mine, its, tolerance=1e-5):
    mine = np.asarray(mine)
    return mine.shape == np.shape(its) and np.allclose(mine, its, rtol=tolerance, atol=tolerance)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def normed(x, axes, eps=1e-5):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


@pytest.fixture
def x(rng):
    return rng.normal(size=(2, 4, 3, 5)).astype("f4")


def test_layers_that_normalise(x):
    t = Tensor(x)
    assert near(nn.LayerNorm((3, 5))(t), normed(x, (2, 3))) and near(nn.LayerNorm2d(4, affine=False)(t), normed(x, 1))
    assert near(nn.GroupNorm(2, 4)(t), normed(x.reshape(2, 2, 2, 3, 5), (2, 3, 4)).reshape(x.shape))
    assert near(nn.InstanceNorm(4)(t), normed(x, (2, 3))) and near(nn.RMSNorm(5)(t), x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6))
    batch = nn.BatchNorm(4, momentum=0.5)
    assert near(batch(t), x / np.sqrt(1 + 1e-5)) and batch.running_var.tolist() == [1] * 4
    with training():
        assert near(batch(t), normed(x, (0, 2, 3)))
    assert near(batch.running_mean, 0.5 * x.mean((0, 2, 3)))
    assert nn.BatchNorm(4, affine=False).weight is None and [n for n, _ in batch.state()] == ["weight", "bias", "running_mean", "running_var"]
    assert near(nn.group_norm(t, 4), normed(x, (2, 3))) and near(nn.instance_norm(t), normed(x, (2, 3)))
    assert near(nn.layernorm(t, 1), normed(x, 1)) and near(nn.layer_norm(t, 2, bias=Tensor(x[0, 0])), normed(x, (2, 3)) + x[0, 0])
    assert near(nn.batch_norm(t, Tensor.zeros((4,)), Tensor.ones((4,)), eps=0.0), x)
    assert near(nn.rms_norm(t, Tensor(np.full(5, 2, "f4"))), 2 * x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6))


def windows(x, size):
    return np.lib.stride_tricks.sliding_window_view(x, size, axis=-1)  # (n, c, places, size)


def test_convolutions(rng):
    x = rng.normal(size=(2, 4, 9)).astype("f4")
    layer = nn.Conv1d(4, 3, 3, padding=1)
    wanted = np.einsum("ncpk,ock->nop", windows(np.pad(x, ((0, 0), (0, 0), (1, 1))), 3), layer.weight.numpy())
    assert near(layer(Tensor(x)), wanted + layer.bias.numpy()[:, None])
    assert near(nn.conv(Tensor(x), layer.weight, padding=1), wanted) and nn.Conv1d(4, 6, 3, stride=2, groups=2)(Tensor(x)).shape == (2, 6, 4)
    # The transposed convolution is the gradient.
    y = Tensor(x, requires_grad=True)
    nn.conv(y, layer.weight, stride=2).sum().backward()
    back = nn.conv_transpose(Tensor.ones((2, 3, 4)), layer.weight, stride=2)
    assert near(back, y.grad.numpy())
    assert nn.ConvTranspose1d(4, 3, 3, stride=2, output_padding=1, bias=False)(Tensor(x)).shape == (2, 3, 20)
    assert nn.ConvTranspose2d(4, 3, (3, 2), stride=[2, 1])(Tensor.ones((1, 4, 5, 5))).shape == (1, 3, 11, 6)
    assert nn.Conv2d(4, 4, (3, 1), stride=(2, 1), dilation=2, groups=4)(Tensor.ones((1, 4, 9, 5))).shape == (1, 4, 3, 5)
    assert nn.Conv2d(1, 1, 3, bias=False).bias is None
    image = rng.normal(size=(1, 1, 4, 6)).astype("f4")
    blocks = image.reshape(1, 1, 2, 2, 3, 2)
    assert near(nn.max_pool(Tensor(image), [2, 2]), blocks.max((3, 5))) and near(nn.avg_pool2d(Tensor(image), 2), blocks.mean((3, 5)))
    assert nn.max_pool2d(Tensor(image), (2, 3), stride=1).shape == (1, 1, 3, 4) and nn.avg_pool(Tensor(image), [3], padding=1).shape == (1, 1, 4, 2)


def test_attention(rng):
    layer = nn.MultiHeadAttention(6, 2)
    x = rng.normal(size=(2, 5, 6)).astype("f4")
    weights = {name: t.numpy() for name, t in layer.state()}

    def linear(a, name):
        return a @ weights[name + ".weight"].T + weights[name + ".bias"]

    def heads(a):
        return a.reshape(2, 5, 2, 3).transpose(0, 2, 1, 3)
    q, k, v = (heads(linear(x, name)) for name in ("query", "key", "value"))
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(3)
    scores = np.where(np.tril(np.ones((5, 5), bool)), scores, -np.inf)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    t = Tensor(x)
    whole = layer(t, t, t, causal=True)
    assert near(whole, linear((shares @ v).transpose(0, 2, 1, 3).reshape(2, 5, 6), "out"))
    assert near(layer(t, t, t, mask=Tensor(np.tril(np.ones((5, 5), bool)))), whole.numpy())
    cache = nn.KvCache(Tensor.zeros((2, 2, 5, 3)).contiguous(), Tensor.zeros((2, 2, 5, 3)).contiguous())
    for i in range(5):
        assert near(layer.next(t[:, i:i + 1], i, cache), whole.numpy()[:, i:i + 1])
    assert cache.keys.shape == (2, 2, 5, 3)
    assert near(nn.scaled_dot_product_attention(Tensor(q), Tensor(k), Tensor(v), causal=True, scale=3 ** -0.5), shares @ v)


def test_recurrent_layers(rng):
    x = rng.normal(size=(2, 4, 3)).astype("f4")
    lstm, gru = nn.LSTM(3, 5), nn.GRU(3, 5)
    h = c = np.zeros((2, 5), "f4")
    w = {name.removesuffix("_l0"): t.numpy() for name, t in lstm.state()}
    for step in range(4):
        i, f, g, o = np.split(x[:, step] @ w["weight_ih"].T + w["bias_ih"] + h @ w["weight_hh"].T + w["bias_hh"], 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
    outputs, (hidden, cell) = lstm(Tensor(x))
    assert near(hidden, h) and near(cell, c) and near(outputs[:, -1], h) and outputs.shape == (2, 4, 5)
    first, state = lstm(Tensor(x[:, :2]))
    assert near(lstm(Tensor(x[:, 2:]), state)[1][0], h)
    w, h = {name.removesuffix("_l0"): t.numpy() for name, t in gru.state()}, np.zeros((2, 5), "f4")
    for step in range(4):
        (r, z, n), (u, s, m) = (np.split(a, 3, 1) for a in (x[:, step] @ w["weight_ih"].T + w["bias_ih"], h @ w["weight_hh"].T + w["bias_hh"]))
        z = sigmoid(z + s)
        h = (1 - z) * np.tanh(n + sigmoid(r + u) * m) + z * h
    assert near(gru(Tensor(x))[1], h) and near(gru(Tensor(x[:, 2:]), gru(Tensor(x[:, :2]))[1])[1], h)


def test_losses(rng):
    a, b = rng.normal(size=(2, 6, 3)).astype("f4")
    t, u, d = Tensor(a), Tensor(b), a - b
    p, wanted = sigmoid(a), (b > 0).astype("f4")
    entropy = -wanted * np.log(p) - (1 - wanted) * np.log(1 - p)
    labels = np.array([0, 2, 1, 1, 0, 2], "i4")
    log_p = a - np.log(np.exp(a).sum(1, keepdims=True))
    picked = -log_p[np.arange(6), labels]
    for mine, its in ((nn.mse_loss(t, u), (d * d).mean()), (nn.l1_loss(t, u, reduction="sum"), abs(d).sum()),
                      (nn.huber_loss(t, u, delta=0.5, reduction="none"), np.where(abs(d) < 0.5, d * d / 2, 0.5 * (abs(d) - 0.25))),
                      (nn.binary_cross_entropy(Tensor(p), Tensor(wanted)), entropy.mean()),
                      (nn.binary_cross_entropy_with_logits(t, Tensor(wanted), reduction="none"), entropy),
                      (nn.nll_loss(Tensor(log_p), Tensor(labels)), picked.mean()), (nn.cross_entropy(t, Tensor(labels)), picked.mean()),
                      (nn.cross_entropy(t, Tensor(labels), ignore_index=2, reduction="sum"), picked[labels != 2].sum()),
                      (nn.cross_entropy(t, Tensor(labels), label_smoothing=0.3), (0.7 * picked - 0.1 * log_p.sum(1)).mean()),
                      (nn.log_softmax(t), log_p), (nn.softmax(t, axis=1), np.exp(log_p)), (nn.linear(t, Tensor(b)), a @ b.T)):
        assert near(mine, its)
    with pytest.raises(touchstone.ParseError, match="choose from"):
        nn.mse_loss(t, u, reduction="median")


def test_dropout_trains_alone():
    touchstone.manual_seed(1)
    x, layer = Tensor.ones((100, 100)), nn.Dropout(0.25)
    assert layer(x).numpy().min() == 1
    with training():
        out = layer(x).numpy()
    assert set(np.unique(out)) == {0, np.float32(4 / 3)} and abs((out == 0).mean() - 0.25) < 0.03
    assert 0.4 < (nn.dropout(x, 0.5).numpy() == 0).mean() < 0.6


def descend(make, steps=3):
    w = Tensor([3.0, -4.0], requires_grad=True)
    optimizer = make([w])
    for _ in range(steps):
        optimizer.zero_grad()
        (w * w).sum().backward()
        optimizer.step()
    return w.numpy().astype("f8"), optimizer


def adam(decay=0.0, decoupled=True, lamb=False, lr=0.1, eps=1e-8, betas=(0.9, 0.999), steps=3):
    w, m, v = np.array([3.0, -4.0]), 0, 0
    for t in range(1, steps + 1):
        g = 2 * w
        m, v = betas[0] * m + (1 - betas[0]) * g, betas[1] * v + (1 - betas[1]) * g * g
        move = m / (1 - betas[0] ** t) / (np.sqrt(v / (1 - betas[1] ** t)) + eps) + decay * w
        w = w - lr * move * (np.linalg.norm(w) / np.linalg.norm(move) if lamb else 1)
    return w


def test_optimizers():
    assert near(descend(lambda p: optim.Adam(p, lr=0.1))[0], adam()) and near(descend(lambda p: optim.AdamW(p, 0.1, weight_decay=0.2))[0], adam(0.2))
    assert near(descend(lambda p: optim.Adam(p, lr=0.1, betas=(0.5, 0.9), eps=0.1))[0], adam(betas=(0.5, 0.9), eps=0.1))
    assert near(descend(lambda p: optim.LAMB(p, 0.1, weight_decay=0.2))[0], adam(0.2, lamb=True, eps=1e-6))
    w, momentum = np.array([3.0, -4.0]), 0
    for _ in range(3):
        momentum = 0.9 * momentum + 2 * w + 0.1 * w
        w = w - 0.1 * momentum
    moved, sgd = descend(lambda p: optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.1))
    assert near(moved, w) and sgd.lr == 0.1 and len(sgd.parameters) == 1 and "lr" in sgd.state()[0][0]
    slow = descend(lambda p: optim.SGD([(p, {"lr_scale": 0.5, "weight_decay": 0.0})], lr=0.1))[0]
    assert near(slow, np.array([3.0, -4.0]) * 0.9 ** 3)
    with pytest.raises(touchstone.ParseError, match="lr_scale"):
        optim.SGD([([Tensor([1.0], requires_grad=True)], {"momentum": 1.0})], lr=0.1)


def test_gradients_are_clipped():
    w = Tensor([3.0, -4.0], requires_grad=True)
    (w * w).sum().backward()
    assert near(optim.clip_grad_norm([w], 5.0), 10.0) and near(w.grad, [3, -4])
    optim.clip_grad_value([w], 3.5)
    assert near(w.grad, [3, -3.5])
    w.grad = Tensor([1.0, 2.0])
    assert w.grad.tolist() == [1, 2]


def test_schedules():
    assert [optim.step_decay(1.0, 2)(i) for i in range(4)] == [1, 1, 0.1, 0.1] and optim.exponential(2.0, 0.5)(3) == 0.25
    assert optim.milestones(1.0, [2, 3])(2) == 0.1 and optim.cosine(1.0, 10)(5) == pytest.approx(0.5) and optim.polynomial(1.0, 4)(1) == 0.75
    assert optim.warmup(4, lambda step: 8.0 - step)(1) == 4 and optim.warmup(4, lambda step: 8.0 - step)(5) == 7
    assert max(optim.one_cycle(1.0, 10)(i) for i in range(10)) == pytest.approx(1, abs=0.01)
    plateau = optim.Plateau(1.0, patience=1)
    assert [plateau(1.0) for _ in range(3)] == [1, 1, 0.1]
    with pytest.raises(ZeroDivisionError):
        optim.warmup(2, lambda step: 1 / 0)(0)
    with pytest.raises(touchstone.Error):
        optim.cosine(1.0, 0)


@pytest.mark.parametrize("extension", ["safetensors", "npz"])
def test_weights_travel(tmp_path, extension):
    one, other = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm((4,))), nn.Sequential(nn.Linear(3, 4), nn.LayerNorm((4,)))
    file = str(tmp_path / f"weights.{extension}")
    nn.save_state(file, one.state())
    nn.load_state(file, other.state())
    assert near(other.steps[0].weight, one.steps[0].weight.numpy()) and [n for n, _ in nn.load_tensors(file)] == [n for n, _ in one.state()]
    with pytest.raises(touchstone.Error, match="weight"):
        nn.load_state(file, nn.Linear(3, 4).state())
    with pytest.raises(touchstone.SystemError):
        nn.load_tensors(str(tmp_path / "none.npz"))


def test_functions_of_tensors(x):
    t, at = Tensor(x), np.array([[2, 0], [1, 1]])
    u = Tensor(x[0, 0])
    erf = np.vectorize(__import__("math").erf)
    for mine, its in ((t.expm1(), np.expm1(x)), (t.elu(0.5), np.where(x > 0, x, 0.5 * np.expm1(x))), (t.leaky_relu(), np.where(x > 0, x, 0.01 * x)),
                      (t.gelu(tanh=False), x * 0.5 * (1 + erf(x / np.sqrt(2)))), (t.hardtanh(-0.5, 1), x.clip(-0.5, 1)), (t.trunc(), np.trunc(x)),
                      (t.mish(), x * np.tanh(np.log1p(np.exp(x)))), (t.mod(0.75), np.fmod(x, 0.75)), (t.cummax(3), np.maximum.accumulate(x, 3)),
                      (t.cumprod(1), x.cumprod(1)), (t.movedim(0, 2), np.moveaxis(x, 0, 2)), (t.unflatten(1, [2, -1]), x.reshape(2, 2, 2, 3, 5)),
                      (t.narrow(3, 1, 2), x[..., 1:3]), (t.split([1, 3], 1)[1], x[:, 1:]), (t.split(3, 3)[1], x[..., 3:]), (t.chunk(2)[1], x[1:]),
                      (u.diagonal(), x[0, 0].diagonal()), (t.repeat_interleave(2, 2), x.repeat(2, 2)), (t.unfold(3, 2)[..., 1], x[..., 1:]),
                      (u.pad([(1, 1), (0, 2)], mode="reflect"), np.pad(x[0, 0], ((1, 1), (0, 2)), mode="reflect")),
                      (u.pad([(0, 1), (0, 0)], value=7.0), np.pad(x[0, 0], ((0, 1), (0, 0)), constant_values=7)), (u.pad2d([1, 0]), np.pad(x[0, 0], ((0, 0), (1, 0)))),
                      (t.sort(1)[0], np.sort(x, 1)), (t.argsort(3, descending=True), np.argsort(-x, 3)), (t.topk(2)[0], -np.sort(-x, 3)[..., :2]),
                      (u.take(Tensor(at), 0), x[0, 0][at]), (u[:2, :2].gather(1, Tensor(at % 2)), np.take_along_axis(x[0, 0, :2, :2], at % 2, 1)),
                      (u.masked_fill(u < 0, 9.0), np.where(x[0, 0] < 0, 9, x[0, 0])), ((u < 0).nonzero(), np.argwhere(x[0, 0] < 0)),
                      (Tensor([2, 0]).one_hot(3), [[0, 0, 1], [1, 0, 0]]), (Tensor.einsum("abcd,abcd->ad", [t, t]), (x * x).sum((1, 2))),
                      (u.interpolate([10]), x[0, 0].repeat(2, 1)), (Tensor.linspace(0, 1, 5), np.linspace(0, 1, 5)), (Tensor.ones_like(u), np.ones((3, 5))),
                      (Tensor.zeros((2, 3)).scatter(1, Tensor([[2], [0]]), Tensor([[5.0], [6.0]])), [[0, 0, 5], [6, 0, 0]]),
                      (Tensor.zeros((1, 2)).scatter_add(1, Tensor([[1, 1]]), Tensor([[5.0, 6.0]])), [[0, 11]]), (t.argmax(1, keepdim=True), x.argmax(1)[:, None])):
        assert near(mine, its)
    assert t.size == 120 and t.nbytes == 480 and Tensor.randint((50,), 2, 5).numpy().max() == 4 and Tensor.uniform((50,), 2, 3).numpy().min() >= 2


def test_assignments_in_place_are_seen_by_all():
    t = Tensor(np.array([1.0, 2.0], "f4"))
    same = t
    t += 1
    t *= Tensor([2.0, 3.0])
    t -= 1
    t /= 2
    assert t.tolist() == same.tolist() == [1.5, 4]
    with pytest.raises(touchstone.ShapeError):
        t += Tensor.ones((3, 2))
