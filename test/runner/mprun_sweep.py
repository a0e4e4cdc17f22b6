# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Mooncake Comm Authors
"""Nothing of a run may outlive it.

Processes are found in two ways: as descendants of this process (a subreaper, so orphans stay
ours) and by the mark MCOMM_TEST_RUN in their environment (ranks under a daemon, such as slurmd).
Tests run side by side, so a file counts as left behind only if nobody alive holds it. Abstract
sockets end with the processes that hold them; socket files would lie in the run's TMPDIR.
"""
import ctypes
import os
import re
import signal
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LIBC = ctypes.CDLL(None, use_errno=True)
GRACE_S = float(os.environ.get("MCOMM_TEST_GRACE_S", "5"))
MARK = "mcomm"  # every file and socket name of the library contains it


def become_subreaper():
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent():
    """For a child between fork and exec: no rank outlives the runner, even if that is killed -9."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def read_bytes(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def all_pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def parent_of(pid):
    stat = read_bytes("/proc/%d/stat" % pid)
    fields = stat[stat.rfind(b")") + 2:].split()
    return int(fields[1]) if len(fields) > 1 else 0


def is_zombie(pid):
    stat = read_bytes("/proc/%d/stat" % pid)
    return stat[stat.rfind(b")") + 2:][:1] in (b"Z", b"X", b"")


def descendants(root):
    parents = {pid: parent_of(pid) for pid in all_pids()}
    found = set()
    grown = True
    while grown:
        more = {pid for pid, parent in parents.items()
                if (parent == root or parent in found) and pid not in found}
        found |= more
        grown = bool(more)
    return found


def marked(run_id):
    mark = b"MCOMM_TEST_RUN=" + run_id.encode()
    return {pid for pid in all_pids()
            if mark in read_bytes("/proc/%d/environ" % pid).split(b"\0")}


def members(run_id, spare):
    """Live processes of the run; spare are helpers that the runner ends itself."""
    found = descendants(os.getpid()) | marked(run_id)
    return {pid for pid in found if pid not in spare and pid != os.getpid() and not is_zombie(pid)}


def describe(pid):
    words = read_bytes("/proc/%d/cmdline" % pid).split(b"\0")
    return "process %d: %s" % (pid, b" ".join(words).decode(errors="replace").strip())


def wait_gone(run_id, spare, seconds):
    """Wait until the run has no process any more; returns those that stay."""
    end = time.monotonic() + seconds
    while True:
        left = members(run_id, spare)
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.02)


def reap_orphans(spare):
    for pid in descendants(os.getpid()):
        if pid not in spare and is_zombie(pid):
            try:
                os.waitpid(pid, os.WNOHANG)
            except OSError:
                pass


def kill_all(run_id, spare):
    end = time.monotonic() + 10
    while time.monotonic() < end:
        left = members(run_id, spare)
        if not left:
            break
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        time.sleep(0.02)
    reap_orphans(spare)


# ---- files -------------------------------------------------------------------------------------

def shm_files():
    """Our files in /dev/shm, as (name, inode). Without root, no file of another user is ours."""
    user = os.geteuid()
    found = set()
    for entry in os.scandir("/dev/shm"):
        if MARK in entry.name:
            try:
                if user in (0, entry.stat(follow_symlinks=False).st_uid):
                    found.add((entry.name, entry.inode()))
            except OSError:
                pass
    return found


def held_inodes():
    """Inodes that some live process has open or mapped."""
    held = set()
    for pid in all_pids():
        folder = "/proc/%d/fd" % pid
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            try:
                if os.readlink(os.path.join(folder, name)).startswith("/dev/shm/"):
                    held.add(os.stat(os.path.join(folder, name)).st_ino)
            except OSError:
                pass
        for line in read_bytes("/proc/%d/maps" % pid).splitlines():
            if b" /dev/shm/" in line:
                held.add(int(line.split()[4]))
    return held


def snapshot():
    return shm_files()


def left_behind(before, tmpdir, seconds=GRACE_S):
    """What the run left, once its processes are gone. before is a snapshot()."""
    end = time.monotonic() + seconds
    while True:
        new = shm_files() - before
        held = held_inodes() if new else set()
        left = ["/dev/shm/%s" % name for name, inode in new if inode not in held]
        if not left or time.monotonic() > end:
            break
        time.sleep(0.05)
    for root, dirs, files in os.walk(tmpdir):
        left += [os.path.join(root, name) for name in dirs + files if re.search(MARK, name)]
    return sorted(left)
