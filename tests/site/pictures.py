"""The pictures of docs/concepts.md: `python -m tests.site.pictures` draws them anew into docs/pictures."""

from __future__ import annotations

from pathlib import Path

from tests.site.drawing import Arrow, Box, drawn

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"


def upgrade() -> str:
    """From the plan to the finish, and on after a stop."""
    parts: list[Box | Arrow] = [
        Box(
            20, 40, 180, 100, "look", "Plan", ("looks, touches nothing,", "names all that stands", "in the way at once")
        ),
        Box(250, 40, 170, 100, "person", "Consent", ("yes, or the digest;", "then the lock,", "and planned again")),
        Box(
            470,
            40,
            190,
            100,
            "act",
            "Batch",
            ("waits for its own proof,", "takes its members down,", "follows them back"),
        ),
        Box(710, 40, 170, 100, "look", "Finish", ("proves the whole,", "puts back, gives the", "lock back, reports")),
        Box(250, 210, 170, 76, "stop", "Stopped", ("named with cause", "and remedy")),
        Box(470, 210, 190, 76, "act", "Put back", ("finished members", "stay finished")),
        Arrow(((200, 90), (248, 90))),
        Arrow(((420, 90), (468, 90))),
        Arrow(((660, 90), (708, 90)), "last one done", (685, 30)),
        Arrow(((530, 40), (530, 16), (600, 16), (600, 38)), "next batch", (470, 20)),
        Arrow(((565, 140), (565, 208)), "anything unexpected", (640, 178)),
        Arrow(((470, 248), (422, 248))),
        Arrow(((250, 248), (110, 248), (110, 142)), "fix the cause, run again", (112, 268)),
    ]
    return drawn(
        "Plan, consent, batches and finish; after a stop all is put back, and the next run goes on", 900, 306, parts
    )


def batch() -> str:
    """The steps of one batch."""
    parts: list[Box | Arrow] = [
        Box(20, 30, 190, 84, "look", "Gate before_batch", ("proven: the batch may go;", "green is not needed")),
        Box(250, 30, 180, 84, "act", "New image", ("and OnDelete, with the", "undo in one patch")),
        Box(470, 30, 180, 84, "act", "Hand over", ("if the elected manager", "is in the batch")),
        Box(690, 30, 190, 84, "act", "Restrict allocation", ("with the undo in the", "same request")),
        Box(690, 190, 190, 84, "look", "Prove again", ("on fresh state",)),
        Box(470, 190, 180, 84, "act", "Delete", ("exactly the pod that", "was seen, by its UID")),
        Box(250, 190, 180, 84, "look", "Joined", ("the cluster lists it", "on the new version")),
        Box(20, 190, 190, 84, "act", "Put back allocation", ("then the pod is Ready,", "and the next batch")),
        Arrow(((210, 72), (248, 72))),
        Arrow(((430, 72), (468, 72))),
        Arrow(((650, 72), (688, 72))),
        Arrow(((820, 114), (820, 188))),
        Arrow(
            ((750, 190), (750, 152), (115, 152), (115, 116)),
            "does not hold: allocation is put back, and nothing goes",
            (430, 145),
        ),
        Arrow(((690, 232), (652, 232))),
        Arrow(((470, 232), (432, 232))),
        Arrow(((250, 232), (212, 232))),
    ]
    return drawn("The steps of a batch, from its gate to the return of its members", 900, 294, parts)


def undo() -> str:
    """A change that carries its undo."""
    parts: list[Box | Arrow] = [
        Box(20, 80, 170, 84, "act", "Run", ("changes a setting", "for a while")),
        Box(
            330,
            60,
            240,
            124,
            "kept",
            "Cluster",
            ("the setting,", "and next to it the undo:", "what it was, what it was set to,", "and the run that did it"),
        ),
        Box(690, 20, 190, 64, "act", "The same run", ("at its finish",)),
        Box(690, 96, 190, 64, "act", "The next run", ("if that one was killed",)),
        Box(690, 172, 190, 64, "person", "settle", ("if no one goes on",)),
        Arrow(((190, 122), (328, 122)), "one request", (260, 112)),
        Arrow(((690, 52), (630, 52), (630, 100), (572, 100))),
        Arrow(((690, 128), (572, 128))),
        Arrow(((690, 204), (630, 204), (630, 156), (572, 156)), "puts back exactly", (630, 226)),
    ]
    return drawn("The cluster keeps the undo of each change, so anyone can put it back after a kill", 900, 256, parts)


PICTURES = {"upgrade.svg": upgrade, "batch.svg": batch, "undo.svg": undo}

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        (FOLDER / name).write_text(draw(), encoding="utf-8")
