"""tinygrad 0.8's methods of Tensor, beside NumPy's arithmetic."""
import math
import threading

import numpy as np
import pytest

import touchstone
from touchstone import Tensor, no_grad


def near(a, b, tolerance=1e-5):
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and np.allclose(a, b, rtol=tolerance, atol=tolerance)


# The public names of tinygrad 0.8's Tensor that are methods, properties or attributes here, too.
NAMES = """T abs acosh add arange argmax argmin asinh assign atanh avg_pool2d backward batchnorm binary_crossentropy
binary_crossentropy_logits bitcast cast cat ceil celu chunk clang clip contiguous contiguous_backward conv2d conv_transpose2d
corealize cos cosh cpu cumsum data detach device div dot dropout dtype einsum element_size elu empty exp exp2 expand eye flatten
flip float floor full full_like gather gelu glorot_uniform grad half hardswish hardtanh is_floating_point item kaiming_normal
kaiming_uniform layernorm leakyrelu linear log log2 log_softmax logical_not manual_seed matmul max max_pool2d maximum mean min
minimum mish mul multinomial nbytes ndim neg no_grad normal numel numpy one_hot ones ones_like pad pad2d permute pow quick_gelu
rand randint randn realize reciprocal relu relu6 repeat requires_grad reshape round rsqrt scaled_dot_product_attention
scaled_uniform sequential shape shard shard_ shrink sigmoid sign silu sin sinh slice softmax softplus softsign
sparse_categorical_crossentropy split sqrt square squeeze stack std sub sum swish tan tanh to to_ train training transpose tril
triu trunc unflatten uniform unsqueeze var where xor zeros zeros_like""".split()


def test_names_are_there():
    assert [n for n in NAMES if not hasattr(Tensor, n)] == []


def test_the_truth_of_several_elements_is_an_error():
    with pytest.raises(ValueError, match="ambiguous"):
        assert Tensor([1.0, 2.0]) == Tensor([3.0, 4.0])
    for many in (Tensor([1.0, 1.0]), Tensor([])):
        with pytest.raises(ValueError):
            bool(many)
    assert Tensor(2.0) and Tensor([[1]]) and not Tensor(0) and not Tensor([False]) and Tensor([3]) == Tensor([3])


def test_a_bad_index_is_an_index_error():
    t = Tensor(np.arange(6).reshape(2, 3))
    for key in (2, -3, (0, 3), (0, 0, 0), (Ellipsis, Ellipsis), [2], np.array([0, -3]), Tensor([5]), np.array([True, False, True])):
        with pytest.raises(IndexError) as caught:
            t[key].numpy()
        assert isinstance(caught.value, touchstone.ShapeError)
        with pytest.raises(IndexError):
            written = Tensor(np.arange(6).reshape(2, 3))
            written[key] = 1
            written.numpy()
    with pytest.raises(IndexError):  # known only when the element is computed
        t[Tensor([0, 1]) + Tensor([1, 1])].numpy()
    assert [row.tolist() for row in t] == [[0, 1, 2], [3, 4, 5]]


def test_keys_are_numpy_s():
    x = np.arange(24).reshape(2, 3, 4)
    for key in (np.array([1, 0]), np.array([[0, 1], [1, 1]]), (slice(None), np.array([2, 0])), (0, np.array([1, 2])),
                np.array([True, False]), (Ellipsis, np.array([3])), np.array(1), np.int64(1), [1, 0], None):
        y, t = x.copy(), Tensor(x)
        assert (t[key].numpy() == x[key]).all() and t[key].shape == x[key].shape
        y[key], t[key] = 7, 7
        assert (t.numpy() == y).all()
        y[key], t[key] = -x[key], Tensor(-x[key])
        assert (t.numpy() == y).all()


def test_integers_past_int64():
    big = 2**63 + 12345
    assert Tensor(big).dtype == "uint64" and Tensor([big, 1]).tolist() == [big, 1] and Tensor(big).item() == big
    assert (Tensor([5], dtype="uint64") + big).tolist() == [big + 5] and (big - Tensor([5], dtype="uint64")).tolist() == [big - 5]
    assert Tensor.full([2], big, dtype="uint64").tolist() == [big, big] and Tensor([big], dtype="float64").tolist() == [float(big)]
    assert (Tensor([0.5], dtype="float64") * 2**63).tolist() == [float(2**62)] and (Tensor([big]) == big).tolist() == [True]
    assert (Tensor([0.5]) * 2**63).dtype == "float32" and Tensor([0.5]).maximum(2**63).tolist() == [2.0**63]
    assert Tensor.where(Tensor([True, False]), big, Tensor([1, 2], dtype="uint64")).tolist() == [big, 2]
    assert Tensor.where(Tensor([True, False]), 7, big).tolist() == [7, big]
    floats, wholes = Tensor([1.0, 2.0]), Tensor([1, 2], dtype="uint64")
    floats[0], wholes[1] = 2**63, big
    assert floats.tolist() == [2.0**63, 2] and wholes.tolist() == [1, big]
    t, narrow = Tensor([5]), Tensor([5], dtype="uint8")
    for wrong in (lambda: Tensor(2**64), lambda: Tensor([2**63, -1]), lambda: Tensor(-2**63 - 1), lambda: Tensor([2**62]) == 2**63,
                  lambda: Tensor([70000]) < 2**63, lambda: t.maximum(2**63), lambda: t * 2**63, lambda: big - t, lambda: t ^ big,
                  lambda: Tensor.where(Tensor([True]), 2**63, Tensor([-1])), lambda: Tensor.where(Tensor([True]), -1, 2**63),
                  lambda: narrow + big, lambda: t.__iadd__(big), lambda: t.__setitem__(0, big)):
        with pytest.raises(OverflowError):
            wrong()
    assert t.tolist() == [5]


def test_positions_of_any_length_and_of_none():
    x = np.arange(12).reshape(4, 3)
    t, far = Tensor(x), 2**70
    for key in (slice(None, far), slice(-far, None), slice(far, None), slice(None, -far, -1), slice(None, None, far),
                slice(None, None, -2**63), slice(None, None, -far), slice(1, None, 2**63 - 1), slice(None, None, 5), [], ([], 1),
                (slice(None), []), [[]], (slice(None, far), slice(None, None, -far))):
        y, written = x.copy(), Tensor(x)
        assert t[key].shape == x[key].shape and (t[key].numpy() == x[key]).all(), key
        y[key], written[key] = 7, 7
        assert (written.numpy() == y).all(), key
    for key in (far, -far, (0, far), 2**63 - 1, -2**63, (0, 0, 2**63 - 1)):
        for use in (lambda: t[key].numpy(), lambda: t.__setitem__(key, 1)):
            with pytest.raises(IndexError):
                use()


def test_arange_of_other_numbers():
    for ends in ((np.float32(2.5),), (0, 1, np.float32(0.3)), (np.float16(0.5), 3), (np.array(2.5),)):
        assert near(Tensor.arange(*ends), np.arange(*ends)) and Tensor.arange(*ends).dtype == "float32"
    for three in (3, np.int8(3), np.array(3), Tensor([3])):
        assert Tensor.arange(three).tolist() == [0, 1, 2] and Tensor.arange(three).dtype == "int32"
    assert Tensor.arange(Tensor([2.5])).tolist() == [0, 1, 2] and Tensor.arange(1, end=3, step=1).tolist() == [1, 2]
    for wrong in (None, "3", 2**63, 1j):
        with pytest.raises(TypeError):
            Tensor.arange(wrong)


def test_parts_that_are_arguments_of_their_own():
    a, b, c = Tensor([[1, 2], [3, 4]]), Tensor([[0, 5]]), Tensor([[6], [7]])
    down, beside = [[1, 2], [3, 4], [0, 5]], [[1, 2, 6], [3, 4, 7]]
    for got in (Tensor.cat(a, b), Tensor.cat(*[a, b]), Tensor.cat([a, b]), Tensor.cat((a, b), 0), Tensor.cat(parts=[a, b]), a.cat(b)):
        assert got.tolist() == down
    for got in (Tensor.cat(a, c, dim=1), Tensor.cat(a, c, axis=1), Tensor.cat([a, c], 1), Tensor.cat([a, c], dim=1), a.cat(c, dim=-1)):
        assert got.tolist() == beside
    assert Tensor.cat(Tensor([1]), Tensor([2]), Tensor([3])).tolist() == [1, 2, 3] and Tensor.cat(a).tolist() == a.tolist()
    assert Tensor.stack(a, a).shape == (2, 2, 2) and Tensor.stack([c, c], 1).shape == (2, 2, 1) == a.stack(a, dim=1)[:, :, :1].shape
    for wrong in (lambda: Tensor.cat([a], b), lambda: Tensor.cat([a, b], 0, 1), lambda: Tensor.cat()):
        with pytest.raises(TypeError):
            wrong()


def test_clip_keeps_integers():
    assert Tensor([1, 2, 5]).clip(2, 3).dtype == "int64" and Tensor([1, 2, 5]).clip(2, 3).tolist() == [2, 2, 3]
    assert Tensor([2**53 + 1]).clip(0, 2**60).tolist() == [2**53 + 1] and Tensor([1, 5]).clip(None, 3).tolist() == [1, 3]
    assert Tensor([1, 5]).clip(min_=2).tolist() == [2, 5] and Tensor([1, 5]).clip(1.5, None).tolist() == [1.5, 5]
    assert Tensor([1, 5]).clip(Tensor([2, 2]), Tensor([9, 4])).tolist() == [2, 4]
    with pytest.raises(TypeError):
        Tensor([1]).clip("a", 3)


def test_shapes_and_axes_by_name(rng):
    x = rng.normal(size=(2, 3)).astype("f4")
    t = Tensor(x)
    for got, want in ((t.flip(axis=0), x[::-1]), (t.flip(axes=[0, 1]), x[::-1, ::-1]), (t.reshape(shape=(None, 3, 1)), x[..., None]),
                      (t.reshape(shape=6), x.ravel()), (t.unsqueeze(0).expand(shape=(4, -1, None)), np.stack([x] * 4)),
                      (t.permute(order=(1, 0)), x.T), (t.shrink(arg=(None, (1, 2))), x[:, 1:2]), (t.pad(arg=(None, (1, 0))), np.pad(x, ((0, 0), (1, 0)))),
                      (Tensor.zeros(shape=(2, 3)), x * 0), (Tensor.ones(shape=3), np.ones(3))):
        assert near(got, want)
    for twice in (lambda: t.sum(axis=1, axes=0), lambda: t.sum(axis=1, dim=0), lambda: t.argmax(axis=0, dim=1), lambda: t.flip(axes=0, axis=1),
                  lambda: t.reshape((6,), shape=(6,))):
        with pytest.raises(TypeError):
            twice()
    with pytest.raises(touchstone.Error):
        t.pad((None, (1, 2), (3, 4)))
    for op in ("**", "^", "@"):
        with pytest.raises(TypeError, match="unsupported operand"):
            exec(f"y {op}= 'a'", {"y": Tensor(x)})


def test_exclusive_or_and_narrow_products(rng):
    x = rng.integers(-100, 100, (3, 4)).astype("i2")
    y = rng.integers(-30000, 30000, (4, 5)).astype("i2")
    t = Tensor(x)
    assert ((2 ^ t).numpy() == 2 ^ x).all() and ((t ^ 2).numpy() == x ^ 2).all() and (t.xor(3).numpy() == x ^ 3).all()
    assert (Tensor([True, False]) ^ True).tolist() == [False, True] == (True ^ Tensor([True, False])).tolist()
    product = t @ Tensor(y)
    assert product.dtype == "int16" and (product.numpy() == x @ y).all()
    assert (t @ Tensor(y.astype("i4"))).dtype == "int32" and (t @ Tensor(y.astype("f4"))).dtype == "float32"
    u = rng.integers(0, 255, (2, 3)).astype("u1")
    assert ((Tensor(u) @ Tensor(u.T)).numpy() == u @ u.T).all() and (Tensor(u) @ Tensor(u.T)).dtype == "uint8"


def test_arithmetic_by_name(rng):
    x, y = rng.uniform(0.5, 2, (3, 4)).astype("f4"), rng.uniform(0.5, 2, (4,)).astype("f4")
    a, b = Tensor(x), Tensor(y)
    for got, want in ((a.add(b), x + y), (a.add(2, reverse=True), 2 + x), (a.sub(b), x - y), (a.sub(1, True), 1 - x),
                      (a.mul(b), x * y), (a.mul(3), x * 3), (a.div(b), x / y), (a.div(2, True), 2 / x), (a.pow(b), x ** y),
                      (a.pow(2, True), 2 ** x), (a.neg(), -x), (a.dot(b), x @ y), (a.clip(0.7, 1.5), np.clip(x, 0.7, 1.5)),
                      (a.swish(), x / (1 + np.exp(-x))), ((a - 1).leakyrelu(0.1), np.where(x > 1, x - 1, 0.1 * (x - 1))),
                      (a.contiguous_backward(), x), (a.half(), x.astype("f2")), (a.float(), x)):
        assert near(got, want, 1e-3 if got.dtype == "float16" else 1e-5)
    with pytest.raises(TypeError):
        a.add("x")
    c = Tensor(x)
    c **= 2
    d = Tensor(np.array([1, 2]))
    d ^= 3
    e = Tensor(x)
    e @= Tensor(x.T @ x)
    assert near(c, x ** 2) and d.tolist() == [2, 1] and near(e, x @ (x.T @ x), 1e-4)


def test_properties_and_values(rng):
    x = rng.normal(size=(2, 3)).astype("f4")
    t = Tensor(x)
    assert (t.ndim, t.numel(), t.element_size(), t.is_floating_point()) == (2, 6, 4, True)
    assert not Tensor([1]).is_floating_point() and Tensor([], dtype="float16").element_size() == 2
    memory = t.data()
    assert memory.shape == (2, 3) and memory.format == "f" and (np.array(memory) == x).all()
    assert t.cpu().device == "CPU" and t.clang().device == "CLANG" and near(t.clang().cpu(), x)
    moved = Tensor(x)
    moved.to_("CLANG")
    assert moved.device == "CLANG" and near(moved, x)
    assert t.full_like(3).tolist() == [[3.0] * 3] * 2 and t.full_like(True, dtype="bool").dtype == "bool"
    one, two = t + 1, t * 2
    Tensor.corealize([one, two])
    assert near(one, x + 1) and near(two, x * 2)
    assert t.sequential([Tensor.exp, lambda v: v + 1]).numpy() == pytest.approx(np.exp(x) + 1, rel=1e-5)


def test_modes():
    x = Tensor([1.0, 2.0], requires_grad=True)
    assert Tensor.no_grad is False and Tensor.training is False
    Tensor.no_grad = True
    try:
        assert Tensor.no_grad and not (x * 2).requires_grad
        with no_grad():
            assert Tensor.no_grad
        assert Tensor.no_grad
    finally:
        Tensor.no_grad = False
    assert (x * 2).requires_grad and not Tensor.no_grad
    many = Tensor.ones(2000)
    assert many.dropout(0.25).tolist() == [1.0] * 2000
    with Tensor.train():
        assert Tensor.training
        kept = many.dropout(0.25).numpy()
        assert set(np.round(kept, 4)) == {0.0, np.float32(1.3333)} and 0.65 < (kept != 0).mean() < 0.85
        with Tensor.train(False):
            assert not Tensor.training
    Tensor.training = True
    assert Tensor.training
    Tensor.training = False
    assert not Tensor.training


def test_modes_are_set_inside_scopes():
    def work():
        x = Tensor([1.0, 2.0], requires_grad=True)
        with Tensor.train():
            Tensor.training = False
            yield Tensor.ones(50).dropout(0.5).tolist() == [1.0] * 50 and not Tensor.training
            Tensor.training = True
        Tensor.training = False
        yield not Tensor.training
        with no_grad():
            Tensor.no_grad = False
            yield (x * 2).requires_grad
            Tensor.no_grad = True
        yield (x * 2).requires_grad
        Tensor.no_grad = False
        yield (x * 2).requires_grad and not Tensor.no_grad
    found = []
    thread = threading.Thread(target=lambda: found.extend(work()))  # the modes are of a thread
    thread.start()
    thread.join()
    assert found == [True] * 5


def test_shapes_as_arguments_and_other_names_of_axes(rng):
    x = rng.normal(size=(2, 3, 4)).astype("f4")
    t = Tensor(x)
    for got, want in ((t.reshape(6, 4), x.reshape(6, 4)), (t.reshape((6, 4)), x.reshape(6, 4)), (t.reshape(-1), x.ravel()),
                      (t.reshape(None, 12), x.reshape(2, 12)), (t.permute(2, 0, 1), x.transpose(2, 0, 1)),
                      (t.flip(0, 2), x[::-1, :, ::-1]), (t.reshape(2, 1, 12).expand(-1, 5, -1), np.repeat(x.reshape(2, 1, 12), 5, 1)),
                      (t.shrink((None, (1, 3), None)), x[:, 1:3]), (t.pad((None, (1, 2), None)), np.pad(x, ((0, 0), (1, 2), (0, 0)))),
                      (t.sum(axis=1), x.sum(1)), (t.mean(axis=(0, 2)), x.mean((0, 2))), (t.max(axis=-1, keepdim=True), x.max(-1, keepdims=True)),
                      (t.min(0), x.min(0)), (t.std(axis=0, correction=0), x.std(0)), (t.transpose(ax1=0, ax2=2), x.transpose(2, 1, 0)),
                      (t.cat(t, dim=1), np.concatenate([x, x], 1)), (Tensor.cat([t, t], 2), np.concatenate([x, x], 2)),
                      (Tensor.stack([t, t], dim=1), np.stack([x, x], 1)), (t.slice((None, (-1, 2), (1, 6)), 9.0), sliced(x)),
                      (Tensor.einsum("ijk,ikl->ijl", t, t.transpose()), x @ x.transpose(0, 2, 1)),
                      ((t > 0).where(t, 0), np.where(x > 0, x, 0)), ((t > 0).where(1.0, 2.0), np.where(x > 0, 1.0, 2.0)),
                      (t.unsqueeze(dim=0), x[None]), (t.chunk(2, dim=1)[1], x[:, 2:]), (t.zeros_like(), x * 0), (t.argmax(axis=1), x.argmax(1)),
                      (Tensor.arange(1, 2, 0.25), np.arange(1, 2, 0.25)), (Tensor.zeros(2, 3), np.zeros((2, 3))), (Tensor.ones(4), np.ones(4))):
        assert near(got, want), (got, want)
    assert Tensor.rand(2, 3).shape == (2, 3) and Tensor.uniform(4, low=1.0, high=2.0).min().item() >= 1 and Tensor.rand().shape == ()
    assert Tensor.randint(50, low=3, high=5).max().item() == 4 and Tensor.arange(3, dtype="float32").dtype == "float32"


def sliced(x):
    out = np.full((2, 3, 5), 9.0, "f4")
    out[:, 1:, :3] = x[:, :2, 1:]
    return out


def convolved(x, w, stride, dilation, groups, pads):
    """Over two axes, from the definition; pads: (before, after) of each."""
    x = np.pad(x, ((0, 0), (0, 0), *pads))
    n, _, height, width = x.shape
    cout, cin, kh, kw = w.shape
    sizes = [(s - d * (k - 1) - 1) // t + 1 for s, d, k, t in zip((height, width), dilation, (kh, kw), stride)]
    out = np.zeros((n, cout, *sizes))
    for o in range(cout):
        first = o // (cout // groups) * cin
        for i, j in np.ndindex(*sizes):
            rows, columns = i * stride[0] + dilation[0] * np.arange(kh), j * stride[1] + dilation[1] * np.arange(kw)
            out[:, o, i, j] = (x[:, first:first + cin][:, :, rows][:, :, :, columns] * w[o]).sum((1, 2, 3))
    return out


@pytest.mark.parametrize("stride, dilation, groups, padding, pads", [
    (1, 1, 1, 0, ((0, 0), (0, 0))), (2, 1, 2, 1, ((1, 1), (1, 1))), ((2, 1), (1, 2), 1, (1, 2), ((1, 1), (2, 2))),
    (1, 2, 2, (1, 2, 3, 4), ((3, 4), (1, 2)))])
def test_conv2d_is_its_definition(rng, stride, dilation, groups, padding, pads):
    x, w, b = rng.normal(size=(2, 4, 7, 8)), rng.normal(size=(6, 4 // groups, 3, 2)), rng.normal(size=6)
    pair = [(v, v) if isinstance(v, int) else v for v in (stride, dilation)]
    want = convolved(x, w, *pair, groups, pads) + b.reshape(1, -1, 1, 1)
    got = Tensor(x).conv2d(Tensor(w), Tensor(b), groups=groups, stride=stride, dilation=dilation, padding=padding)
    assert near(got, want)
    line = Tensor(x[:, :, 0]).conv2d(Tensor(w[:, :, 0]), groups=groups)
    assert near(line, convolved(x[:, :, :1], w[:, :, :1], (1, 1), (1, 1), groups, ((0, 0), (0, 0)))[:, :, 0])


def test_conv_transpose2d_is_the_gradient_of_conv2d(rng):
    g, w = rng.normal(size=(2, 4, 5, 4)), rng.normal(size=(4, 3, 3, 2))
    for stride, padding, more in ((1, 0, 0), (2, 1, 1), ((2, 3), (1, 0), 0)):
        out = Tensor(g).conv_transpose2d(Tensor(w), stride=stride, padding=padding, output_padding=more)
        x = Tensor(np.zeros(out.shape), requires_grad=True)
        (x.conv2d(Tensor(w), stride=stride, padding=padding) * Tensor(g)).sum().backward()
        assert near(out, x.grad)


def test_pools(rng):
    x = rng.normal(size=(2, 3, 6, 8)).astype("f4")
    t, blocks = Tensor(x), x.reshape(2, 3, 3, 2, 4, 2)
    assert near(t.max_pool2d(), blocks.max((3, 5))) and near(t.avg_pool2d(), blocks.mean((3, 5)))
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 2), (2, 3))
    assert near(t.max_pool2d((3, 2), stride=1), windows.max((-1, -2))) and near(t.avg_pool2d((3, 2), 1), windows.mean((-1, -2)))
    wide = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))[..., ::2, ::2]
    assert near(t.max_pool2d(kernel_size=2, stride=1, dilation=2), wide.max((-1, -2)))


def test_layers(rng):
    x, w, b = (rng.normal(size=s).astype("f4") for s in ((5, 4), (4, 3), (3,)))
    t = Tensor(x)
    assert near(t.linear(Tensor(w), Tensor(b)), x @ w + b) and near(t.linear(Tensor(w[:, 0])), x * w[:, 0])
    centred = x - x.mean(-1, keepdims=True)
    assert near(t.layernorm(), centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5))
    y = rng.normal(size=(2, 3, 4, 5)).astype("f4")
    both = y - y.mean((2, 3), keepdims=True)
    assert near(Tensor(y).layernorm(axis=(2, 3)), both / np.sqrt((both ** 2).mean((2, 3), keepdims=True) + 1e-5))
    mean, scale, inverse = rng.normal(size=3), rng.normal(size=3), rng.uniform(1, 2, 3)
    per = [v.reshape(1, 3, 1, 1).astype("f4") for v in (mean, scale, inverse)]
    parts = [Tensor(v.ravel()) for v in per]
    assert near(Tensor(y).batchnorm(parts[1], parts[0], parts[0], parts[2]), (y - per[0]) * per[1] * per[2] + per[0])
    assert near(Tensor(y).batchnorm(None, None, parts[0], parts[2]), (y - per[0]) * per[2])


def test_attention_and_losses(rng):
    q, k, v = (rng.normal(size=(2, 3, 4)).astype("f4") for _ in range(3))

    def attended(scores):
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        return shares / shares.sum(-1, keepdims=True) @ v
    scores = q @ k.transpose(0, 2, 1) / 2
    got = Tensor(q).scaled_dot_product_attention
    assert near(got(Tensor(k), Tensor(v)), attended(scores))
    assert near(got(Tensor(k), Tensor(v), is_causal=True), attended(np.where(np.tri(3) > 0, scores, -np.inf)))
    assert near(got(Tensor(k), Tensor(v), attn_mask=Tensor(np.tri(3) > 0)), attended(np.where(np.tri(3) > 0, scores, -np.inf)))
    p, y = rng.uniform(0.1, 0.9, 6).astype("f4"), rng.integers(0, 2, 6).astype("f4")
    want = -(y * np.log(p) + (1 - y) * np.log(1 - p)).mean()
    assert near(Tensor(p).binary_crossentropy(Tensor(y)), want)
    assert near(Tensor(np.log(p / (1 - p))).binary_crossentropy_logits(Tensor(y)), want)
    logits, labels = rng.normal(size=(2, 5, 4)).astype("f4"), np.array([[0, 3, -1, 2, 1], [1, -1, -1, 0, 3]])
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    picked = [logs[i, j, labels[i, j]] for i, j in np.ndindex(2, 5) if labels[i, j] >= 0]
    assert near(Tensor(logits).sparse_categorical_crossentropy(Tensor(labels)), -np.mean(picked))


def test_random_numbers():
    Tensor.manual_seed(3)
    first = Tensor.normal(2000, mean=2.0, std=0.5)
    assert abs(first.mean().item() - 2) < 0.06 and abs(first.std().item() - 0.5) < 0.05 and first.shape == (2000,)
    Tensor.manual_seed(3)
    assert (Tensor.normal(2000, mean=2.0, std=0.5) == first).all()
    for made, limit in ((Tensor.scaled_uniform(20, 30), 600 ** -0.5), (Tensor.glorot_uniform(20, 30), math.sqrt(6 / 50)),
                        (Tensor.kaiming_uniform((20, 30)), math.sqrt(6 / 30))):
        assert made.shape == (20, 30) and 0.9 * limit < made.abs().max().item() <= limit
    assert abs(Tensor.kaiming_normal(40, 50).std().item() - math.sqrt(2 / 50)) < 0.02
    drawn = Tensor([0.0, 1.0, 3.0]).multinomial(2000, replacement=True).numpy()
    assert drawn.dtype == np.int32 and set(drawn) == {1, 2} and 0.7 < (drawn == 2).mean() < 0.8
    assert Tensor([[0.0, 1.0], [1.0, 0.0]]).multinomial().tolist() == [[1], [0]]
    for odd in ([0.0, 0.0], [-1.0, 1.0, 0.0], [math.inf, 1.0], [math.nan, 1.0], [1.0, -5.0]):  # any position of the axis
        for drawn in (Tensor(odd).multinomial(50, True), Tensor([odd, odd]).multinomial(2, True), Tensor(odd).multinomial(2)):
            assert drawn.dtype == "int32" and 0 <= drawn.min().item() and drawn.max().item() < len(odd)
