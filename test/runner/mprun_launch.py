# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Mooncake Comm Authors
"""Starting the ranks of one variant, waiting for them with a time limit, judging the outcome.

The tcp launcher is this file: one child per rank, rendezvous by environment. The others start
`mprun --rank` once per rank, which learns its rank from the launcher's environment, sets the
surroundings, sends output to a file of its own and becomes the program.
"""
import json
import os
import random
import re
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import mprun_case
import mprun_sandbox
import mprun_sweep

SKIPPED = 77
OWN_LAUNCHERS = ("tcp", "torch-env", "singleton")  # the ranks are children of this file's
RANK_VARS = ("PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "RANK")
FOREIGN = re.compile(r"^(PMIX|PMI|OMPI|PRTE|SLURM|HYDI|HYDRA|MPIR|TORCHELASTIC)_|"
                     r"^MCOMM_(?!TEST_)|"
                     r"^((LOCAL_)?RANK|(LOCAL_)?WORLD_SIZE|MASTER_ADDR|MASTER_PORT)$")
MAX_LINES = 200


def first_program(*names):
    for name in names:
        if name and shutil.which(name):
            return shutil.which(name)
    return None


def launcher_program(launcher):
    """Path of the launcher, or None if it is not on this machine."""
    if launcher == "mpirun":
        return first_program("mpirun.openmpi")
    if launcher == "prterun":
        return first_program(os.environ.get("MCOMM_TEST_PRTERUN"), "prterun",
                             os.path.join(mprun_case.build_dir(), "venv", "bin", "prterun"))
    if launcher == "hydra":
        return first_program("mpiexec.hydra")
    if launcher in ("srun", "srun-pmi2"):
        return first_program("srun")
    if launcher == "torchrun":
        return first_program(os.environ.get("TORCHRUN"), "torchrun")
    return sys.executable


def missing_launcher(variant):
    launcher = variant.launcher
    if launcher_program(launcher) is None:
        return "launcher %s is not installed" % launcher
    if launcher in ("srun", "srun-pmi2") and not os.environ.get("MCOMM_TEST_SLURM_CONF"):
        return "no Slurm is up (test/runner/slurm-up starts a private one)"
    if variant.hosts and launcher != "tcp":
        return "hosts= works with the tcp launcher only"
    return None


def launcher_command(variant):
    """With dies=, the launcher is told to leave the survivors alone."""
    launcher, np, dies = variant.launcher, str(variant.np), bool(variant.dies)
    program = launcher_program(launcher)
    if launcher == "mpirun":
        return [program, "--oversubscribe", "--bind-to", "none", "-np", np] + \
            ["--enable-recovery"] * dies
    if launcher == "prterun":
        return [program, "--map-by", ":OVERSUBSCRIBE", "--bind-to", "none", "-n", np] + \
            ["--runtime-options", "notifyerrors,recoverable"] * dies
    if launcher == "hydra":
        return [program, "-n", np] + ["-disable-auto-cleanup"] * dies
    if launcher == "torchrun":
        return [program, "--standalone", "--nproc-per-node", np, "--no-python"]
    return [program, "--mpi=" + ("pmi2" if launcher == "srun-pmi2" else "pmix"), "--overcommit",
            "--mem=0", "--kill-on-bad-exit=%d" % (not dies), "-n", np]


def launcher_environment(launcher):
    if launcher in ("mpirun", "prterun"):
        return {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                "PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    if launcher in ("srun", "srun-pmi2"):
        return {"SLURM_CONF": os.environ["MCOMM_TEST_SLURM_CONF"]}
    if launcher == "torchrun":
        return {"MCOMM_RENDEZVOUS": "torchrun", "MCOMM_SECRET": secrets.token_hex(32)}
    return {}


def torch_environment(rank, np, port):
    """What torchrun sets for each process of one node."""
    return {"RANK": str(rank), "WORLD_SIZE": str(np), "LOCAL_RANK": str(rank),
            "LOCAL_WORLD_SIZE": str(np), "GROUP_RANK": "0", "ROLE_NAME": "default",
            "MASTER_ADDR": "localhost", "MASTER_PORT": str(port - 1),
            "TORCHELASTIC_RUN_ID": "none", "TORCHELASTIC_RESTART_COUNT": "0",
            "TORCHELASTIC_MAX_RESTARTS": "0", "TORCHELASTIC_USE_AGENT_STORE": "True"}


def free_port():
    """A port that is free now and outside the range that the kernel hands out by itself."""
    for _ in range(200):
        port = random.SystemRandom().randrange(10000, 30000)
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
            try:
                sock.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass
    raise OSError("no free port")


def describe_exit(status):
    if status < 0:
        return "killed by %s" % signal.Signals(-status).name
    return "exit status %d" % status


class Run:
    """One run of a variant: execute(), output(), clean_up()."""

    def __init__(self, variant, kill_after=None):
        self.variant = variant
        self.kill_after = kill_after  # seconds until all ranks are killed; None: never
        self.run_id = secrets.token_hex(8)
        self.before = mprun_sweep.snapshot()
        self.folder = tempfile.mkdtemp(prefix="mprun-")
        os.chmod(self.folder, 0o755)
        self.tmpdir = os.path.join(self.folder, "tmp")
        os.mkdir(self.tmpdir)
        os.chmod(self.tmpdir, 0o1777)
        self.children = []  # (label, Popen)
        self.sandbox = None
        self.seconds = 0.0
        self.notes = []

    # ---- starting -------------------------------------------------------------------------------

    def environment(self):
        env = {key: value for key, value in os.environ.items() if not FOREIGN.match(key)}
        libs = os.path.join(mprun_case.build_dir(), ".libs")
        if os.path.isdir(libs):
            env["LD_LIBRARY_PATH"] = libs + (":" + env["LD_LIBRARY_PATH"]
                                             if env.get("LD_LIBRARY_PATH") else "")
        env["MCOMM_TEST_RUN"] = self.run_id
        env["MCOMM_TEST_NP"] = str(self.variant.np)
        env["MCOMM_TEST_VARIANT"] = self.variant.key()
        for pair in self.variant.env:
            key, _, value = pair.partition("=")
            env[key] = value
        return env

    def rank_file(self, rank):
        return os.path.join(self.folder, "rank.%d" % rank)

    def start_child(self, label, command, env, path, prepare=None):
        def before_exec():
            mprun_sweep.die_with_parent()
            if prepare is not None:
                prepare()

        with open(path, "ab") as out:
            child = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=out,
                                     stderr=subprocess.STDOUT, start_new_session=True,
                                     preexec_fn=before_exec)
        self.children.append((label, child))

    def start_tcp(self, env):
        variant = self.variant
        address = "10.77.0.1" if variant.hosts else "127.0.0.1"
        port, secret = free_port(), secrets.token_hex(32)
        state = self.sandbox.state()
        for rank in range(variant.np):
            mine = dict(env, TMPDIR=self.tmpdir)
            if variant.launcher == "tcp":
                mine.setdefault("MCOMM_RENDEZVOUS", "%s:%d" % (address, port))
                mine.update(MCOMM_RANK=str(rank), MCOMM_SIZE=str(variant.np), MCOMM_SECRET=secret)
            elif variant.launcher == "torch-env":
                mine.setdefault("MCOMM_RENDEZVOUS", "torchrun")
                mine.update(torch_environment(rank, variant.np, port), MCOMM_SECRET=secret)
            if variant.nodes > 1:
                mine["MCOMM_NODE"] = "node%d" % variant.node_of(rank)
            elif variant.hosts > 1:
                mine["MCOMM_NODE"] = "host%d" % variant.host_of(rank)
            self.start_child(
                rank, [variant.prog] + variant.args, mine, self.rank_file(rank),
                lambda rank=rank: mprun_sandbox.enter_rank(state, rank, variant.host_of(rank)))

    def start_launcher(self, env):
        variant = self.variant
        state = {"folder": self.folder, "tmpdir": self.tmpdir, "nodes": variant.nodes,
                 "np": variant.np, "dies": sorted(variant.dies),
                 "sandbox": self.sandbox.state()}
        path = os.path.join(self.folder, "run.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(state, file)
        runner = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mprun")
        command = launcher_command(variant)
        command += [sys.executable, runner, "--rank", path, variant.prog] + variant.args
        env.update(launcher_environment(variant.launcher))
        self.start_child("launcher", command, env, os.path.join(self.folder, "launcher"))

    # ---- waiting --------------------------------------------------------------------------------

    def failed(self, label, status):
        if label in self.variant.dies:
            return False
        if label == "launcher" and self.variant.dies:
            return False  # launchers report the death that was asked for; see launched_ranks()
        return status not in (self.variant.exit, SKIPPED)

    def wait(self):
        """Until all children ended; False if the time ran out."""
        end = time.monotonic() + self.variant.timeout
        waiting = {os.pidfd_open(child.pid): (label, child) for label, child in self.children}
        in_time = True
        while waiting:
            left = end - time.monotonic()
            if left <= 0:
                in_time = False
                break
            ready, _, _ = select.select(list(waiting), [], [], left)
            for pidfd in ready:
                label, child = waiting.pop(pidfd)
                os.close(pidfd)
                if self.failed(label, child.wait()):
                    self.notes.append("%s: %s" % (self.title(label),
                                                  describe_exit(child.returncode)))
                    end = min(end, time.monotonic() + mprun_sweep.GRACE_S)
        for pidfd in waiting:
            os.close(pidfd)
        if in_time or self.notes:
            return True
        self.notes.append("time limit of %g s" % self.variant.timeout)
        self.show_stacks()
        return False

    @staticmethod
    def title(label):
        return "launcher" if label == "launcher" else "rank %d" % label

    def show_stacks(self):
        """Where the ranks hang, for the log: by gdb if there is one."""
        prog = os.path.realpath(self.variant.prog)
        for pid in sorted(mprun_sweep.members(self.run_id, set(self.sandbox.holders())))[:8]:
            try:
                if os.path.realpath("/proc/%d/exe" % pid) != prog:
                    continue
                with open("/proc/%d/wchan" % pid, encoding="utf-8") as file:
                    self.notes.append("pid %d waits in %s" % (pid, file.read()))
            except OSError:
                continue
            if shutil.which("gdb") is None:
                continue
            try:
                trace = subprocess.run(["gdb", "-p", str(pid), "-batch", "-nx", "-ex",
                                        "thread apply all bt 12"], timeout=20, text=True,
                                       stdin=subprocess.DEVNULL, capture_output=True, check=False)
                self.notes += [line for line in trace.stdout.splitlines()
                               if line.startswith(("#", "Thread"))]
            except subprocess.TimeoutExpired:
                pass

    def end_launcher(self):
        """A launcher still running gets a chance to take its daemons and job down."""
        for label, child in self.children:
            if label == "launcher" and child.poll() is None:
                child.terminate()
                try:
                    child.wait(3)
                except subprocess.TimeoutExpired:
                    pass

    # ---- judging --------------------------------------------------------------------------------

    def launched_ranks(self):
        """With dies= under a launcher, each rank's parent noted the exit status."""
        for rank in range(self.variant.np):
            if rank in self.variant.dies:
                continue
            text = mprun_sweep.read_bytes(os.path.join(self.folder, "status.%d" % rank))
            status = int(text) if text else None
            if status != self.variant.exit:
                self.notes.append("rank %d: %s" % (rank, "never ended by itself" if status is None
                                                   else describe_exit(status)))

    def judge(self):
        skipped = any(child.returncode == SKIPPED for _, child in self.children)
        if skipped and not self.notes:
            lines = self.output(limit=None).splitlines()
            reasons = [line for line in lines if "skip" in line.lower()] or lines
            return SKIPPED, (reasons[0] if reasons else "")
        if self.variant.dies and self.variant.launcher not in OWN_LAUNCHERS:
            self.launched_ranks()
        text = self.output(limit=None)
        for pattern in self.variant.match:
            if not re.search(pattern, text, re.M):
                self.notes.append("no output matches %s" % pattern)
        return (1 if self.notes else 0), "\n".join(self.notes)

    def kill_ranks(self):
        """SIGKILL to all ranks at once, at the moment that the case asks for."""
        waiting = [os.pidfd_open(child.pid) for _, child in self.children]
        select.select(waiting[:1], [], [], self.kill_after)
        mprun_sweep.kill_all(self.run_id, set(self.sandbox.holders()))
        for pidfd in waiting:
            os.close(pidfd)

    def execute(self):
        begin = time.monotonic()
        self.sandbox = mprun_sandbox.Sandbox(self.variant)
        env = self.environment()
        if self.variant.launcher in OWN_LAUNCHERS:
            self.start_tcp(env)
        else:
            self.start_launcher(env)
        if self.kill_after is not None:
            self.kill_ranks()
            return 0, ""
        ended = self.wait()
        self.seconds = time.monotonic() - begin
        if ended and not self.notes:
            left = mprun_sweep.wait_gone(self.run_id, set(self.sandbox.holders()),
                                         mprun_sweep.GRACE_S)
            self.notes += ["left behind: " + mprun_sweep.describe(pid) for pid in left]
        return self.judge()

    def output(self, limit=MAX_LINES):
        parts = []
        for name, prefix in [("launcher", "launcher")] + \
                [("rank.%d" % rank, str(rank)) for rank in range(self.variant.np)]:
            raw = mprun_sweep.read_bytes(os.path.join(self.folder, name))
            lines = raw.decode(errors="replace").splitlines()
            if limit and len(lines) > limit:
                cut = len(lines) - limit
                lines = lines[:limit // 2] + ["... %d lines ..." % cut] + lines[-limit // 2:]
            parts += ["[%s] %s" % (prefix, line) if limit else line for line in lines]
        return "\n".join(parts)

    def clean_up(self):
        """End everything; returns what was left behind besides processes."""
        self.end_launcher()
        holders = set(self.sandbox.holders()) if self.sandbox else set()
        mprun_sweep.kill_all(self.run_id, holders)
        for _, child in self.children:
            child.wait()
        if self.sandbox:
            self.sandbox.close()
        left = mprun_sweep.left_behind(self.before, self.tmpdir)
        shutil.rmtree(self.folder, ignore_errors=True)
        return left


# ---- in a rank ----------------------------------------------------------------------------------

def stay_as_parent(folder, rank, dies):
    """Fork: the child returns and becomes the program, the parent notes how it ended.

    hydra would end the survivors now and then although it is told not to: it does not learn of a
    death that was asked for.
    """
    pid = os.fork()
    if pid == 0:
        mprun_sweep.die_with_parent()
        return
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, lambda num, _: os.kill(pid, num))
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with open(os.path.join(folder, "status.%d" % rank), "w", encoding="utf-8") as file:
        file.write(str(status))
    if dies and "PMI_FD" in os.environ:
        os._exit(0)
    os._exit(status if status >= 0 else 128 - status)


def exec_rank(path, command):
    with open(path, encoding="utf-8") as file:
        state = json.load(file)
    rank = next((int(os.environ[var]) for var in RANK_VARS if var in os.environ), None)
    if rank is None:
        sys.exit("mprun: the launcher set none of %s" % " ".join(RANK_VARS))
    fd = os.open(os.path.join(state["folder"], "rank.%d" % rank),
                 os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(fd, 1)
    os.dup2(fd, 2)
    os.environ["TMPDIR"] = state["tmpdir"]
    if state["nodes"] > 1:
        os.environ["MCOMM_NODE"] = "node%d" % (rank * state["nodes"] // state["np"])
    if "PMI_FD" in os.environ:
        # Hydra tells the survivors of a death by this signal, whose default is to end the process.
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    if state["dies"]:
        stay_as_parent(state["folder"], rank, rank in state["dies"])
    mprun_sandbox.enter_rank(state["sandbox"], rank, 0)
    os.execv(command[0], command)
