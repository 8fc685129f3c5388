# SPDX-License-Identifier: Apache-2.0
"""torch tensors, and ggemm.torch: on the CPU everywhere, on CUDA where there is a GPU."""
import pytest

import ggemm

pytest.importorskip("torch", reason="needs torch: pip install torch")
import torch  # noqa: E402
from torch import library  # noqa: E402

import ggemm.torch as gt  # noqa: E402

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"))]
device = pytest.mark.parametrize("device", DEVICES)
ACTIVATIONS = ["relu", ("leaky_relu", 0.1), "gelu", "gelu_tanh", "silu", "sigmoid", "tanh", ("clamp", -0.4, 0.5)]
FORMS = ["m", "n", "k", None]


def integers(*shape, dtype=torch.float32, device="cpu"):
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randint(-3, 4, shape, generator=generator).to(dtype).to(device)


@device
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_matmul_takes_tensors_as_they_are(device, dtype):
    a, b = integers(7, 12, dtype=dtype, device=device), integers(9, 12, dtype=dtype, device=device).t()
    d = ggemm.matmul(a, b)
    assert isinstance(d, torch.Tensor) and d.dtype == dtype and d.device == a.device
    assert torch.equal(d, (a.double() @ b.double()).to(dtype))
    out = torch.full((7, 20), 5.0, dtype=dtype, device=device)
    view = out[:, 3:12]
    assert ggemm.matmul(a, b, out=view) is view
    assert torch.equal(view, d) and (out[:, :3] == 5).all() and (out[:, 12:] == 5).all()
    assert torch.equal(ggemm.plan(a, b)(a, b), d)


@device
def test_output_dtypes(device):
    a, b = integers(4, 8, dtype=torch.float8_e4m3fn, device=device), integers(8, 16, dtype=torch.float8_e4m3fn, device=device)
    assert ggemm.matmul(a, b).dtype == torch.bfloat16
    assert ggemm.matmul(a, b, dtype=torch.float32).dtype == torch.float32
    a, b = integers(4, 8, dtype=torch.int8, device=device), integers(8, 16, dtype=torch.int8, device=device)
    assert ggemm.matmul(a, b).dtype == torch.int32
    assert torch.equal(ggemm.matmul(a, b), (a.double() @ b.double()).int())


@device
def test_alpha_on_the_device(device):
    a, b, alpha = integers(4, 8, device=device), integers(8, 5, device=device), torch.tensor(2.0, device=device)
    assert torch.equal(ggemm.matmul(a, b, alpha=alpha), 2 * (a @ b))
    plan = ggemm.plan(a, b, device_scalars=True)
    d = plan(a, b, alpha=alpha)
    alpha.fill_(-1)
    assert torch.equal(plan(a, b, alpha=alpha), -(a @ b)) and torch.equal(d, 2 * (a @ b))


def test_a_gradient_is_never_lost_silently():
    a, b = integers(4, 8).requires_grad_(), integers(8, 5)
    with pytest.raises(ggemm.ArgumentError, match="a requires grad.*ggemm.torch"):
        ggemm.matmul(a, b)
    with pytest.raises(ggemm.ArgumentError, match=r"b\[0\] requires grad"):
        ggemm.grouped_matmul([b.t()], [a.t()])
    plan = ggemm.plan(a.detach(), b)
    with pytest.raises(ggemm.ArgumentError, match="a requires grad.*ggemm.torch"):
        plan(a, b)
    with torch.no_grad():
        assert torch.equal(ggemm.matmul(a, b), a @ b) and torch.equal(plan(a, b), a @ b)
        assert torch.equal(plan._run(a, b, *[None] * 8, True), a @ b), "not the long way"
    assert torch.equal(ggemm.matmul(a.detach(), b), a @ b)


@device
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_forms_of_tensors(device, dtype):
    x, w = integers(12, 16, dtype=dtype, device=device), integers(4, 16, 8, dtype=dtype, device=device)
    ends = torch.tensor([3, 3, 10, 12], dtype=torch.int32, device=device)
    owners = torch.tensor([0] * 3 + [2] * 7 + [3] * 2, device=device)
    rows = torch.einsum("ik,ikn->in", x.double(), w.double()[owners])
    assert torch.equal(ggemm.grouped_matmul(x, w, ends=ends).double(), rows)
    index = torch.arange(11, -1, -1, device=device)
    assert torch.equal(ggemm.grouped_matmul(x.flip(0).contiguous(), w, ends=ends, a_index=index).double(), rows)
    back = torch.full((13, 8), 7, dtype=dtype, device=device)
    ggemm.grouped_matmul(x, w, ends=ends, d_index=index, d_index_unique=True, row_weights=torch.full((12,), 2.0, device=device), out=back)
    assert torch.equal(back[:12].double(), 2 * rows.flip(0)) and (back[12] == 7).all()
    a, counts = integers(4, 6, 16, dtype=dtype, device=device), torch.tensor([6, 0, 2, 1], device=device)
    out = torch.full((4, 6, 8), 7, dtype=dtype, device=device)
    ggemm.grouped_matmul(a, w, counts=counts, out=out)
    full = (a.double() @ w.double()).to(dtype)
    for g, count in enumerate(counts.tolist()):
        assert torch.equal(out[g, :count], full[g, :count]) and (out[g, count:] == 7).all()
    scale_a, scale_b = torch.tensor([[[0.5]], [[1.0]], [[2.0]], [[4.0]]], device=device), torch.tensor(0.5, device=device)
    assert torch.equal(ggemm.grouped_matmul(a, w, scale_a=scale_a, scale_b=scale_b).double(), full.double() * scale_a * scale_b)
    pairs = ggemm.grouped_matmul(a, w, gate="halves", activation="relu")
    assert torch.equal(pairs, (full[..., :4].relu().double() * full[..., 4:].double()).to(dtype))


@device
def test_checked_mode_of_tensors(device):
    x, w, out = integers(12, 16, device=device), integers(4, 16, 8, device=device), torch.full((12, 8), 7.0, device=device)
    ends = torch.tensor([3, 2, 10, 12], dtype=torch.int32, device=device)
    with pytest.raises(ggemm.ArgumentError, match=r"ends\[1\] = 2|m of group 1: it ends before it begins"):
        ggemm.grouped_matmul(x, w, ends=ends, out=out, checked=True)
    assert (out == 7).all()
    ends[1] = 3
    plan = ggemm.grouped_plan(x, w, ends=ends, checked=True)
    assert torch.equal(plan(x, w), ggemm.grouped_matmul(x, w, ends=ends, checked=True))
    status = torch.full((4,), 9, dtype=torch.int32, device=device)
    plan(x, w, out=out, status=status)
    assert ggemm.Fault.read(status) is None and torch.equal(out, plan(x, w))
    ends[3] = 13
    if device == "cuda":
        plan(x, w, out=out, status=status)  # nothing is waited for, and nothing is raised
        assert ggemm.Fault.read(status) == ("end", 3, "m", 0)
    with pytest.raises(ggemm.ArgumentError):
        plan(x, w)


def test_tensors_without_plain_memory_are_refused():
    a = torch.ones(3, 4)
    for b in (torch.empty(4, 5, device="meta"), torch.ones(4, 5).to_sparse()):
        with pytest.raises(ggemm.ArgumentError, match="^b: "):
            ggemm.matmul(a, b)
    plan = ggemm.plan(a, a.t())
    with pytest.raises(ggemm.ArgumentError, match="^b: "):
        plan(a, b)


def samples(device, dtype=torch.float64):
    def make(*shape):
        generator = torch.Generator().manual_seed(sum(shape))
        return (torch.rand(shape, generator=generator, dtype=torch.float64) - 0.45).to(dtype).to(device).requires_grad_()

    return make


@device
@pytest.mark.parametrize("activation", [None, *ACTIVATIONS], ids=str)
def test_matmul_gradients(device, activation):
    make = samples(device)
    a, b, bias = make(3, 4), make(4, 5), make(5)
    run = lambda a, b, bias: gt.matmul(a, b, bias, activation=activation, alpha=0.5)
    assert torch.autograd.gradcheck(run, (a, b, bias))
    assert torch.autograd.gradgradcheck(run, (a, b, bias))
    assert torch.autograd.gradcheck(run, (a, b, make(3, 1)))


@device
@pytest.mark.parametrize("activation", [None, *ACTIVATIONS], ids=str)
def test_matmul_is_torchs(device, activation):
    make = samples(device, torch.float32)
    a, b, bias = make(8, 16), make(16, 24), make(24)
    name, *p = (activation,) if activation is None or isinstance(activation, str) else activation
    F = torch.nn.functional
    act = {None: lambda x: x, "relu": F.relu, "leaky_relu": lambda x: F.leaky_relu(x, *p), "gelu": F.gelu, "silu": F.silu, "sigmoid": torch.sigmoid,
           "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "tanh": torch.tanh, "clamp": lambda x: x.clamp(*p)}[name]
    want, got = act(a @ b + bias), gt.matmul(a, b, bias, activation=activation)
    torch.testing.assert_close(got, want, atol=1e-5, rtol=1e-5)
    weights = torch.linspace(-1, 1, got.numel(), device=device).view_as(got)
    for mine, theirs in zip(torch.autograd.grad((got * weights).sum(), (a, b, bias)), torch.autograd.grad((want * weights).sum(), (a, b, bias))):
        torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=1e-5)


@device
def test_matmul_opcheck(device):
    make = samples(device, torch.float32)
    for arguments in [(make(3, 4), make(4, 5), None, "none", 0.0, 0.0, 1.0, "default", None),
                      (make(3, 4), make(5, 4).detach().t().requires_grad_(), make(5), "gelu", 0.0, 0.0, 0.5, "default", None),
                      (make(3, 4), make(4, 5), make(3, 1), "leaky_relu", 0.1, 0.0, 1.0, "tf32", torch.float64)]:
        library.opcheck(torch.ops.ggemm.matmul.default, arguments)


def operands(form, device, dtype=torch.float64, groups=3):
    make = samples(device, dtype)
    shapes = {"m": ((7, 4), (groups, 4, 5)), "n": ((groups, 4, 5), (5, 7)), "k": ((4, 7), (7, 5)), None: ((groups, 2, 4), (groups, 4, 5))}
    offs = None if form is None else torch.tensor([2, 2, 7], dtype=torch.int32, device=device)
    return (*(make(*shape) for shape in shapes[form]), offs)


@device
@pytest.mark.parametrize("form", FORMS)
def test_grouped_gradients(device, form):
    a, b, offs = operands(form, device)
    run = lambda a, b, bias=None: gt.grouped_mm(a, b, offs, bias)
    assert torch.autograd.gradcheck(run, (a, b))
    assert torch.autograd.gradgradcheck(run, (a, b))
    if form in ("m", None):
        for shape in ((5,), (3, 5)):
            assert torch.autograd.gradcheck(run, (a, b, samples(device)(*shape)))


@device
@pytest.mark.parametrize("form", FORMS)
def test_grouped_opcheck(device, form):
    a, b, offs = operands(form, device, torch.float32)
    library.opcheck(torch.ops.ggemm.grouped_mm.default, (a, b, offs, None, None, False))
    if form == "m":
        library.opcheck(torch.ops.ggemm.grouped_mm.default, (a, b, offs, samples(device, torch.float32)(3, 5), torch.float64, True))


@device
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.skipif(not hasattr(torch, "_grouped_mm"), reason="needs torch._grouped_mm: pip install 'torch>=2.9'")
def test_grouped_is_torchs(device, form):
    groups, k, n = 4, 32, 48
    offs = torch.tensor([16, 16, 48, 64], dtype=torch.int32, device=device)
    shapes = {"m": ((64, k), (groups, k, n)), "n": ((groups, n, k), (k, 64)), "k": ((k, 64), (64, n)), None: ((groups, 16, k), (groups, k, n))}[form]
    a, b = (integers(*shape, dtype=torch.bfloat16, device=device) for shape in shapes)
    # torch wants b by columns, and a by columns where k is ragged, on the GPUs that it serves.
    b = b.transpose(-2, -1).contiguous().transpose(-2, -1)
    offs = None if form is None else offs
    want = torch._grouped_mm(a, b, offs)
    got = gt.grouped_mm(a, b, offs)
    assert got.dtype == want.dtype and torch.equal(got, want)


@device
def test_rows_past_the_last_end_have_no_gradient(device):
    a, b, _ = operands("m", device)
    offs = torch.tensor([2, 2, 5], dtype=torch.int64, device=device)
    gt.grouped_mm(a, b, offs)[:5].sum().backward()
    assert (a.grad[5:] == 0).all() and (a.grad[:5] != 0).any() and (b.grad[1] == 0).all()


@device
def test_errors_are_ggemms(device):
    with pytest.raises(ggemm.ArgumentError, match="k differs: A is 2x3 .k=3., B is 4x5 .k=4."):
        gt.matmul(torch.zeros(2, 3, device=device), torch.zeros(4, 5, device=device))
    with pytest.raises(ggemm.ArgumentError, match="ends is missing: it says where each group ends along m"):
        gt.grouped_mm(torch.zeros(2, 3, device=device), torch.zeros(4, 3, 5, device=device))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
class TestCuda:
    def test_mixed_devices(self):
        with pytest.raises(ggemm.ArgumentError, match="b is on the CPU, a is on cuda:0"):
            ggemm.matmul(integers(3, 4, device="cuda"), integers(4, 5))
        with pytest.raises(ggemm.ArgumentError, match="ends is on the CPU, the products are on cuda:0"):
            ggemm.grouped_matmul(integers(3, 4, device="cuda"), integers(1, 4, 5, device="cuda"), ends=torch.tensor([3]))

    def test_the_current_stream_is_taken(self):
        a, b = integers(512, 512, device="cuda"), integers(512, 512, device="cuda")
        plan = ggemm.plan(a, b)
        want, stream = a @ b, torch.cuda.Stream()
        for run in (plan, lambda x, y: plan(x, y, stream=stream), ggemm.matmul):
            x = torch.zeros_like(a)
            torch.cuda.synchronize()
            with torch.cuda.stream(stream):
                torch.cuda._sleep(50_000_000)
                x.copy_(a)  # not there yet for anybody who does not wait for this stream
                d = run(x, b)
            stream.synchronize()
            assert torch.equal(d, want)

    def test_capture_and_replay_with_other_sizes(self):
        x, w = integers(64, 32, dtype=torch.bfloat16, device="cuda"), integers(4, 32, 48, dtype=torch.bfloat16, device="cuda")
        offs = torch.tensor([10, 20, 30, 64], dtype=torch.int32, device="cuda")
        out = torch.empty(64, 48, dtype=torch.bfloat16, device="cuda")
        run = lambda: ggemm.grouped_matmul(x, w, ends=offs, out=out)
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            run()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):  # grouped calls need one on their stream before
            run()
        for ends in ([10, 20, 30, 64], [0, 1, 63, 64], [64, 64, 64, 64]):
            offs.copy_(torch.tensor(ends))
            graph.replay()
            start, want = 0, torch.empty_like(out)
            for g, end in enumerate(ends):
                want[start:end] = (x[start:end].float() @ w[g].float()).to(out.dtype)
                start = end
            assert torch.equal(out, want), ends
