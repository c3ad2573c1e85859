from bench import sandbox_figures
from bench.table import Row, render
from sandbox.bench import Figures


def test_the_table_is_markdown_with_aligned_columns() -> None:
    lines = render([Row("a", "1 s", "2 s"), Row("a longer one", "10 s", note="seen once")]).splitlines()
    assert lines[0].startswith("| figure")
    assert set(lines[1]) == {"|", "-", " "}
    assert len({len(line) for line in lines}) == 1
    assert lines[3] == "| a longer one | 10 s     |     | seen once |"


def test_the_cold_figure_is_shown_only_where_it_was_measured() -> None:
    warm = sandbox_figures.table(Figures(cold=None, build=None, warm=20, again=1, down=2, memory=1_400_000_000))
    assert [row.value for row in warm] == ["20.0 s", "1.0 s", "2.0 s", "1400 MB"]
    cold = sandbox_figures.table(Figures(cold=400, build=300, warm=20, again=1, down=2, memory=0))
    assert [row.value for row in cold[:2]] == ["400 s", "300 s"]
