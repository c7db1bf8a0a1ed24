"""Work on several processors: a function that is called in forked processes, one argument at a time.

Forked, because what a function works with, such as compiled rules, need not and often cannot be sent to another process.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from typing import TypeVar

from collector.errors import RightcallError

_AHEAD = 2  # results for each process that may wait for an earlier one
Argument = TypeVar("Argument")
Result = TypeVar("Result")


class LostProcessError(RightcallError):
    """A process ended before its work was done: there was no memory for it, or somebody ended it."""


def call_in_processes(
    function: Callable[[Argument], Result], arguments: Sequence[Argument], processes: int
) -> Iterator[Result]:
    """Yield the results in the order of the arguments. Raises what the function raises, LostProcessError."""
    if processes == 1 or len(arguments) <= 1:
        yield from map(function, arguments)
        return
    context = multiprocessing.get_context("fork")
    workers: dict[Connection, ForkProcess] = {}
    try:
        for _ in range(min(processes, len(arguments))):
            here, there = context.Pipe()
            # It closes the ends that belong to this process, so that it ends when this process does.
            worker = context.Process(target=_serve, args=(function, there, [*workers, here]), daemon=True)
            worker.start()
            there.close()
            workers[here] = worker
        yield from _distribute(arguments, list(workers))
    finally:
        for connection, worker in workers.items():
            connection.close()
            worker.terminate()
            worker.join()


def _distribute(arguments: Sequence[Argument], workers: list[Connection]) -> Iterator[Result]:
    idle, busy = list(workers), dict[Connection, int]()
    results: dict[int, Result] = {}
    begun = 0
    for index in range(len(arguments)):
        while index not in results:
            while idle and begun < min(len(arguments), index + _AHEAD * len(workers)):
                busy[connection := idle.pop()] = begun
                connection.send(arguments[begun])
                begun += 1
            for ready in wait(list(busy)):
                if not isinstance(ready, Connection):
                    continue
                try:
                    result, error = ready.recv()
                except EOFError:
                    raise LostProcessError("a process of --jobs was ended, by lack of memory perhaps") from None
                if error is not None:
                    raise error
                results[busy.pop(ready)] = result
                idle.append(ready)
        yield results.pop(index)


def _serve(function: Callable[[Argument], Result], connection: Connection, others: list[Connection]) -> None:
    for other in others:
        other.close()
    while True:
        try:
            argument = connection.recv()
        except EOFError:
            return
        try:
            answer: tuple[Result | None, RightcallError | None] = (function(argument), None)
        except RightcallError as error:
            answer = (None, error)
        connection.send(answer)
