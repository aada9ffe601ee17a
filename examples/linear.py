"""The library beside torch.nn.functional.linear: checked, and timed eagerly and in a CUDA graph.

After `make library`, where PyTorch is: python3 examples/linear.py"""

import ctypes
from pathlib import Path

import torch
from torch.nn.functional import linear

SHAPES = [(1, 4096, 4096), (16, 4096, 14336), (128, 8192, 1024), (1000, 1001, 1003)]
SHAPES += [(512, 512, 8192), (2048, 2048, 2048), (4096, 4096, 4096)]
ROOT = Path(__file__).resolve().parents[1]
library = ctypes.CDLL(str(ROOT / "build/library/libgemm_ladder.so"))
library.gl_linear_workspace.restype = ctypes.c_size_t
library.gl_status_text.restype = ctypes.c_char_p
pointer, size = ctypes.c_void_p, ctypes.c_long
library.gl_linear_bf16.argtypes = [*[pointer] * 4, *[ctypes.c_int] * 3, *[size] * 3, pointer]
library.gl_linear_bf16.argtypes += [ctypes.c_size_t, pointer]
library.gl_linear_tune.argtypes = [*[ctypes.c_int] * 3, *[size] * 3, pointer]


def checked(status):
    if status:
        raise RuntimeError(library.gl_status_text(status).decode())


def gl_linear(x, w, bias, out, workspace):
    """What linear(x, w, bias) returns, in `out`; rows of all of them are contiguous."""
    (m, k), n, of = x.shape, w.shape[0], torch.Tensor.data_ptr
    strides = x.stride(0), w.stride(0), out.stride(0)
    stream = torch.cuda.current_stream().cuda_stream
    buffer = of(workspace), workspace.numel()
    checked(library.gl_linear_bf16(*map(of, (out, x, w, bias)), m, n, k, *strides, *buffer, stream))
    return out


def in_a_graph(call, calls=20):
    call()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            call()
    return graph.replay, calls


def microseconds(call, calls=1, rounds=30):
    """Of a call, the median of rounds."""
    times = []
    for _ in range(rounds):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(max(1, 20 // calls)):
            call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3 / (max(1, 20 // calls) * calls))
    return sorted(times)[rounds // 2]


def compare(m, n, k):
    """The largest errors of both, in bounds of rounding, and their times, eagerly and in a graph."""
    x, w = torch.randn(m, k).cuda().bfloat16(), torch.randn(n, k).cuda().bfloat16()
    bias, out = torch.randn(n).cuda().bfloat16(), torch.empty(m, n).cuda().bfloat16()
    checked(library.gl_linear_tune(m, n, k, k, k, n, torch.cuda.current_stream().cuda_stream))
    needed = library.gl_linear_workspace(m, n, k)
    workspace = torch.empty(needed, dtype=torch.uint8, device="cuda")
    exact = linear(x.double(), w.double(), bias.double())
    # D is rounded to 8 bits; sums in fp32 of k products lose bits, too.
    bound = 2**-8 * exact.abs() + 2**-20 * linear(x.double().abs(), w.double().abs())
    calls = [lambda: linear(x, w, bias), lambda: gl_linear(x, w, bias, out, workspace)]
    errors = [float(((call().double() - exact).abs() / bound).max()) for call in calls]
    assert errors[1] <= 1, (m, n, k, errors)
    eager = [microseconds(call) for call in calls]
    return errors + eager + [microseconds(*in_a_graph(call)) for call in calls]


def main():
    versions = f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}"
    print(f"{torch.cuda.get_device_name()}, {versions}")
    columns = ("error/bound", "eager, us", "in a graph, us")
    print(f"{'':20}", *[f"{column:>19}" for column in columns])
    print(f"{'m x n x k':20}", *[f"{who:>9}" for who in ("torch", "library") * 3])
    for m, n, k in SHAPES:
        print(f"{f'{m} x {n} x {k}':20}", *[f"{number:9.2f}" for number in compare(m, n, k)])


if __name__ == "__main__":
    main()
