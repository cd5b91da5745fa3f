"""Write the inputs from which the mutational fuzzer starts to tests/corpus: a few small files of every format.

    python -m fuzz.corpus graph    # one part; without a name, all of them

Inputs that fuzzing has found are kept. Folders of counts, models and checkpoints contain times, so they always change.
"""

from __future__ import annotations

import json
import re
import shutil
import warnings
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import networkx as nx
import scipy.sparse as sp

import detours
from detours.graph.files import FORMATS
from detours.store import Store
from fuzz.running import CORPUS
from fuzz.targets import EDGES, KEY

ARGUMENTS = (
    "count g.txt -k 3",
    "count g.txt -k 4 --json --top 2",
    "count g.txt -k 3 --out out.csv --directed",
    "count g.txt -k 3 --out folder --memory 1MB --engine search",
    "count g.txt -k 3 --chordless --jobs 1 -q",
    "paths g.txt 0 1 -k 3",
    "paths g.txt 0 1 -k 3 --max-paths 2 --json",
    "cycles g.txt -k 3 --nodes 0",
    "explain g.txt -k 4",
    "compare g.txt g.txt -k 3",
    "--version",
)


def write_graphs(corpus: Path) -> None:
    """Small graphs in every format, written by this package or by others."""
    folder = corpus / "graph"
    graph = detours.Graph.from_networkx(nx.lollipop_graph(5, 3))
    named = detours.Graph.from_networkx(nx.Graph([("ä", "b c"), ("b c", "d"), ("d", "ä"), ("d", "e")]))
    literal = detours.Graph.from_networkx(nx.grid_2d_graph(2, 3))
    formats = (format for name, format in FORMATS.items() if name not in ("edgelist", "molecule"))
    for ending in ("txt", "csv", "tsv", "txt.gz", "npz.gz", "mtx.gz", *(format.endings[0] for format in formats)):
        graph.write(folder / f"plain.{ending}")
    for ending in ("csv", "graphml", "gml", "npz"):
        named.write(folder / f"named.{ending}")
    literal.write(folder / "literal.npz")
    (folder / "weights.txt").write_text("# weights\nsource target weight\n0 1 0.5\n1 2 1e3\n2 0 -1 {'a': 1}\n\n7 7\n")
    (folder / "values.mtx").write_text(
        "%%MatrixMarket matrix coordinate real general\n% a comment\n3 3 3\n1 2 0.5\n2 3 1.5\n3 1 0\n"
    )
    (folder / "weights.graph").write_text("% weights\n3 2 11\n5 2 1\n1 1 1 3 4\n0 2 4\n")
    small = nx.lollipop_graph(4, 2)
    nx.write_gexf(small, dated := BytesIO())
    (folder / "plain.gexf").write_bytes(re.sub(rb'(?<=date=")[^"]*', b"2026-01-01", dated.getvalue()))
    nx.write_pajek(nx.relabel_nodes(small, str), folder / "plain.net")
    (folder / "plain.adjlist").write_text("# a comment\n" + "\n".join(nx.generate_adjlist(small)) + "\n")
    ring = nx.to_scipy_sparse_array(nx.cycle_graph(6))
    for kind in ("csr", "csc", "coo", "dia"):
        sp.save_npz(folder / f"{kind}.npz", getattr(sp, f"{kind}_array")(ring), compressed=kind == "csr")
    sp.save_npz(folder / "bsr.npz", sp.bsr_array(ring, blocksize=(2, 2)))


def write_folders(corpus: Path) -> None:
    """Saved graphs, and counts in folders: finished, and interrupted after a block."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = detours.Graph.from_edge_index(EDGES)
    graph.save(corpus / "saved" / "plain")
    detours.Graph.from_networkx(nx.grid_2d_graph(2, 3)).save(corpus / "saved" / "literal")
    detours.Graph.from_networkx(nx.DiGraph([("a", "b"), ("b", "c"), ("c", "a")]), directed=True).save(
        corpus / "saved" / "directed"
    )
    detours.count(graph, 4, out=corpus / "counts" / "finished")

    class Stop(Exception):
        pass

    def stop(done: float, total: float) -> None:
        raise Stop

    for engine in ("rows", "search", "dense"):
        try:
            detours.count(graph, 4, engine=engine, out=corpus / "counts" / engine, progress=stop)
        except Stop:
            manifest = corpus / "counts" / engine / "manifest.json"
            manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "engine": "auto"}, indent=1) + "\n")


def write_learning(corpus: Path) -> None:
    """A model, a checkpoint, PyG data and a folder in the format of TU Dortmund."""
    import torch
    from torch_geometric.data import Data

    from detours.data import rings, stratified_splits
    from detours.training.checkpoint import Checkpoint
    from detours.training.loop import Run
    from detours.training.recipe import recipe
    from detours.training.stacks import Resources, run_all

    data = rings(8, sizes=(3, 4), seed=5)
    settings = recipe(data.name, data.digest, "here", data.level, hidden=2, layers=1, epochs=1, k=3)
    fold = stratified_splits(data, folds=4)[0]
    store = Store(corpus / "work")
    run = Run(settings, data, fold, store.path(settings.key()), model=corpus / "model" / "a.pt", every=0.0)
    run_all(store, [run], Resources("cpu"))
    shutil.rmtree(store.folder)
    Checkpoint(corpus / "checkpoint" / "a.ckpt", [settings], 0.0).save({"epoch": 1, "weights": [torch.arange(3)]})
    path = torch.tensor([[0, 1], [1, 2]])
    graphs = [Data(x=torch.ones(3, 1), edge_index=path, y=torch.tensor([label])) for label in (0, 1)]
    torch.save(graphs, corpus / "own" / "a.pt")
    tu = corpus / "own" / "TU"
    tu.mkdir()
    (tu / "TU_A.txt").write_text("1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 4\n")
    (tu / "TU_graph_indicator.txt").write_text("1\n1\n1\n2\n2\n")
    (tu / "TU_graph_labels.txt").write_text("1\n-1\n")
    (tu / "TU_node_labels.txt").write_text("0\n1\n0\n2\n2\n")


def write_texts(corpus: Path) -> None:
    """A result in a store, and command-line arguments."""
    (corpus / "cell" / "a.json").write_text(json.dumps({"key": KEY, "value": {"a": 1.5}, "seconds": 0.1}))
    for number, line in enumerate(ARGUMENTS):
        (corpus / "arguments" / f"{number}.txt").write_text("\t".join(line.split()))


class Part(NamedTuple):
    write: Callable[[Path], None]
    folders: tuple[str, ...]


PARTS = {
    "graph": Part(write_graphs, ("graph",)),
    "folders": Part(write_folders, ("saved", "counts")),
    "learning": Part(write_learning, ("model", "checkpoint", "own")),
    "texts": Part(write_texts, ("cell", "arguments")),
}


def main() -> None:
    """Rewrite one part or all of them, except for inputs that fuzzing has found."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", choices=PARTS)
    name = parser.parse_args().part
    for part in PARTS.values() if name is None else [PARTS[name]]:
        for folder in part.folders:
            for old in (CORPUS / folder).glob("[!_]*"):
                shutil.rmtree(old) if old.is_dir() else old.unlink()
            (CORPUS / folder).mkdir(parents=True, exist_ok=True)
        part.write(CORPUS)


if __name__ == "__main__":
    main()
