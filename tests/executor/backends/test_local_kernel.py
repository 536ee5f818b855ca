"""Kernel lines: read from the end, in their window, and only about workers of ours."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from muster.executor.backends.local.kernel import (
    MOST_LINES,
    PIECE,
    about,
    file_lines,
    out_of_memory,
    process_of,
    read_lines,
    within,
)
from muster.executor.backends.local.signs import GpuUse, read_gpu_use

AT = datetime(2031, 5, 1, 8, 0, 0, tzinfo=UTC)

DMESG = """\
2031-05-01T10:00:00,250000+02:00 NVRM: Xid (PCI:0000:3b:00): 79, pid=7, GPU has fallen off the bus.
2031-05-01T10:00:01,000000+02:00 python[123]: segfault at 0 ip 0 sp 0 error 4 in libc.so.6
 and what belongs to it
2031-05-01 08:00:02+0000 Memory cgroup out of memory: Killed process 456 (python) total-vm:1kB
"""


def test_lines_have_their_times_and_what_has_none_that_of_the_line_before() -> None:
    lines = read_lines(DMESG.encode())
    seconds = [(line.at - AT).total_seconds() for line in lines if line.at]
    assert seconds == [0.25, 1.0, 1.0, 2.0]
    assert lines[0].text.startswith("NVRM: Xid")
    assert lines[2].text == " and what belongs to it"
    assert read_lines(b"no time at all\n\n")[0].at is None


def test_a_window_has_its_ends_and_what_nobody_knows_the_time_of() -> None:
    lines = [*read_lines(b"no time"), *read_lines(DMESG.encode())]
    found = list(within(lines, AT + timedelta(seconds=1), AT + timedelta(seconds=2)))
    assert [line.at for line in found] == [
        None,
        *[AT + timedelta(seconds=each) for each in (1, 1, 2)],
    ]


def test_a_line_about_a_process_that_is_no_worker_is_left_out() -> None:
    lines = read_lines(DMESG.encode())
    assert [process_of(line.text) for line in lines] == [None, 123, None, 456]
    assert [line.text[:6] for line in about(lines, {456})] == ["NVRM: ", " and w", "Memory"]


def test_only_the_kernels_own_line_proves_that_memory_was_short() -> None:
    lines = read_lines(DMESG.encode())
    assert (out_of_memory(lines, 456) or "").startswith("Memory cgroup out of memory")
    assert out_of_memory(lines, 123) is None
    assert out_of_memory(lines, 45) is None
    assert out_of_memory([], 456) is None


def test_of_a_long_file_only_its_end_is_read(tmp_path: Path) -> None:
    path = tmp_path / "kernel.log"
    line = b"2031-05-01T08:00:00,000000+00:00 " + b"x" * 100 + b"\n"
    path.write_bytes(line * (3 * PIECE // len(line)) + b"last\n")
    found = file_lines(path)
    assert found[-1].text == "last"
    assert MOST_LINES < len(found) <= 4 * MOST_LINES
    assert file_lines(tmp_path / "none") == []


def test_gpus_that_cannot_say_are_left_out() -> None:
    text = "0, GPU-aa, 37, 70.5\n1, GPU-bb, [N/A], 30\n2, GPU-cc, 0, [N/A]\n\nfailed\n"
    assert read_gpu_use(text) == {
        "0": GpuUse(0.37, 70.5),
        "GPU-aa": GpuUse(0.37, 70.5),
        "2": GpuUse(0.0),
        "GPU-cc": GpuUse(0.0),
    }
