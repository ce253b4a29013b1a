"""What goes where: data to stdout, words to stderr; and which error ends in which exit code."""

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
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.markup import escape

from eigenveil.errors import BudgetExceededError, EigenveilError, InvalidInputError, UnreadableError

FAILED, USAGE, REFUSED = 1, 2, 3
"""Exit codes: what failed on the way, wrong arguments (typer's own), a budget that does not suffice."""
NOT_PRIVATE = "not private"


@functools.cache
def words() -> Console:
    """Where messages go."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def say(text: str, *, style: str = "") -> None:
    """A message to the person at the terminal."""
    words().print(escape(text), style=style or None)


def warn(text: str) -> None:
    """A message that should be seen."""
    say(f"warning: {text}", style="yellow")


def put_json(plain: Any) -> None:
    """One JSON document to stdout."""
    sys.stdout.write(json.dumps(plain, indent=2, allow_nan=False) + "\n")
    sys.stdout.flush()


def at_work(command: Callable[..., None]) -> Callable[..., None]:
    """The command, done by `run` of the module in `work` that has its name.

    Only then is that module loaded, so that help and mistakes in usage need none of it. Errors end in a message
    and an exit code instead of a traceback.
    """
    room, _, name = command.__module__.rpartition(".")

    @functools.wraps(command)
    def run(**options: Any) -> None:
        try:
            import_module(f"{room}.work.{name}").run(**options)
        except BudgetExceededError as refusal:
            _end(f"refused: {refusal}", REFUSED)
        except EigenveilError as error:
            _end(f"error: {error}", FAILED)
        except BrokenPipeError:  # whoever was reading has had enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(FAILED) from None
        except OSError as error:
            _end(f"error: {error.filename or 'a file'}: {error.strerror or type(error).__name__}.", FAILED)
        except KeyboardInterrupt:
            _end("interrupted.", FAILED)

    return run


_IN_OPTIONS = {
    "columns=[...]": "--columns",
    "units=[...]": "--units",
    "relation='replace'": "--relation replace",
    "pca.components_for(0.9)": "`eigenveil inspect`",
}
"""Hints are written for Python; these are the same on the command line."""

_ENCODE = re.compile(r"encode=(\{'[^}]*\})")
"""A hint that shows what to encode, and how."""


def _encode_options(match: re.Match[str]) -> str:
    """The same as options."""
    try:
        shown = ast.literal_eval(match[1])
        ways = {name: how if isinstance(how, str) else ",".join(how) for name, how in shown.items()}
    except (ValueError, SyntaxError, TypeError):  # a name with a brace in it
        return match[0]
    return " ".join(f"--encode {shlex.quote(f'{name}={how}')}" for name, how in ways.items())


def _end(text: str, code: int) -> NoReturn:
    for python, option in _IN_OPTIONS.items():
        text = text.replace(python, option)
    say(_ENCODE.sub(_encode_options, text), style="red")
    raise typer.Exit(code)


@contextmanager
def usage() -> Iterator[None]:
    """Within it, what is wrong is wrong with the arguments, unless a file cannot be read."""
    try:
        yield
    except UnreadableError:
        raise
    except InvalidInputError as error:
        _end(f"error: {error}", USAGE)


@contextmanager
def heeding() -> Iterator[list[str]]:
    """Within it, warnings are gathered, and told when it ends."""
    told: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield told
        finally:
            for message in dict.fromkeys(
                str(one.message) for one in caught if issubclass(one.category, UserWarning)
            ):
                told.append(message)
                warn(message)
