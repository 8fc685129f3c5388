# SPDX-License-Identifier: Apache-2.0
"""Configurations, prepare, tune, tile order, bench."""
import numpy as np
import pytest

import ggemm
import ggemm.bench


def problem(m=64, n=48, k=32, **settings):
    return ggemm.problem(ggemm.Matrix((m, k), "f32"), ggemm.Matrix((k, n), "f32"), **settings)


def test_configs():
    (config,) = ggemm.configs(problem(context=ggemm.Context("cpu", cblas_path="")))
    assert config.family == "host" and str(config) == config.name and ggemm.Config.parse(config.name).family == "host"
    a = np.ones((64, 32), np.float32)
    assert ggemm.plan(a, a.T, config=ggemm.configs(ggemm.problem(a, a.T))[0]).config.startswith("host_")
    assert "forced" in ggemm.plan(a, a.T, config=ggemm.configs(ggemm.problem(a, a.T))[0]).explain()
    with pytest.raises(ggemm.ArgumentError, match="sm80_oops"):
        ggemm.Config.parse("sm80_oops")
    parsed = ggemm.Config.parse("sm80_bf16_bf16_f32_tn_128x256x64_w2x4_s3_r8")
    assert (parsed.family, parsed.tile, parsed.warps, parsed.stages, parsed.raster) == ("sm80", (128, 256, 64), (2, 4), 3, 8)
    assert (parsed.cluster, parsed.swapped) == ((0, 0, 0), False)
    parsed = ggemm.Config.parse("sm90_bf16_bf16_f32_tn_16x128x64_w1x8_s8_c1x2_swap_r1")
    assert (parsed.cluster, parsed.swapped) == ((1, 2, 1), True)


def test_prepare():
    seen = []
    grouped = ggemm.grouped_problem(ggemm.Matrix((100, 32), "f32"), ggemm.Matrix((4, 32, 48), "f32"), ends=np.arange(1, 5, dtype=np.int32))
    ggemm.prepare([problem(), problem(8, 8, 8), grouped], lambda done, total, what: seen.append((done, total, what)))
    assert [done for done, _, _ in seen] == [1, 2, 3] and {total for _, total, _ in seen} == {3}
    ggemm.prepare([])
    with pytest.raises(ggemm.CancelledError):
        ggemm.prepare([problem(), problem(8, 8, 8)], lambda *_: True)

    class Mine(Exception):
        pass

    def fail(*_):
        raise Mine

    with pytest.raises(Mine):
        ggemm.prepare([problem(), problem(8, 8, 8)], fail)


def test_tune():
    context = ggemm.Context("cpu", cache_dir="", cblas_path="")
    rows = []
    result = ggemm.tune(problem(context=context), budget=0.1, progress=rows.append)
    assert rows == result.rows and result.best.name in [row.config for row in rows] and result.microseconds > 0 and result.tflops > 0
    grouped = ggemm.grouped_problem(ggemm.Matrix((100, 32), "f32"), ggemm.Matrix((4, 32, 48), "f32"), ends=np.arange(1, 5, dtype=np.int32), context=context)
    best = ggemm.configs(grouped)[0]
    assert ggemm.tune(grouped, budget=0.1, sample_sizes=[(10, 48, 32), (30, 48, 32)], configs=[best]).best == best
    with pytest.raises(ggemm.ArgumentError, match="m"):
        ggemm.tune(problem(m=0, context=context))
    with pytest.raises(ggemm.ArgumentError, match="oops"):
        ggemm.tune(problem(context=context), configs=["oops"])

    class Mine(Exception):
        pass

    def fail(row):
        raise Mine(row.config)

    with pytest.raises(Mine):
        ggemm.tune(problem(context=context), budget=0.1, progress=fail)


def test_samples_that_are_not_three_sizes_a_group():
    grouped = ggemm.grouped_problem(ggemm.Matrix((100, 32), "f32"), ggemm.Matrix((4, 32, 48), "f32"), ends=np.arange(1, 5, dtype=np.int32))
    for sizes in ([], [(48, 32)] * 3, [(10, 48, 32, 1)], [10, 48, 32], 10):
        with pytest.raises(ggemm.ArgumentError, match="sample_sizes.*m, n and k of each group are wanted"):
            ggemm.tune(grouped, budget=0.1, sample_sizes=sizes)
    assert ggemm.tune(grouped, budget=0.1, sample_sizes=np.array([[10, 48, 32]])).microseconds > 0
    # Columns by group are described as the transposed product; a sample has the caller's m, n and k.
    columns = ggemm.grouped_problem(np.zeros((2, 16, 32), np.float32), np.zeros((32, 40), np.float32), ends=np.array([10, 40]))
    assert ggemm.tune(columns, budget=0.1, sample_sizes=[(16, 10, 32), (16, 30, 32)]).microseconds > 0
    with pytest.raises(ggemm.ArgumentError, match="sample_sizes"):
        ggemm.tune(columns, budget=0.1, sample_sizes=[(10, 16, 32), (30, 16, 32)])


def test_no_plan_from_before_a_tuning_is_used():
    context = ggemm.Context("cpu", cache_dir="", cblas_path="")
    a = np.ones((96, 96), np.float32)
    ggemm.matmul(a, a, context=context)
    (before,) = [kept for _, kept in context._plans.values()]
    ggemm.tune(ggemm.problem(a, a, context=context), budget=0.1)
    ggemm.matmul(a, a, context=context)
    (after,) = [kept for _, kept in context._plans.values()]
    assert after is not before


def test_tiles():
    # The worked examples of Triton's tutorials.
    tile = ggemm.tiles(1024, 768, (128, 64), raster=2)[60]
    assert (tile.row, tile.col, tile.rows, tile.cols) == (4, 6, range(512, 640), range(384, 448))
    order = ggemm.tiles(8, 8, (2, 2), raster=2)
    assert len(order) == 16 and (order[15].row, order[15].col) == (3, 3) == (order[-1].row, order[-1].col)
    assert sorted((t.row, t.col) for t in order) == [(i, j) for i in range(4) for j in range(4)]
    assert [t.row for t in order[:4]] == [0, 1, 0, 1]
    grouped = ggemm.tiles([5, 0, 3], [4, 4, 9], (4, 4))
    assert [t.group for t in grouped] == [0, 0, 2, 2, 2] and grouped[1].rows == range(4, 5)
    assert ggemm.tiles([5, 0, 3], 4, (4, 4))[2].group == 2
    clustered = ggemm.tiles(40, 25, (16, 10), raster=2, cluster=(2, 1))
    assert len(clustered) == 10 and [(t.row, t.col) for t in clustered[:6]] == [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (2, 1)]  # they turn at the third row
    assert clustered[9].cols == range(25, 25) and not clustered[9].cols
    assert [(t.group, t.row) for t in ggemm.tiles([5, 3], 4, (4, 4), cluster=(2, 1))] == [(0, 0), (0, 1), (1, 0), (1, 0)]
    swapped = ggemm.tiles(32, 512, ggemm.Config.parse("sm90_bf16_bf16_f32_tn_16x128x64_w1x8_s8_c1x2_swap_r1"))
    assert [(t.row, t.col) for t in swapped] == [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (0, 3), (1, 2), (1, 3)]
    for call, error in [(lambda: order[16], IndexError), (lambda: order[-17], IndexError), (lambda: ggemm.tiles(4, 4, (0, 4)), ggemm.ArgumentError),
                        (lambda: ggemm.tiles([1, 2], [1], (4, 4)), ggemm.ArgumentError)]:
        with pytest.raises(error):
            call()
    for wrong in ({"tile": (2,)}, {"tile": 128}, {"tile": (2, 2), "cluster": (1,)}):
        with pytest.raises(ggemm.ArgumentError, match="rows and columns"):
            ggemm.tiles(8, 8, **wrong)


def test_bench(tmp_path):
    seen = []
    report = ggemm.bench.perf_report([16, (8, 16, 32)], device="cpu", budget=0.001, progress=seen.append,
                                     providers={"mine": lambda a, b, out: np.matmul(a, b, out=out), "numpy": None})
    assert report.providers == ["ggemm", "mine"] and report.sizes == [(16, 16, 16), (8, 16, 32)] and list(report.measurements) == seen
    assert all(0 < row.low <= row.tflops <= row.high for row in seen)
    table = str(report).splitlines()
    assert table[2] == "| M | N | K | ggemm | mine |" and len(table) == 6
    assert report.csv().splitlines()[0] == "provider,m,n,k,tflops,low,high" and len(report.csv().splitlines()) == 5


def test_bench_command(tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install matplotlib")
    for name in ("plot.svg", "plot.png"):
        files = ["--plot", str(tmp_path / name), "--csv", str(tmp_path / "n.csv")]
        assert ggemm.bench.main(["--sizes", "8,16:24:8,8x16x8", "--device", "cpu", "--budget", "0.001", *files]) == 0
    assert "<svg" in (tmp_path / "plot.svg").read_text() and (tmp_path / "plot.png").read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / "n.csv").read_text().count("\n") == 9 and "| 8 | 16 | 8 |" in capsys.readouterr().out
