"""Draw finished entries of the tables at random, retrain them from scratch, and compare.

python scripts/train_again.py [--number 2] [--seed 0] [--root DIR] [--device auto] [--out again] [--show]

After an interruption, the same command continues. The draw depends on which entries are finished.
"""

import argparse
import random
import sys
from functools import partial
from pathlib import Path

from detours.data import load
from detours.experiments.networks.entries import Entry
from detours.experiments.networks.queue import Queue, RunSelection
from detours.experiments.networks.records import read_records
from detours.experiments.networks.results import Result, results
from detours.store import Store


def draw(folder: Path, num_entries: int, seed: int) -> list[Result]:
    """Draw complete entries uniformly, of those whose settings are still those of the preset."""
    queue = Queue(Store(folder, keep_old=True), RunSelection(), load, print)
    complete = [
        result for entry, result in results(queue.records).items() if result.complete and not queue.missing(entry)
    ]
    ordered = sorted(complete, key=lambda result: str(result.entry))
    return random.Random(seed).sample(ordered, min(num_entries, len(ordered)))


def name_of(entry: Entry) -> str:
    return f"{entry.data}, {entry.preset}, {entry.row}"


def main() -> int:
    """Print a line for each entry; return 1 if one differs from its record by more than a standard deviation."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--number", type=int, default=2, help="number of entries (default: 2)")
    parser.add_argument("--seed", type=int, default=0, help="random seed of the draw (default: 0)")
    parser.add_argument("--root", help="folder of the raw data sets")
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of the finished results")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, default=Path("again"), help="folder for the new results")
    parser.add_argument("--show", action="store_true", help="only show the drawn entries, without training")
    options = parser.parse_args()
    drawn = draw(options.results, options.number, options.seed)
    for result in drawn:
        print(f"drawn: {name_of(result.entry)}", flush=True)
    if options.show:
        return 0
    store = Store(options.out)
    queue = Queue(store, RunSelection(device=options.device), partial(load, root=options.root), print)
    queue.run([result.entry for result in drawn])
    retrained, different = results(read_records(store)), False
    for result in drawn:
        mean, std = result.mean or 0.0, result.std or 0.0
        new = retrained[result.entry].mean if result.entry in retrained else None
        different |= new is None or abs(new - mean) > std
        outcome = "not finished" if new is None else f"{new:.4g}"
        print(f"{name_of(result.entry)}: {mean:.4g} ± {std:.2g} in the record, retrained: {outcome}")
    return int(different)


if __name__ == "__main__":
    sys.exit(main())
