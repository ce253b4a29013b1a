"""Output streams and exit codes: data go to stdout, messages to stderr; errors end in an exit code."""

from __future__ import annotations

import ast
import functools
import json
import os
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, NoReturn

import typer
from rich.console import Console, RenderableType
from rich.markup import escape

from eigenveil._printable import printable
from eigenveil.errors import (
    BudgetExceededError,
    EigenveilError,
    InvalidInputError,
    NotCompiledWarning,
    UnreadableError,
)

FAILED, USAGE, REFUSED = 1, 2, 3
"""Exit codes: failure while running, invalid arguments (typer's own code), privacy budget exceeded."""
NOT_PRIVATE = "not private"
_SHORT_OF_MEMORY = (
    "error: there is not enough memory.\n"
    "Hint: Limit the memory for rows by --memory, choose fewer columns, or close other programs."
)


class _Messages(Console):
    """Console that falls silent if the reader of its pipe is gone; rich would end the program."""

    def on_broken_pipe(self) -> None:
        self.quiet = True


@functools.cache
def stderr_console() -> Console:
    """Return the console for messages, on stderr."""
    return _Messages(stderr=True, highlight=False, soft_wrap=True)


def say(text: str, *, style: str = "") -> None:
    """Print a message to stderr."""
    show(escape(printable(text, keep="\n")), style=style or None)


def show(content: RenderableType, *, style: str | None = None, soft_wrap: bool = True) -> None:
    """Print text or a table to stderr, if it can be written: no message ends a fit that has been paid for."""
    with suppress(OSError, ValueError):  # full or closed
        stderr_console().print(content, style=style, soft_wrap=soft_wrap)


def warn(text: str) -> None:
    """Print a warning to stderr."""
    say(f"warning: {text}", style="yellow")


def print_json(plain: Any) -> None:
    """Print one JSON document to stdout."""
    sys.stdout.write(json.dumps(plain, indent=2, allow_nan=False) + "\n")
    sys.stdout.flush()


def runs_work_module(command: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command so that it calls `run` of the module with its name in `implementations`.

    That module is imported when the command runs. Help and usage errors do not need it. Errors end in a message
    and an exit code instead of a traceback.
    """
    name = command.__module__.rpartition(".")[2]

    @functools.wraps(command)
    def run(**options: Any) -> None:
        try:
            import_module(f"eigenveil.cli.implementations.{name}").run(**options)
        except BudgetExceededError as refusal:
            _exit_with(f"refused: {refusal}", REFUSED)
        except EigenveilError as error:
            _exit_with(f"error: {error}", FAILED)
        except BrokenPipeError:  # the reader closed the pipe, as `head` does
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(FAILED) from None
        except OSError as error:
            where = printable(str(error.filename or "a file"))
            _exit_with(f"error: {where}: {error.strerror or type(error).__name__}.", FAILED)
        except MemoryError:  # its own text may state the number of rows
            _exit_with(_SHORT_OF_MEMORY, FAILED)
        except RuntimeError as error:
            if "start new thread" not in str(error):
                raise
            _exit_with(_SHORT_OF_MEMORY, FAILED)
        except KeyboardInterrupt:
            _exit_with("interrupted.", FAILED)

    return run


_IN_OPTIONS = {
    "columns=[...]": "--columns",
    "units=[...]": "--units",
    "relation='replace'": "--relation replace",
    "force=True": "--force",
    "pca.components_for(0.9)": "`eigenveil inspect`",
}
"""Python expressions in hints, and the equivalent on the command line."""

_ENCODE = re.compile(r"encode=(\{'[^}]*\})")
"""Matches a hint with an `encode` argument in Python."""


def _encode_options(match: re.Match[str]) -> str:
    """Return the `encode` argument as command-line options."""
    try:
        shown = ast.literal_eval(match[1])
        ways = {name: how if isinstance(how, str) else ",".join(how) for name, how in shown.items()}
    except (ValueError, SyntaxError, TypeError):  # a column name contains a brace
        return match[0]
    return " ".join(f"--encode {shlex.quote(f'{name}={how}')}" for name, how in ways.items())


def _exit_with(text: str, code: int) -> NoReturn:
    for python, option in _IN_OPTIONS.items():
        text = text.replace(python, option)
    say(_ENCODE.sub(_encode_options, text), style="red")
    raise typer.Exit(code)


@contextmanager
def usage_errors() -> Iterator[None]:
    """Treat invalid input as a usage error (exit code 2). Unreadable files remain failures (exit code 1)."""
    try:
        yield
    except UnreadableError:
        raise
    except InvalidInputError as error:
        _exit_with(f"error: {error}", USAGE)


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collect warnings raised in the block, and print each once when it ends.

    A warning about this installation is printed, but not collected: it says nothing about the model.
    """
    messages: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield messages
        finally:
            shown = {str(one.message): one.category for one in caught if issubclass(one.category, UserWarning)}
            messages += [text for text, category in shown.items() if category is not NotCompiledWarning]
            for text in shown:
                warn(text)
