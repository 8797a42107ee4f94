"""The daemon: the one process of a lab that starts all others and runs the kubelet.

All other processes are its children and are killed by the kernel when it ends, however it ends. It ends by SIGTERM,
with its owner, or when a component of the control plane ends.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import AsyncExitStack
from pathlib import Path

from tests.lab.addresses import Range
from tests.lab.assembly import Assembly
from tests.lab.control_plane.components import PORTS
from tests.lab.eventlog import EventLog
from tests.lab.kubelet.limits import remove_groups
from tests.lab.plan import LabPlan
from tests.lab.processes import Ledger, ProcessRecord, is_alive, kill_left_over, record_of
from tests.lab.supervisor import Supervisor

OWNER_CHECK = 0.5


async def _owner_lives(owner: ProcessRecord) -> str:
    while is_alive(owner):
        await asyncio.sleep(OWNER_CHECK)
    return "its process is gone"


async def keep(directory: Path) -> str:
    """Start a lab, wait for a reason to end it, end it; give the reason."""
    plan = LabPlan.read(directory)
    ledger = Ledger(directory / "processes.jsonl")
    ledger.add(record_of("daemon", os.getpid()))
    log = EventLog(directory / "events.jsonl")
    supervisor = Supervisor()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, supervisor.stop, number.name)
    if plan.owner:
        supervisor.watch_over(_owner_lives(plan.owner), "the lab's owner")
    claimed = Range.claim(PORTS)
    try:
        log.write("lab-starting", name=plan.name, network=claimed.network)
        async with AsyncExitStack() as stack:
            assembly = Assembly(directory, plan, claimed, ledger, log, supervisor)
            await _run(assembly, stack, supervisor)
    finally:
        for stray in kill_left_over(directory, ledger.records()):
            log.write("stray-killed", process=stray.pid)
        for group in remove_groups(directory):
            log.write("group-left", group=str(group))
        claimed.release()
        log.write("lab-ended", reason=supervisor.reason)
    return supervisor.reason


async def _run(assembly: Assembly, stack: AsyncExitStack, supervisor: Supervisor) -> None:
    start = asyncio.create_task(assembly.start(stack))
    stop = asyncio.create_task(supervisor.stopping.wait())
    try:
        await asyncio.wait({start, stop}, return_when=asyncio.FIRST_COMPLETED)
        if not stop.done():
            start.result()
            await stop
    finally:
        start.cancel()
        await assembly.end()
        await supervisor.end()


def main() -> int:
    reason = asyncio.run(keep(Path(sys.argv[1])))
    ordered = reason in (signal.SIGTERM.name, signal.SIGINT.name)
    if not ordered:
        print(f"the lab ended because {reason}", file=sys.stderr)
    return 0 if ordered else 1


if __name__ == "__main__":
    sys.exit(main())
