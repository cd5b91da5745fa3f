"""The queue that fills the tables of networks: cheap entries first, within a time budget, resumable.

All folds and seeds of an entry are trained together. Finished folds are kept in a working store inside the store of
records, `<store>/work`, from which an interrupted entry resumes; when all its folds are finished, records replace the
files there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from math import inf, log, sqrt
from shutil import disk_usage
from typing import TYPE_CHECKING, Any

from detours.atomic import make_folder
from detours.data import GraphSet, Splits
from detours.errors import DetoursError, InputError
from detours.experiments.networks.entries import Entry, cost, num_weights
from detours.experiments.networks.records import pack, plain_settings, read_records
from detours.store import Cell, Store
from detours.training.recipe import as_before

if TYPE_CHECKING:
    from detours.training.loop import Run

WORK = "work"
SHARE_OF_DISK = 1 / 3
"""Share of the free space for the checkpoint of a stack; the old one stays until the next one is complete."""
BYTES_PER_WEIGHT = 12
"""In a checkpoint: the weight and its two AdamW moments."""
CHECKPOINT_EVERY = 60.0
"""Seconds; one more is written when the time is over."""
NEAREST = 3
"""Number of finished entries of similar cost from which the time of another is estimated."""


@dataclass(frozen=True)
class RunSelection:
    """The runs requested of every entry, and how to train them."""

    seeds: Sequence[int] | None = None
    """None for the default of the preset."""
    folds: Sequence[int] | None = None
    """None for all."""
    device: str = "auto"
    precision: str | None = None
    """None for the precision of the recipe."""
    replicas: int | None = None
    """Maximum number of runs trained as one network; None for as many as fit on the disk."""
    changes: dict[str, Any] = field(default_factory=dict)
    """Settings to change in every recipe, for trials and tests."""

    def runs(self, entry: Entry) -> set[tuple[int, int]]:
        """Return fold and seed of every run."""
        folds = range(entry.folds) if self.folds is None else self.folds
        if unknown := [fold for fold in folds if not 0 <= fold < entry.folds]:
            known = "fold 0 only" if entry.folds == 1 else f"the folds 0 .. {entry.folds - 1}"
            raise InputError(f"{entry.data} has {known}, but fold {unknown[0]} was requested.")
        from detours.training.runs import check_num_runs

        check_num_runs(len(folds), len(self._seeds(entry)))
        return {(fold, seed) for fold in folds for seed in self._seeds(entry)}

    def _seeds(self, entry: Entry) -> Sequence[int]:
        return entry.default_seeds if self.seeds is None else self.seeds

    def settings(self, entry: Entry) -> dict[str, Any]:
        """Return the arguments of `recipe`."""
        precision = {"precision": self.precision} if self.precision else {}
        settings = {**entry.changes(), **precision, **self.changes}
        if not entry.recipe(**settings).sees_detours:
            settings.pop("k", None)  # the same run for every k
        return settings


class Queue:
    """Entries to train, and their finished runs.

    Args:
        store: The store of records.
        wanted: The runs of every entry, and the device.
        load: Loads a data set by name.
        report: Called with a sentence when training of an entry ends.
    """

    def __init__(
        self, store: Store, wanted: RunSelection, load: Callable[[str], GraphSet], report: Callable[[str], None]
    ) -> None:
        from detours.training.devices import chosen_device

        self.store, self.wanted, self.load, self.report = store, wanted, load, report
        self.device = chosen_device(wanted.device)
        self.work = Store(store.folder / WORK, keep_old=store.keep_old)
        self.records = read_records(store)
        self._data: tuple[GraphSet, Splits] | None = None
        self._sources: dict[str, tuple[str, str]] = {}
        """The digests of data and splits of the data sets that were loaded."""
        self._unreadable: dict[str, DetoursError] = {}

    def missing(self, entry: Entry) -> set[tuple[int, int]]:
        """Return fold and seed of the runs without a record, or with one of other data if the data were loaded."""
        return self.wanted.runs(entry) - self._settled(entry)

    def _settled(self, entry: Entry) -> set[tuple[int, int]]:
        """Return fold and seed of the runs with a record."""
        key = entry.recipe(**self.wanted.settings(entry)).key()
        settings = plain_settings(key) | ({"precision": self.wanted.precision} if self.wanted.precision else {})
        code = None if self.store.keep_old else key["code"]
        records = [record for record in self.records if record.entry == entry and record.made_by(settings, code)]
        if (source := self._sources.get(entry.data)) is not None:
            records = [record for record in records if record.source == source]
        return {run for record in records for run in record.settled()}

    def run(self, entries: Iterable[Entry], minutes: float = inf) -> list[Entry]:
        """Train entries until the time is over, and return those that are not finished. Data sets that cannot be read
        are reported; if there are no others to train, the error is raised.

        An entry that is not expected to finish in the time left is skipped. One that would not finish in the full time
        either is trained piece by piece.
        """
        deadline = time.monotonic() + 60 * minutes
        entries, tried = list(entries), set[Entry]()
        if minutes > 0 and any(map(self.missing, entries)):
            make_folder(self.work.folder)
        while (left := deadline - time.monotonic()) > 0:
            # anew each time: once its data are loaded, records of other data no longer count
            untried = (entry for entry in entries if entry not in tried and entry.data not in self._unreadable)
            waiting = [entry for entry in untried if self.missing(entry)]
            entry = self._next(waiting, left, 60 * minutes)
            if entry is None or not self._train(entry, deadline):
                break
            tried.add(entry)
        if self._unreadable and all(entry.data in self._unreadable for entry in tried):
            raise next(iter(self._unreadable.values()))
        return [entry for entry in entries if self.missing(entry)]

    def _next(self, waiting: Sequence[Entry], left: float, budget: float) -> Entry | None:
        expected = {entry: self.expected(entry) for entry in waiting}
        fitting = (entry for entry in waiting if expected[entry] <= left)
        too_long = (entry for entry in waiting if expected[entry] > budget and left > budget / 2)
        return next(fitting, None) or next(too_long, None)

    def expected(self, entry: Entry) -> float:
        """Estimate the seconds that an entry will take; 0 if unknown.

        The estimate uses finished entries of similar cost, of the same preset if possible: presets differ in their
        number of steps.
        """
        on_cpu, own_cost, estimates = self.device == "cpu", cost(entry), []
        for record in self.records:
            run = next(iter(record.runs.values()), None)
            if run is not None and record.entry.level == entry.level and (run["device"] == "cpu") == on_cpu:
                ratio = own_cost / cost(record.entry)
                # The square root, as the time of small networks hardly depends on their size.
                seconds = record.seconds / len(record.runs) * sqrt(ratio)
                estimates.append((record.entry.preset != entry.preset, abs(log(ratio)), seconds))
        nearest = [seconds for *_, seconds in sorted(estimates)[:NEAREST]]
        return max(nearest, default=0.0) * len(self.missing(entry))

    def _train(self, entry: Entry, deadline: float) -> bool:
        """Train the missing runs of an entry, and return whether there is time for more."""
        from detours.training.loop import OutOfTime

        start = time.monotonic()
        try:
            self._loaded(entry.data)
        except DetoursError as error:  # must not stop other data sets either
            self._unreadable[entry.data] = error
            self.report(f"{entry.data}: failed: {error}")
            return True
        runs = self._runs(entry)
        failed: list[Run] = []
        time_left, sentence = True, ""
        finished = self._pack(entry, runs, failed)  # runs that another process finished but did not record
        try:
            for diverged in self._train_stacks(runs, deadline) if finished < len(runs) else ():
                failed += diverged
                finished = self._pack(entry, runs, failed)  # before the next stack, which may fail
            sentence = f"; the loss of {len(failed)} diverged" if failed else ""
        except OutOfTime:
            time_left, sentence = False, "; interrupted, it resumes from its checkpoint next time"
            finished = self._pack(entry, runs, failed)
        except (DetoursError, RuntimeError) as error:  # a failed entry must not stop the others
            sentence = f"; failed: {error}"
            finished = self._pack(entry, runs, failed)
        seconds = time.monotonic() - start
        name = f"{entry.data}, {entry.preset}, {entry.row}"
        self.report(f"{name}: {finished} of {len(runs)} runs in {seconds:.0f} s{sentence}")
        return time_left

    def _loaded(self, name: str) -> tuple[GraphSet, Splits]:
        from detours.data import splits

        if self._data is None or self._data[0].name != name:
            data = self.load(name)
            self._data = data, splits(data)
        return self._data

    def _cell(self, run: Run) -> Cell | None:
        return self.work.find(run.recipe.key(), as_before(run.recipe.preset, run.recipe.level))

    def _runs(self, entry: Entry) -> list[Run]:
        """Return the runs to train: those without a record, and those of an interrupted stack."""
        from detours.training.stacks import with_interrupted

        runs = self._runs_of(entry, self.wanted.runs(entry))
        self._sources[entry.data] = runs[0].recipe.digest, runs[0].recipe.splits
        missing = self.missing(entry)
        wanted = [run for run in runs if (run.recipe.fold, run.recipe.seed) in missing or self._cell(run) is not None]
        return with_interrupted(runs, wanted) if missing else wanted

    def _runs_of(self, entry: Entry, which: Iterable[tuple[int, int]]) -> list[Run]:
        """Return the runs of an entry with these folds and these seeds."""
        from detours.training.runs import runs_of

        data, parts = self._loaded(entry.data)
        settings = self.wanted.settings(entry)
        folds, seeds = (sorted(set(each)) for each in zip(*which, strict=True))
        settings |= {"ks": (settings.pop("k", None),), "seeds": seeds, "every": CHECKPOINT_EVERY}
        return runs_of(data, parts, self.work, numbers=folds, **settings)

    def _train_stacks(self, runs: Sequence[Run], deadline: float) -> Iterator[list[Run]]:
        """Train runs together, in smaller stacks if memory is short; yield the diverged runs of each stack."""
        from detours.training.loop import Diverged
        from detours.training.stacks import Resources, has_checkpoint, parts_of, run_all, stacks_of

        most = self.wanted.replicas or max(
            1, int(self._checkpoint_budget() / (BYTES_PER_WEIGHT * num_weights(runs[0].recipe)))
        )
        for waiting in parts_of(runs, lambda run: self._cell(run) is not None):
            # an interrupted stack keeps its size, however much space the disk has now
            resumes = self.wanted.replicas is None and has_checkpoint(waiting)
            while waiting:
                size = len(waiting) if resumes else even_size(len(waiting), most)
                place = Resources(self.device, replicas=size, deadline=deadline)
                stack = stacks_of(waiting, place)[0]
                diverged: list[Run] = []
                try:
                    if not _fits(partial(run_all, self.work, stack, place)):
                        if len(stack) == 1:
                            raise DetoursError("one run does not fit into the memory of the device.")
                        most, resumes = -(-len(stack) // 2), False
                        continue
                except Diverged:
                    diverged = [run for run in stack if self._cell(run) is None]
                waiting = waiting[len(stack) :]
                yield diverged

    def _checkpoint_budget(self) -> float:
        """Return the maximum bytes of a checkpoint; space taken by existing checkpoints counts as free."""
        used = 0
        for file in self.work.folder.rglob("*.ckpt"):
            with suppress(FileNotFoundError):  # another process has just removed it
                used += file.stat().st_size
        return SHARE_OF_DISK * (disk_usage(self.work.folder).free + used)

    def _pack(self, entry: Entry, runs: Sequence[Run], failed: Sequence[Run]) -> int:
        """Record the finished and the failed runs, and return the number of finished ones."""
        from detours.training.stacks import discard_checkpoints

        finished = [cell for run in runs if (cell := self._cell(run)) is not None]
        if not finished and not failed:
            return 0
        diverged = [(run.recipe.key(), "the loss diverged") for run in failed]
        pack(self.store, entry, finished, self.work, diverged, self.wanted.folds)
        self.records = read_records(self.store)
        if len(finished) + len(failed) == len(runs):
            settled = self._settled(entry)
            recorded = self._runs_of(entry, settled)
            discard_checkpoints([run for run in recorded if (run.recipe.fold, run.recipe.seed) in settled])
            for run in runs:
                for ending in (".json", ".csv"):
                    run.path.with_suffix(ending).unlink(missing_ok=True)
        return len(finished)


def even_size(num_runs: int, most: int) -> int:
    """Return the size that divides runs into the fewest stacks of at most `most`, as equal as possible."""
    return -(-num_runs // -(-num_runs // most))


def _fits(work: Callable[[], object]) -> bool:
    """Run `work` on the device, and return whether the memory was enough; it is free again afterwards."""
    import gc

    import torch

    fits = True
    try:
        work()
    except torch.cuda.OutOfMemoryError:
        fits = False
    if not fits:  # only now, when the error no longer holds references
        gc.collect()
    torch.cuda.empty_cache()
    return fits
