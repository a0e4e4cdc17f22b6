# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Mooncake Comm Authors
"""Surroundings that a case asks for: hosts (network namespaces), a small /dev/shm, no single copy,
few CPUs, other users. The namespaces have no name: they live as long as a holder process does, so
nothing stays behind even if the runner is killed.
"""
import ctypes
import os
import platform
import signal
import struct
import subprocess
import time

import mprun_sweep

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS = 0x00020000
CLONE_NEWNET = 0x40000000
MS_REC_PRIVATE = (1 << 14) | (1 << 18)
PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38


def check(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), "%s: %s" % (what, os.strerror(ctypes.get_errno())))


def start_holder(flags, setup=None):
    """A child in new namespaces that waits to be killed; returns its pid once it is set up."""
    ready_r, ready_w = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            mprun_sweep.die_with_parent()
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            check(LIBC.unshare(flags), "unshare")
            if setup is not None:
                setup()
            os.write(ready_w, b"1")
            os.close(ready_w)
            while True:
                signal.pause()
        finally:
            os._exit(1)
    os.close(ready_w)
    ok = os.read(ready_r, 1)
    os.close(ready_r)
    if ok != b"1":
        os.waitpid(pid, 0)
        raise OSError("a namespace could not be made")
    return pid


def mount_shm(size):
    check(LIBC.mount(b"none", b"/", None, MS_REC_PRIVATE, None), "mount private")
    check(LIBC.mount(b"tmpfs", b"/dev/shm", b"tmpfs", 0, b"size=%s,mode=1777" % size.encode()),
          "mount /dev/shm")


def enter(pid, kind, flag):
    fd = os.open("/proc/%d/ns/%s" % (pid, kind), os.O_RDONLY | os.O_CLOEXEC)
    check(LIBC.setns(fd, flag), "setns")
    os.close(fd)


def ip(*words, inside=None):
    prefix = ["nsenter", "-t", str(inside), "-n"] if inside else []
    subprocess.run(prefix + ["ip"] + list(words), check=True, stdout=subprocess.DEVNULL)


def wait_links_up(pid):
    """The kernel drops packets until it has noticed the carrier."""
    for _ in range(300):
        links = subprocess.run(["nsenter", "-t", str(pid), "-n", "ip", "-br", "link"], check=True,
                               stdout=subprocess.PIPE, text=True).stdout.split("\n")
        states = [line.split()[1] for line in links if line.startswith("eth")]
        if all(state == "UP" for state in states):
            return
        time.sleep(0.01)
    raise OSError("links stay down: %s" % links)


def forbid_cma():
    """seccomp: process_vm_readv and process_vm_writev fail with EPERM, all else is allowed."""
    numbers = {"x86_64": (310, 311), "aarch64": (270, 271)}.get(platform.machine())
    if numbers is None:
        raise OSError("cma=no is not known on %s" % platform.machine())
    program = [(0x20, 0, 0, 0)]  # load the call's number
    program += [(0x15, 1, 0, numbers[0]), (0x15, 0, 1, numbers[1])]
    program += [(0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *op) for op in program))
    fprog = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program),
                                                    ctypes.addressof(code)))
    check(LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    check(LIBC.prctl(PR_SET_SECCOMP, 2, fprog, 0, 0), "seccomp")


class Sandbox:
    """Made before the ranks start; enter_rank() is called in each rank before exec."""

    def __init__(self, variant):
        self.cma = variant.cma
        self.cpus = variant.cpus
        self.uids = variant.uids
        self.shm_holder = None
        self.host_holders = []
        self.bridge_holder = None
        try:
            if variant.shm:
                self.shm_holder = start_holder(CLONE_NEWNS, lambda: mount_shm(variant.shm))
            if variant.hosts:
                self.make_hosts(variant)
        except BaseException:
            self.close()
            raise

    def holders(self):
        return [pid for pid in [self.shm_holder, self.bridge_holder] + self.host_holders if pid]

    def make_hosts(self, variant):
        """Host i has NIC j with 10.77.j.(i+1) and fd77:j::(i+1), on one bridge per NIC."""
        self.bridge_holder = start_holder(CLONE_NEWNET)
        bridge = self.bridge_holder
        for nic in range(variant.nics):
            ip("link", "add", "br%d" % nic, "type", "bridge", inside=bridge)
            ip("link", "set", "br%d" % nic, "up", inside=bridge)
        for host in range(variant.hosts):
            pid = start_holder(CLONE_NEWNET)
            self.host_holders.append(pid)
            ip("link", "set", "lo", "up", inside=pid)
            for nic in range(variant.nics):
                port = "h%dn%d" % (host, nic)
                ip("link", "add", "eth%d" % nic, "type", "veth", "peer", "name", port,
                   inside=pid)
                ip("link", "set", port, "netns", str(bridge), inside=pid)
                ip("link", "set", port, "master", "br%d" % nic, "up", inside=bridge)
                ip("addr", "add", "10.77.%d.%d/24" % (nic, host + 1), "dev", "eth%d" % nic,
                   inside=pid)
                ip("addr", "add", "fd77:%x::%x/64" % (nic, host + 1), "dev", "eth%d" % nic,
                   "nodad", inside=pid)
                ip("link", "set", "eth%d" % nic, "up", inside=pid)
            wait_links_up(pid)

    def state(self):
        return {"cma": self.cma, "cpus": sorted(self.cpus), "uids": self.uids,
                "shm_holder": self.shm_holder, "host_holders": self.host_holders}

    def close(self):
        for pid in self.holders():
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        self.shm_holder = self.bridge_holder = None
        self.host_holders = []


def enter_rank(state, rank, host):
    """In the rank's process, before exec; state is Sandbox.state()."""
    if state["host_holders"]:
        enter(state["host_holders"][host], "net", CLONE_NEWNET)
    if state["shm_holder"]:
        enter(state["shm_holder"], "mnt", CLONE_NEWNS)
    if state["cpus"]:
        os.sched_setaffinity(0, state["cpus"])
    uid = state["uids"].get(rank, state["uids"].get(str(rank)))
    if uid is not None:
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
    if not state["cma"]:
        forbid_cma()
