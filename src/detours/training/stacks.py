"""Stacks: runs of one shape that are trained together. Finished ones are read from the store, others are made."""

from __future__ import annotations

import gc
import os
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
from detours.checks import check_integer
from detours.errors import DetoursError, InputError
from detours.store import Cell, Store
from detours.training.checkpoint import Checkpoint
from detours.training.devices import chosen_device, fabric_of
from detours.training.loop import Run, same_shape, train
from detours.training.pool import side_by_side
from detours.training.recipe import as_before

LOCKED = 100
"""Runs of a stack that are locked, at most: each is an open file."""
LARGE_STEP = 50_000
"""Numbers in a state of all tokens of a step, from which on a CPU gains nothing by stacking runs of graph data."""


@dataclass(frozen=True)
class Workplace:
    """Where runs are made, and how many at once."""

    device: str = "auto"
    devices: int = 1
    """How many share every step of a run."""
    jobs: int = 1
    """How many processes train side by side."""
    replicas: int | None = None
    """How many runs are trained as one network at most; None for all of one shape."""
    deadline: float = inf
    """When training stops with `OutOfTime`, by `time.monotonic`; for one process only."""

    def __post_init__(self) -> None:
        for name, given in (("devices", self.devices), ("jobs", self.jobs), ("replicas", self.replicas)):
            if given is not None:
                check_integer(name, given, minimum=1)
        if self.devices > 1 and self.jobs > 1:
            raise InputError("take either several devices for a run or several runs at once, not --devices and --jobs.")


def finished(store: Store, run: Run) -> Cell | None:
    """The finished run, if it is one: its results are there, and its model where one was asked for."""
    cell = store.find(run.recipe.key(), as_before(run.recipe.preset, run.recipe.level))
    return None if run.model is not None and not run.model.exists() else cell


def run_all(store: Store, runs: Sequence[Run], place: Workplace | None = None) -> list[Cell]:
    """Return the cells of all runs, in their order; whatever is finished already is not made again.

    Runs of one shape are trained together, as replicas of one network; `place.jobs` processes share them.
    """
    place = Workplace() if place is None else place
    place = replace(place, device=chosen_device(place.device))
    # a process of its own may have another folder to work in
    store = Store(store.folder.absolute(), keep_old=store.keep_old)
    each = list({(run.path, run.model): run for run in runs}.values())  # one that is asked for twice is trained once
    stacks = [stack for stack in stacks_of(each, place) if any(finished(store, run) is None for run in stack)]
    missing = [run for stack in stacks for run in stack]
    for folder in {run.path.parent for run in missing} | {run.model.parent for run in missing if run.model is not None}:
        make_folder(folder)
    if place.jobs > 1 and len(stacks) > 1:
        tasks = [(place.jobs, store, stack, _spread(place.device, turn)) for turn, stack in enumerate(stacks)]
        side_by_side(_made_beside, tasks, place.jobs)
    else:
        for stack in stacks:
            _made(store, stack, place.device, place.devices, place.deadline)
    with suppress(OSError):  # a folder that cannot be written keeps them
        for stack in stacks_of(each, place):  # a kill may have come between the results and this
            with _held_alone(stack) as busy:
                if busy is None and not _checkpoint(stack).contents()[0]:  # it is damaged, or only begun
                    _checkpoint(stack).discard()
        for folder in {run.path.parent for run in each}:
            _discard_needless(store, folder)
    cells = [finished(store, run) for run in runs]
    return [cell for cell in cells if cell is not None]


def stacks_of(runs: Sequence[Run], place: Workplace) -> list[list[Run]]:
    """Return the runs in stacks that are trained together, as many as there are jobs if possible."""
    stacks = []
    for shape in _shapes(runs):
        alone = place.devices > 1 or _alone(shape[0], place.device)
        most = 1 if alone else min(place.replicas or len(shape), -(-len(shape) // place.jobs))
        stacks += [shape[start : start + most] for start in range(0, len(shape), most)]
    return stacks


def _shapes(runs: Sequence[Run]) -> list[list[Run]]:
    shapes: list[list[Run]] = []
    for run in runs:
        same = next((stack for stack in shapes if same_shape(stack[0], run)), None)
        if same is None:
            shapes.append([run])
        else:
            same.append(run)
    return shapes


def parts_of(runs: Sequence[Run], known: Callable[[Run], bool] = lambda _: False) -> list[list[Run]]:
    """Return the runs in parts of one shape; a stack of any size that was interrupted is a part of its own.

    Runs whose results are `known` are in such stacks alone: others need not be divided as they were.
    """
    left = {file for folder in {run.path.parent for run in runs} for file in folder.glob("*.ckpt")}
    parts: list[list[Run]] = []
    for shape in _shapes(runs):
        parts.append([])
        while shape:
            stack = _interrupted(shape, left)
            if stack:
                parts += [stack, []]
            elif not known(shape[0]):
                parts[-1].append(shape[0])
            taken = {id(run) for run in stack or shape[:1]}
            shape = [run for run in shape if id(run) not in taken]
    return [part for part in parts if part]


def has_checkpoint(stack: list[Run]) -> bool:
    """Return whether these runs were trained together and interrupted."""
    return _checkpoint(stack).path.exists()


def _interrupted(runs: list[Run], checkpoints: set[Path]) -> list[Run]:
    """Return the largest stack of these runs that begins with the first one and has a checkpoint; none if none has.

    The checkpoint says which runs they are: others, that were finished before, may lie between them.
    """
    found: list[list[Run]] = [[]]
    for file in checkpoints:
        if file.name.startswith(runs[0].path.stem):
            keys, _ = Checkpoint(file, [], 0.0).contents()
            stack = [run for run in runs if run.recipe.key() in keys]
            if stack and _checkpoint(stack).path == file:
                found.append(stack)
    return max(found, key=len)


def _discard_needless(store: Store, folder: Path) -> None:
    """Remove the checkpoints of a folder that nobody can need, as all runs in them were finished since."""
    for file in folder.glob("*.ckpt"):
        first, checkpoint = file.with_name(f"{_OF_SEVERAL.sub('', file.stem)}.json"), Checkpoint(file, [], 0.0)
        if first.exists() and _needless(store, checkpoint):
            with exclusive(first.with_name(f".{first.stem}.lock")) as alone:
                if alone and _needless(store, checkpoint):  # still: nobody has begun to train them again
                    checkpoint.discard()


def _needless(store: Store, checkpoint: Checkpoint) -> bool:
    """Whether all runs of a checkpoint are finished, by the code that it is of, and the models are there that it is
    for: runs that have results may be trained again to save these."""
    keys, models = checkpoint.contents()
    made = Store(store.folder)  # whatever `keep_old` says: the next command may not
    try:
        return bool(keys) and all(made.find(key) for key in keys) and all(model.exists() for model in models)
    except (LookupError, TypeError):  # keys of another version
        return False


def discard_checkpoints(runs: Sequence[Run]) -> None:
    """Remove what is left of finished runs: also checkpoints of stacks that began with one of them."""
    for run in runs:
        for file in run.path.parent.glob(f"{run.path.stem}*.ckpt"):
            Checkpoint(file, [run.recipe], run.every).discard()


def _alone(run: Run, device: str) -> bool:
    """Whether a CPU trains such runs faster one by one: products take the time, and each run can leave graphs out."""
    if chosen_device(device) != "cpu" or not run.recipe.skips_graphs:
        return False
    graphs, recipe = run.data.graphs, run.recipe
    tokens = sum(graph.num_nodes + graph.num_arcs for graph in graphs) / len(graphs)
    return recipe.hidden * recipe.batch_size * tokens >= LARGE_STEP


def _made_beside(jobs: int, store: Store, stack: list[Run], device: str) -> None:
    """Train a stack on its share of the cores."""
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // jobs))
    _made(store, stack, device)


def _made(store: Store, stack: list[Run], device: str, devices: int = 1, deadline: float = inf) -> None:
    """Train the runs of a stack that are not finished, and keep the results."""
    fabric = fabric_of(device, stack[0].recipe.precision, devices)
    # As part of the function: Lightning takes arguments apart, and a run is not to be changed.
    work = partial(_trained, store=store, stack=stack, deadline=deadline)
    error = work(fabric) if devices == 1 else fabric.launch(work)
    if fabric.device.type == "cuda":
        gc.collect()  # the next stack needs all memory, also that of what an error has left behind
    if error is not None:
        raise error


def _trained(fabric: Fabric, store: Store, stack: list[Run], deadline: float) -> DetoursError | None:
    """What each of several processes does; it returns an error, since torch would make a traceback of a raised one."""

    def finish(run: Run, value: dict[str, Any], seconds: float) -> None:
        if fabric.is_global_zero:
            store.keep(run.recipe.key(), {**value, "commit": _commit()}, seconds)

    try:
        with _held_alone(stack if fabric.is_global_zero else []) as busy:
            if (said := fabric.broadcast(busy)) is not None:
                fabric.barrier()  # none may leave while another is still being told
                return InputError(said)
            # Twice: a checkpoint may lack runs whose results were removed since.
            for _ in range(2 if fabric.world_size == 1 else 1):
                known = [finished(store, run) is not None for run in stack]
                if not all(known):
                    train(fabric, stack, _checkpoint(stack).path, finish, finished=known, deadline=deadline)
            fabric.barrier()
    except DetoursError as error:
        return error
    return None


@contextmanager
def _held_alone(stack: Sequence[Run]) -> Iterator[str | None]:
    """Lock the runs of a stack against other processes; give a sentence about the first that another one trains."""
    with ExitStack() as held:
        for run in list({run.path: run for run in stack}.values())[:LOCKED]:
            with suppress(OSError):  # a folder that cannot be written knows no locks
                run.path.parent.mkdir(parents=True, exist_ok=True)
            if not held.enter_context(exclusive(run.path.with_name(f".{run.path.stem}.lock"))):
                yield (
                    f"another process is training fold {run.recipe.fold} of {run.recipe.data} in {run.path.parent}; "
                    "wait for its end, or give another folder."
                )
                return
        yield None


_OF_SEVERAL = re.compile(r"-\d+-[0-9a-f]{12}$")
"""What the name of the checkpoint of several runs has after that of the first."""


def _checkpoint(stack: list[Run]) -> Checkpoint:
    """Return the checkpoint of a stack; its name tells which runs these are."""
    first = stack[0].path
    names = sha256(" ".join(run.path.stem for run in stack).encode()).hexdigest()[:12]
    path = first.with_name(f"{first.stem}-{len(stack)}-{names}.ckpt") if len(stack) > 1 else first.with_suffix(".ckpt")
    return Checkpoint(path, [run.recipe for run in stack], stack[0].every)


def _spread(device: str, turn: int) -> str:
    """One GPU after the other, where there are several and none was named."""
    return f"cuda:{turn % torch.cuda.device_count()}" if device == "cuda" else device


@cache
def _commit() -> str | None:
    """The commit of this library, where it runs from a checkout of its own."""
    here = Path(__file__)
    try:
        ask: dict[str, Any] = {"cwd": here.parent, "capture_output": True, "text": True, "timeout": 10, "check": True}
        subprocess.run(["git", "ls-files", "--error-unmatch", here.name], **ask)
        said = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], **ask)
        return said.stdout.strip() or None
    except (OSError, subprocess.SubprocessError):
        return None
