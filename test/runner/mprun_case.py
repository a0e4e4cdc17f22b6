# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Mooncake Comm Authors
"""Case files of mprun: reading, expanding into variants, and what a variant needs to run.

A case is a list of key=value words (shell quoting, # comments, any number per line). np, nodes
and launcher may be comma lists: every combination is one variant.
"""
import ctypes
import itertools
import os
import re
import shlex
import shutil
import socket

# key: (default, may repeat)
KEYS = {
    "prog": (None, False),
    "args": ("", False),
    "np": ("1", False),
    "nodes": ("1", False),
    "launcher": ("tcp", False),
    "timeout": ("30", False),
    "env": ([], True),
    "needs": ([], True),
    "match": ([], True),
    "exit": ("0", False),
    "dies": ("", False),
    "kill_all": ("0", False),
    "hosts": ("", False),
    "nics": ("1", False),
    "shm": ("", False),
    "cma": ("yes", False),
    "cpus": ("", False),
    "uids": ("", False),
}
LAUNCHERS = ("tcp", "mpirun", "prterun", "srun", "srun-pmi2", "hydra", "torchrun",
             "torch-env", "singleton")
PACKAGES = ("pmix", "ucx", "numa", "verbs", "liburing", "xxhash", "sodium", "zlib")
NEED_LAUNCHER = {"mpirun": "pmix", "prterun": "pmix", "srun": "pmix"}


class CaseError(Exception):
    pass


class Variant:
    """One run of a case. The attributes are the keys, in their final types."""

    def __init__(self, case, path, np, nodes, launcher, shm):
        self.path = path
        self.np = np
        self.nodes = nodes
        self.launcher = launcher
        self.prog = find_program(case["prog"])
        self.args = [with_folders(arg) for arg in shlex.split(case["args"])]
        self.env = [with_folders(pair) for pair in case["env"]]
        self.needs = [need for words in case["needs"] for need in words.split(",") if need]
        self.match = case["match"]
        self.exit = int(case["exit"])
        self.dies = {int(rank) for rank in case["dies"].split(",") if rank}
        self.kill_all = int(case["kill_all"])
        self.hosts = int(case["hosts"] or 0)
        self.nics = int(case["nics"])
        self.shm = shm
        self.cma = case["cma"] == "yes"
        self.cpus = {int(cpu) for cpu in case["cpus"].split(",") if cpu}
        self.uids = dict(map(int, pair.split(":")) for pair in case["uids"].split(",") if pair)
        self.timeout = float(case["timeout"]) * time_scale()

    def name(self):
        base = os.path.splitext(os.path.basename(self.path))[0]
        text = "%s np=%d %s" % (base, self.np, self.launcher)
        if self.nodes > 1:
            text += " nodes=%d" % self.nodes
        if self.hosts:
            text += " hosts=%d" % self.hosts
        if self.shm:
            text += " shm=" + self.shm
        return text

    def key(self):
        """What to give mprun to run this variant alone; args may follow."""
        return "%s np=%d nodes=%d launcher=%s" % (self.path, self.np, self.nodes, self.launcher)

    def node_of(self, rank):
        return rank * self.nodes // self.np

    def host_of(self, rank):
        return rank * self.hosts // self.np


def time_scale():
    """Sanitizers slow everything; MCOMM_TEST_TIME_SCALE is for slow machines."""
    scale = float(os.environ.get("MCOMM_TEST_TIME_SCALE", "1"))
    return scale * (5 if os.environ.get("MCOMM_TEST_SANITIZE", "no") != "no" else 1)


def build_dir():
    return os.environ.get("MCOMM_TEST_BUILDDIR", os.getcwd())


def source_dir():
    here = os.path.dirname(os.path.abspath(__file__))
    return os.environ.get("MCOMM_TEST_SRCDIR", os.path.dirname(os.path.dirname(here)))


def with_folders(text):
    return text.replace("{src}", source_dir()).replace("{build}", build_dir())


def find_program(name):
    """The real file: not libtool's wrapper script, which would relink at its first run."""
    folder, base = os.path.split(name)
    for candidate in (os.path.join(build_dir(), folder, ".libs", base),
                      os.path.join(build_dir(), name), os.path.join(source_dir(), name)):
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    found = shutil.which(name)
    if found is None:
        raise CaseError("program not found or not built: %s" % name)
    return found


def read_case(path, overrides):
    case = {key: (list(default) if many else default) for key, (default, many) in KEYS.items()}
    with open(path, encoding="utf-8") as file:
        words = shlex.split(file.read(), comments=True)
    for word in words + overrides:
        key, equals, value = word.partition("=")
        if not equals or key not in KEYS:
            raise CaseError("not a known key=value: %s" % word)
        if KEYS[key][1]:
            case[key].append(value)
        else:
            case[key] = value
    if case["prog"] is None:
        raise CaseError("prog= is missing")
    return case


def read_variants(path, overrides):
    try:
        case = read_case(path, overrides)
        nps = [int(text) for text in case["np"].split(",")]
        nodes = [int(text) for text in case["nodes"].split(",")]
        launchers = case["launcher"].split(",")
        for launcher in launchers:
            if launcher not in LAUNCHERS:
                raise CaseError("launcher=%s: known are %s" % (launcher, " ".join(LAUNCHERS)))
        variants = [Variant(case, path, np, num, launcher, shm)
                    for launcher, num, np, shm in itertools.product(launchers, nodes, nps,
                                                                    case["shm"].split(","))
                    if num <= np and (launcher != "singleton" or np == 1)]
    except (OSError, ValueError) as err:
        raise CaseError(str(err)) from err
    if not variants:
        raise CaseError("no variant left: more nodes than ranks, or a singleton with np > 1")
    return variants


# ---- needs --------------------------------------------------------------------------------------

def config_has(name):
    """What configure found; None if there is no config.h to ask."""
    try:
        with open(os.path.join(build_dir(), "config.h"), encoding="utf-8") as file:
            return re.search(r"^#define HAVE_%s 1$" % name, file.read(), re.M) is not None
    except OSError:
        return None


def cma_works():
    class Iov(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("nbytes", ctypes.c_size_t)]

    word = ctypes.create_string_buffer(b"mcomm")
    copy = ctypes.create_string_buffer(8)
    there = Iov(ctypes.addressof(word), 5)
    here = Iov(ctypes.addressof(copy), 5)
    pid = os.fork()  # a sibling, as ranks are to each other
    if pid == 0:
        libc = ctypes.CDLL(None)
        num = libc.process_vm_readv(os.getppid(), ctypes.byref(here), ctypes.c_ulong(1),
                                    ctypes.byref(there), ctypes.c_ulong(1), ctypes.c_ulong(0))
        os._exit(0 if num == 5 else 1)
    return os.waitpid(pid, 0)[1] == 0


def ipv6_works():
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as sock:
            sock.bind(("::1", 0))
        return True
    except OSError:
        return False


def missing_need(variant):
    """The reason why this variant cannot run here, or None."""
    needs = list(variant.needs)
    if variant.launcher in NEED_LAUNCHER:
        needs.append(NEED_LAUNCHER[variant.launcher])
    if variant.hosts or variant.shm or variant.uids:
        needs.append("root")
    if variant.hosts:
        needs.append("cmd:ip")
    for need in needs:
        kind, _, what = need.partition(":")
        if kind == "root":
            reason = os.geteuid() != 0 and "needs root"
        elif kind == "cma":
            reason = not cma_works() and "process_vm_readv is not permitted here"
        elif kind == "ipv6":
            reason = not ipv6_works() and "no IPv6 on the loopback interface"
        elif kind == "cpus":
            reason = len(os.sched_getaffinity(0)) < int(what) and "needs %s CPUs" % what
        elif kind == "cmd":
            reason = shutil.which(what) is None and "needs the program %s" % what
        elif kind == "nosan":
            reason = (os.environ.get("MCOMM_TEST_SANITIZE", "no") != "no" and
                      "not run under a sanitizer")
        elif kind == "long":
            reason = (not os.environ.get("MCOMM_TEST_LONG") and
                      "takes minutes: MCOMM_TEST_LONG=1 runs it")
        elif need in PACKAGES:
            reason = (config_has(need.upper()) is False and
                      "built without %s" % need.upper())
        else:
            raise CaseError("needs=%s: not known" % need)
        if reason:
            return reason
    return None
