"""Ctrl-C that always works: back at the prompt within a second, whatever the program is busy with.

Python delivers a signal between two bytecodes of the main thread, which may sit in a compiled loop or a
library's reader for minutes. So the signal also wakes a thread of ours, through the socket that the
interpreter writes to the moment the signal arrives: it gives the ordinary way (an exception, clean-up) a
moment, then ends the process itself.
"""

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

GRACE = 0.7  # seconds the ordinary way has
INTERRUPTED = 128 + signal.SIGINT  # what a shell reports for a program that a signal ended
WATCHER = "detours-signals"
_lost = False  # an interrupt ended inside a library
_arrived = False  # an interrupt came, whatever became of it
SHOW_CURSOR = b"\x1b[?25h\r\x1b[K"  # undoes what a progress bar does to a terminal


@contextmanager
def prompt_exit(cleanup: Callable[[], None]) -> Iterator[None]:
    """While the block runs, Ctrl-C (or SIGTERM) ends the process within a second, after calling `cleanup`."""
    global _lost, _arrived
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may deal with signals
        return
    ours, interpreters = socket.socketpair()
    interpreters.setblocking(False)
    finished = threading.Event()
    wakeup = signal.set_wakeup_fd(interpreters.fileno(), warn_on_full_buffer=False)
    terminate = signal.signal(signal.SIGTERM, _terminate)
    interrupt = signal.getsignal(signal.SIGINT)
    if interrupt is signal.default_int_handler:  # a shell may have us ignore it
        signal.signal(signal.SIGINT, _interrupt)
    unraisable, sys.unraisablehook = sys.unraisablehook, _unraisable
    watcher = threading.Thread(target=_watch, args=(ours, finished, cleanup), name=WATCHER, daemon=True)
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
        _arrived = False
        signal.set_wakeup_fd(wakeup)
        if not _lost:
            sys.unraisablehook = unraisable
        interpreters.close()  # the thread reads the end of the stream, and ends
        watcher.join()  # an interpreter that shuts down while a thread wakes up may hang


def discard_unfinished() -> None:
    """Remove half-written files; a module that was never imported has written none."""
    names = ("atomic", "counting.on_disk.scratch")
    atomic, scratch = (sys.modules.get(f"detours.{name}") for name in names)
    if atomic is not None:
        atomic.discard_unfinished()
    if scratch is not None:
        scratch.discard_scratch()


def arrived() -> bool:
    """Whether Ctrl-C was pressed. A library that it finds in the middle of something may make another error of it."""
    return _arrived


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _arrived
    _arrived = True
    raise KeyboardInterrupt


def _terminate(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _unraisable(report: "sys.UnraisableHookArgs") -> None:
    # An interrupt that lands in a callback or finaliser of a library (the compiler has some) is lost there, and
    # may leave its object half made, whose own finaliser then fails: nothing to say about either.
    global _lost
    if isinstance(report.exc_value, KeyboardInterrupt):
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
                    os.write(2, (SHOW_CURSOR if os.isatty(2) else b"") + b"detours: interrupted\n")
                    os._exit(128 + received[0])
                return


def leave(code: int) -> int:
    """`code` for `sys.exit`, or the end of the process at once where an ordinary exit could take long.

    That is after a signal, or when threads are still at work: the interpreter would wait for them, or hang.
    """
    others = threading.active_count() - 1 - sum(thread.name == WATCHER for thread in threading.enumerate())
    if code > 128 or (code and others):
        with suppress(OSError):
            sys.stdout.flush()
        os._exit(code)
    return code
