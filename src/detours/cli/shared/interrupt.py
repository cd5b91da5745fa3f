"""Ctrl-C that always works: back at the prompt within a second, whatever the program is doing.

Python delivers a signal between two bytecodes of the main thread, which may spend minutes in a compiled loop
or in a library's reader. So the signal also wakes a watcher thread, through the socket that the interpreter
writes to as soon as a signal arrives: it waits a moment for the normal way out (an exception, clean-up), then
ends the process itself.
"""

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

GRACE = 0.7  # seconds for the normal way out
INTERRUPTED = 128 + signal.SIGINT  # what a shell reports for a program ended by this signal
WATCHER = "detours-signals"
_lost = False  # an interrupt was swallowed inside a library
_arrived = 0  # the signal that arrived, handled or not
_resumes = False  # what is running, or was interrupted, continues when the command is repeated
SHOW_CURSOR = b"\x1b[?25h\r\x1b[K"  # undoes what a progress bar does to a terminal


@contextmanager
def prompt_exit(cleanup: Callable[[], None]) -> Iterator[None]:
    """While the block runs, Ctrl-C (or SIGTERM) ends the process within a second, after calling `cleanup`."""
    global _lost, _arrived, _resumes
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread can handle signals
        return
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    finished = threading.Event()
    wakeup = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    terminate = signal.signal(signal.SIGTERM, _terminate)
    interrupt = signal.getsignal(signal.SIGINT)
    if interrupt is signal.default_int_handler:  # a shell may have set it to be ignored
        signal.signal(signal.SIGINT, _interrupt)
    unraisable, sys.unraisablehook = sys.unraisablehook, _unraisable
    watcher = threading.Thread(target=_watch, args=(reader, finished, cleanup), name=WATCHER, daemon=True)
    watcher.start()
    try:
        yield
    except KeyboardInterrupt:
        _lost = True
        raise
    finally:
        finished.set()
        signal.signal(signal.SIGTERM, terminate)
        if interrupt is signal.default_int_handler:
            signal.signal(signal.SIGINT, interrupt)
        _arrived, _resumes = 0, False
        signal.set_wakeup_fd(wakeup)
        if not _lost:
            sys.unraisablehook = unraisable
        writer.close()  # the thread reads the end of the stream and ends
        watcher.join()  # an interpreter that shuts down while a thread wakes up may hang


@contextmanager
def resumable() -> Iterator[None]:
    """If Ctrl-C ends the block, `farewell` says that the command can be repeated to resume."""
    global _resumes
    _resumes = True
    try:
        yield
    except BaseException as error:
        _resumes = bool(_arrived) or isinstance(error, KeyboardInterrupt)
        raise
    _resumes = False


def farewell() -> str:
    """Return what to print after an interrupt."""
    return "interrupted; repeat the command to resume" if _resumes else "interrupted"


def discard_unfinished() -> None:
    """Remove half-written files; a module that was never imported has not written any."""
    names = ("atomic", "counting.on_disk.scratch")
    atomic, scratch = (sys.modules.get(f"detours.{name}") for name in names)
    if atomic is not None:
        atomic.discard_unfinished()
    if scratch is not None:
        scratch.discard_scratch()


def code_of_signal() -> int:
    """Return the exit code for Ctrl-C or SIGTERM if it arrived, else 0: a library may raise another error instead."""
    return 128 + _arrived if _arrived else 0


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _arrived
    _arrived = number
    raise KeyboardInterrupt


def _terminate(number: int, frame: FrameType | None) -> None:
    global _arrived
    _arrived = number
    raise SystemExit(128 + number)


def _unraisable(report: "sys.UnraisableHookArgs") -> None:
    # An interrupt in a callback or finaliser of a library (the compiler has some) is lost there, and may leave
    # a half-built object whose own finaliser then fails: neither is worth a message.
    global _lost
    if isinstance(report.exc_value, KeyboardInterrupt) or (_arrived and isinstance(report.exc_value, SystemExit)):
        _lost = True
    elif not _lost:
        sys.__unraisablehook__(report)


def _watch(signals: socket.socket, finished: threading.Event, cleanup: Callable[[], None]) -> None:
    with signals:
        while received := signals.recv(1):
            if received[0] in (signal.SIGINT, signal.SIGTERM):
                if not finished.wait(GRACE):
                    cleanup()
                    # Straight to the descriptor: the main thread may hold the lock of sys.stderr.
                    os.write(2, (SHOW_CURSOR if os.isatty(2) else b"") + f"detours: {farewell()}\n".encode())
                    os._exit(128 + received[0])
                return


def leave(code: int) -> int:
    """Return `code` for `sys.exit`, or end the process at once if a normal exit could take long.

    This is the case after a signal, or while threads are running: the interpreter would wait for them, or hang.
    """
    others = threading.active_count() - 1 - sum(thread.name == WATCHER for thread in threading.enumerate())
    if code > 128 or (code and others):
        with suppress(OSError):
            sys.stdout.flush()
        os._exit(code)
    return code
