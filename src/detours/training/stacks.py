"""Stacks: runs of one shape that are trained together. Finished runs are read from the store, others are trained."""

from __future__ import annotations

import gc
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from hashlib import sha256
from math import inf
from pathlib import Path
from typing import Any

import torch
from lightning.fabric import Fabric

from detours.atomic import exclusive, make_folder
from detours.checks import check_integer, check_jobs
from detours.errors import DetoursError, InputError
from detours.store import Cell, Store
from detours.training.checkpoint import Checkpoint
from detours.training.devices import chosen_device, fabric_of, gpu_settings_kept
from detours.training.loop import Diverged, Run, shape_of, train
from detours.training.pool import run_in_processes
from detours.training.recipe import as_before

MAX_LOCKS = 100
"""Runs of a stack that are locked at most: each lock is an open file."""
LARGE_STEP = 50_000
"""Values of the hidden state of all tokens of a step; above it, a CPU gains nothing by stacking runs of graph data."""


@dataclass(frozen=True)
class Resources:
    """Where runs are trained, and how many at once."""

    device: str = "auto"
    devices: int = 1
    """Devices that share every step of a run."""
    jobs: int = 1
    """Processes that train in parallel."""
    replicas: int | None = None
    """The most runs that are trained as one network; None for all of one shape."""
    deadline: float = inf
    """When training stops with `OutOfTime`, by `time.monotonic`; for one process only."""

    def __post_init__(self) -> None:
        for name, given in (("devices", self.devices), ("jobs", self.jobs), ("replicas", self.replicas)):
            if given is not None:
                check_integer(name, given, minimum=1)
        if self.devices > 1 and self.jobs > 1:
            raise InputError("take either several devices for a run or several runs at once, not --devices and --jobs.")


def finished(store: Store, run: Run) -> Cell | None:
    """Return the finished run; None without its results, or without its model if that is to be saved."""
    cell = store.find(run.recipe.key(), as_before(run.recipe.preset, run.recipe.level))
    return None if run.model is not None and not run.model.exists() else cell


def run_all(store: Store, runs: Sequence[Run], place: Resources | None = None) -> list[Cell]:
    """Return the cells of all runs, in their order; finished runs are not trained again.

    Runs of one shape are trained together, as replicas of one network; `place.jobs` processes share them. If some
    diverge, the others are finished before `Diverged` is raised.
    """
    place = Resources() if place is None else place
    place = replace(place, device=chosen_device(place.device))
    # other processes may have another working directory
    store = Store(store.folder.absolute(), keep_old=store.keep_old)
    unique = list({(run.path, run.model): run for run in runs}.values())
    stacks = [stack for stack in stacks_of(unique, place) if any(finished(store, run) is None for run in stack)]
    missing = [run for stack in stacks for run in stack]
    for folder in {run.path.parent for run in missing} | {run.model.parent for run in missing if run.model is not None}:
        make_folder(folder)
    if diverged := " ".join(filter(None, _train_stacks(store, stacks, place))):
        raise Diverged(diverged)
    _discard_leftovers(store, unique, place)
    cells = [finished(store, run) for run in runs]
    return [cell for cell in cells if cell is not None]


def _train_stacks(store: Store, stacks: Sequence[list[Run]], place: Resources) -> list[str | None]:
    """Train stacks one after the other, or several at once, and return the messages about diverged runs."""
    jobs = min(place.jobs, len(stacks))
    if jobs > 1:
        tasks = [(jobs, store, stack, _device_of(place.device, index)) for index, stack in enumerate(stacks)]
        return run_in_processes(_train_on_share, tasks, jobs)
    return [_train_stack(store, stack, place.device, place.devices, place.deadline) for stack in stacks]


def _discard_leftovers(store: Store, runs: Sequence[Run], place: Resources) -> None:
    """Remove checkpoints of finished runs, which a kill between the results and this has left."""
    with suppress(OSError):  # in a read-only folder they stay
        for stack in stacks_of(runs, place):
            with _locked(stack) as busy:
                if busy is None and not _checkpoint(stack).contents()[0]:  # damaged or incomplete
                    _checkpoint(stack).discard()
        for folder in {run.path.parent for run in runs}:
            _discard_obsolete(store, folder)


def stacks_of(runs: Sequence[Run], place: Resources) -> list[list[Run]]:
    """Divide the runs into stacks that are trained together, as many as there are jobs if possible."""
    stacks = []
    for group in _by_shape(runs):
        separate = place.devices > 1 or _faster_separately(group[0], place.device)
        size = 1 if separate else min(place.replicas or len(group), -(-len(group) // place.jobs))
        stacks += [group[start : start + size] for start in range(0, len(group), size)]
    return stacks


def _by_shape(runs: Sequence[Run]) -> list[list[Run]]:
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(repr(shape_of(run)), []).append(run)
    return list(groups.values())


def parts_of(runs: Sequence[Run], known: Callable[[Run], bool] = lambda _: False) -> list[list[Run]]:
    """Divide the runs into parts of one shape; an interrupted stack of any size is a separate part.

    Runs whose results are `known` are returned only as members of such stacks.
    """
    parts: list[list[Run]] = []
    for group in _by_shape(runs):
        stacks, taken = _interrupted(group), set[int]()
        parts.append([])
        for run in group:
            stack = next((each for each in stacks if each[0] is run and taken.isdisjoint(map(id, each))), None)
            if stack is not None:
                parts += [stack, []]
                taken.update(map(id, stack))
            elif id(run) not in taken and not known(run):
                parts[-1].append(run)
    return [part for part in parts if part]


def has_checkpoint(stack: list[Run]) -> bool:
    """Return whether these runs were trained together and interrupted."""
    return _checkpoint(stack).path.exists()


def _interrupted(runs: Sequence[Run]) -> list[list[Run]]:
    """Return the stacks that have a checkpoint and all of whose runs are among these, the largest first."""
    stems, stacks = tuple(run.path.stem for run in runs), []
    for file in {file for folder in {run.path.parent for run in runs} for file in folder.glob("*.ckpt")}:
        if file.name.startswith(stems):
            keys, _ = Checkpoint(file, [], 0.0).contents()
            stack = [run for run in runs if run.recipe.key() in keys]
            if stack and _checkpoint(stack).path == file:  # its name is that of all its runs
                stacks.append(stack)
    return sorted(stacks, key=len, reverse=True)


def _discard_obsolete(store: Store, folder: Path) -> None:
    """Remove the checkpoints of a folder whose runs have all been finished since."""
    for file in folder.glob("*.ckpt"):
        first, checkpoint = file.with_name(f"{_STACK_SUFFIX.sub('', file.stem)}.json"), Checkpoint(file, [], 0.0)
        if first.exists() and _is_obsolete(store, checkpoint):
            with exclusive(first.with_name(f".{first.stem}.lock")) as locked:
                if locked and _is_obsolete(store, checkpoint):  # still: no process has started to train them again
                    checkpoint.discard()


def _is_obsolete(store: Store, checkpoint: Checkpoint) -> bool:
    """Whether all runs of a checkpoint are finished, by the same code, and all models that it is to save exist: runs
    with results may be trained again to save these."""
    keys, models = checkpoint.contents()
    current = Store(store.folder)  # without `keep_old`, which the next command may not have
    try:
        return bool(keys) and all(current.find(key) for key in keys) and all(model.exists() for model in models)
    except (LookupError, TypeError):  # keys of another version
        return False


def discard_checkpoints(runs: Sequence[Run]) -> None:
    """Remove the checkpoints of finished runs, and those of stacks of which all runs are among them."""
    keys = [run.recipe.key() for run in runs]
    for run in runs:
        for file in run.path.parent.glob(f"{run.path.stem}*.ckpt"):
            checkpoint = Checkpoint(file, [run.recipe], run.every)
            if all(key in keys for key in checkpoint.contents()[0]):
                checkpoint.discard()


def with_interrupted(runs: Sequence[Run], wanted: Sequence[Run]) -> list[Run]:
    """Return the runs that are wanted, and those in an interrupted stack of these runs with one of them: the stack
    resumes only as a whole."""
    chosen = {id(run) for run in wanted}
    for stack in _interrupted(runs):
        if any(run in wanted for run in stack):
            chosen.update(map(id, stack))
    return [run for run in runs if id(run) in chosen]


def _faster_separately(run: Run, device: str) -> bool:
    """Whether a CPU trains such runs faster one by one: matrix products dominate, and each run can leave graphs out."""
    if chosen_device(device) != "cpu" or not run.recipe.skips_graphs:
        return False
    graphs, recipe = run.data.graphs, run.recipe
    tokens = sum(graph.num_nodes + graph.num_arcs for graph in graphs) / len(graphs)
    return recipe.hidden * recipe.batch_size * tokens >= LARGE_STEP


def _train_on_share(jobs: int, store: Store, stack: list[Run], device: str) -> str | None:
    """Train a stack on its share of the cores; see `_train_stack`."""
    torch.set_num_threads(max(1, check_jobs(-1) // jobs))
    return _train_stack(store, stack, device)


def _train_stack(store: Store, stack: list[Run], device: str, devices: int = 1, deadline: float = inf) -> str | None:
    """Train the runs of a stack that are not finished, store the results, and return a message about diverged ones."""
    # bound to the function: Lightning would traverse and move arguments
    work = partial(_worker, store=store, stack=stack, deadline=deadline)
    with gpu_settings_kept(device):
        fabric = fabric_of(device, stack[0].recipe.precision, devices)
        error = work(fabric) if devices == 1 else fabric.launch(work)
    if fabric.device.type == "cuda":
        gc.collect()  # the next stack needs all memory, including what an error still refers to
    if error is not None and not isinstance(error, Diverged):
        raise error
    return None if error is None else str(error)


def _worker(fabric: Fabric, store: Store, stack: list[Run], deadline: float) -> DetoursError | None:
    """Train in one of several processes; errors are returned, as torch would print a traceback of raised ones."""

    def finish(run: Run, value: dict[str, Any], seconds: float) -> None:
        if fabric.is_global_zero:
            store.keep(run.recipe.key(), {**value, "commit": _commit()}, seconds)

    try:
        with _locked(stack if fabric.is_global_zero else []) as busy:
            if (message := fabric.broadcast(busy)) is not None:
                fabric.barrier()  # no process may leave before all have received the message
                return InputError(message)
            # Twice: a checkpoint may lack runs whose results were removed since.
            for _ in range(2 if fabric.world_size == 1 else 1):
                done = [finished(store, run) is not None for run in stack]
                if not all(done):
                    train(fabric, stack, _checkpoint(stack).path, finish, finished=done, deadline=deadline)
            fabric.barrier()
    except DetoursError as error:
        return error
    return None


@contextmanager
def _locked(stack: Sequence[Run]) -> Iterator[str | None]:
    """Lock the runs of a stack against other processes; yield a message about the first that another one trains."""
    with ExitStack() as locks:
        for run in list({run.path: run for run in stack}.values())[:MAX_LOCKS]:
            with suppress(OSError):  # a read-only folder has no locks
                run.path.parent.mkdir(parents=True, exist_ok=True)
            if not locks.enter_context(exclusive(run.path.with_name(f".{run.path.stem}.lock"))):
                yield (
                    f"another process is training fold {run.recipe.fold} of {run.recipe.data} in {run.path.parent}; "
                    "wait for its end, or give another folder."
                )
                return
        yield None


_STACK_SUFFIX = re.compile(r"-\d+-[0-9a-f]{12}$")
"""The end of the name of the checkpoint of several runs, after the name of the first."""


def _checkpoint(stack: list[Run]) -> Checkpoint:
    """Return the checkpoint of a stack; its name identifies the runs."""
    first = stack[0].path
    digest = sha256(" ".join(run.path.stem for run in stack).encode()).hexdigest()[:12]
    path = first.with_name(f"{first.stem}-{len(stack)}-{digest}.ckpt") if len(stack) > 1 else first.with_suffix(".ckpt")
    return Checkpoint(path, [run.recipe for run in stack], stack[0].every)


def _device_of(device: str, index: int) -> str:
    """Return the device of a stack: the GPUs in turn, unless the device names one."""
    return f"cuda:{index % torch.cuda.device_count()}" if device == "cuda" else device


@cache
def _commit() -> str | None:
    """Return the commit of this library, if it runs from a checkout."""
    here = Path(__file__)
    try:
        options: dict[str, Any] = {
            "cwd": here.parent,
            "capture_output": True,
            "text": True,
            "timeout": 10,
            "check": True,
        }
        subprocess.run(["git", "ls-files", "--error-unmatch", here.name], **options)
        head = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], **options)
        return head.stdout.strip() or None
    except (OSError, subprocess.SubprocessError):
        return None
