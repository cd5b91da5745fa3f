"""Draw finished entries of the tables at random, train them from scratch, and compare.

python scripts/train_again.py [--number 2] [--seed 0] [--root DIR] [--device auto] [--out again] [--show]

After an interruption the same command goes on. What is drawn depends on the entries that are finished.
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


def drawn(kept: Path, number: int, seed: int) -> list[Result]:
    """So many complete entries, each as likely as any other, whose settings are still those of the preset."""
    queue = Queue(Store(kept, keep_old=True), RunSelection(), load, print)
    found = results(queue.records)
    ready = [each for entry, each in found.items() if each.complete and not queue.missing(entry)]
    ordered = sorted(ready, key=lambda each: str(each.entry))
    return random.Random(seed).sample(ordered, min(number, len(ordered)))


def name_of(entry: Entry) -> str:
    return f"{entry.data}, {entry.preset}, {entry.row}"


def main() -> int:
    """Print a line for each entry; 1 if one of them is further from its record than a standard deviation."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--number", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--root", help="the folder of the raw data sets")
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--device", default="auto")
    parser.add_argument("--out", type=Path, default=Path("again"), help="a folder for the new results")
    parser.add_argument("--show", action="store_true", help="show what is drawn, and train nothing")
    given = parser.parse_args()
    chosen = drawn(given.results, given.number, given.seed)
    for each in chosen:
        print(f"drawn: {name_of(each.entry)}", flush=True)
    if given.show:
        return 0
    store = Store(given.out)
    queue = Queue(store, RunSelection(device=given.device), partial(load, root=given.root), print)
    queue.run([each.entry for each in chosen])
    again, far = results(read_records(store)), 0
    for each in chosen:
        mean, std = each.mean or 0.0, each.std or 0.0
        new = again[each.entry].mean if each.entry in again else None
        far += new is None or abs(new - mean) > std
        found = "which could not be finished" if new is None else f"{new:.4g}"
        print(f"{name_of(each.entry)}: {mean:.4g} ± {std:.2g} in the record, again {found}")
    return int(far > 0)


if __name__ == "__main__":
    sys.exit(main())
