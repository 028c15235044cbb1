"""Notebooks, run in a kernel: every picture is shown, nothing outside is changed, everything shows itself."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from helpers import ROOT
from test_listings import Tags

SETUP = """\
import incast
from helpers import SMALL
scenario = incast.Scenario.from_toml(SMALL, "small.toml").with_({"probe.flows": ["all"]})
result = scenario.run()
"""

PICTURES = (
    "incast.plot.queue(result)",
    "incast.plot.fct_cdf(result)",
    "incast.plot.window(result, flows='long')",
    "incast.plot.slowdown(result)",
    "import matplotlib.pyplot as plt; plt.plot([1, 2])",
)


@pytest.fixture
def jupyter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for notebooks, whose kernels know nothing of the user's settings."""
    monkeypatch.delenv("MPLBACKEND", raising=False)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    return tmp_path


def run(book: Any, folder: Path) -> list[list[dict[str, Any]]]:  # noqa: ANN401 - nbformat has no types
    """Runs a notebook and returns the data of the outputs of each cell of code."""
    client = NotebookClient(
        book, timeout=600, kernel_name="python3", resources={"metadata": {"path": folder}}
    )
    done = client.execute()
    return [
        [out.data for out in cell.outputs if "data" in out] for cell in done.cells if cell.cell_type == "code"
    ]


def cells(*sources: str) -> Any:  # noqa: ANN401 - nbformat has no types
    """A notebook of cells of code."""
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])


def pngs(outputs: Sequence[Sequence[dict[str, Any]]]) -> list[int]:
    """The number of pictures of each cell."""
    return [sum("image/png" in data for data in cell) for cell in outputs]


RC = """\
import matplotlib as mpl
from incast import plot
from incast.cli.plot import KINDS, Part
from incast.scenario import Scenario
mpl.rcParams["font.size"] = 9
jobs = Scenario.load("collective.toml").run()
probes = {"probe.internals": True, "probe.limits": "10us"}
own = scenario.with_algorithm("theta-powertcp").with_(probes).run()
load = Scenario.load("load.toml").with_({"probe.load_interval": "1ms", "traffic.cache.duration": "2ms"}).run()
of = {**dict.fromkeys(("operations", "jobs", "jobs-ratio"), jobs), "loads": load}
before = dict(mpl.rcParams)
for name, kind in KINDS.items():
    if name not in ("sweep", "heat"):
        kind.draw({"one": of.get(name, own)}, Part())
after = dict(mpl.rcParams)
changed = sorted(key for key in after if after[key] != before[key])
plt.close("all")
"""


def test_every_cell_shows_its_picture_and_no_setting_changes(jupyter: Path) -> None:
    for name in ("collective.toml", "load.toml"):
        shutil.copy(ROOT / "examples" / name, jupyter)
    outputs = run(
        cells(f"{SETUP}\nfrom incast import plot", *PICTURES, RC, "changed, mpl.rcParams['font.size']"),
        jupyter,
    )
    assert pngs(outputs[:6]) == [0, 1, 1, 1, 1, 1]
    assert outputs[-1][0]["text/plain"] == "([], 9.0)"


@pytest.mark.parametrize("place", [0, 3, 1])
def test_the_inline_backend_may_be_chosen_at_any_time(jupyter: Path, place: int) -> None:
    sources = [f"{SETUP}\nfrom incast import plot", *PICTURES]
    sources.insert(place, "%matplotlib inline")
    outputs = run(cells(*sources), jupyter)
    assert pngs(outputs) == [int(source in PICTURES) for source in sources]


def test_everything_shows_itself_as_tables(jupyter: Path) -> None:
    sweep = (
        "from pathlib import Path; from incast import sweep; Path('s.toml').write_text(SMALL)\n"
        "sweep.run(sweep.plan(Path('s.toml'), ['cc=oscar,hpcc']))"
    )
    shown = {
        "scenario.with_(name='<b>&')": "<b>&",
        "scenario.with_(name='<b>&').run()": "<b>&: OSCAR",
        "incast.compare(scenario, 'oscar,hpcc')": "HPCC",
        "incast.replicate(scenario, seeds=2)": "mean slowdown of flows",
        "result.flows": "3 rows",
        "result.port_series": "the first 50 of ",
        sweep: "HPCC",
    }
    outputs = run(cells(SETUP, *shown), jupyter)
    for data, text in zip(outputs[1:], shown.values(), strict=True):
        assert text in Tags(data[-1]["text/html"]).text
    assert "incast.Scenario" not in outputs[1][0]["text/plain"]


def test_the_notebook_of_the_examples_runs_and_is_stored_without_outputs(jupyter: Path) -> None:
    folder = jupyter / "examples"
    folder.mkdir()
    shutil.copy(ROOT / "examples/microburst.toml", folder)
    book = nbformat.read(ROOT / "examples/notebook.ipynb", as_version=4)
    nbformat.validate(book)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    outputs = run(book, jupyter)
    assert sum(pngs(outputs)) == 1
    assert "<caption>" in "".join(data.get("text/html", "") for cell in outputs for data in cell)
