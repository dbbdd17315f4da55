# SPDX-License-Identifier: MIT OR Apache-2.0
"""What tests must not take from whoever starts them: ignored signals, the user's cache, agents that
run already.

conftest.py imports this first.  What a test gives to `memoir` explicitly (harness.ENVIRONMENT) is
small and always the same; this is for what inherits the tests' own environment."""
import os
import signal

# nohup, cron and some CI systems ignore them, and what is ignored stays so in every child; what is
# blocked too.
ORDINARY = (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2,
            signal.SIGCHLD, signal.SIGALRM,
            signal.SIGXFSZ)


def restore_signals():
    for number in ORDINARY:
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


# What is built once on a machine may stay in the user's cache; what memoir keeps of recordings goes
# elsewhere.
os.environ.setdefault("MEMOIR_TESTS_CACHE", os.environ.get("XDG_CACHE_HOME")
                      or os.path.expanduser("~/.cache"))
os.environ["XDG_CACHE_HOME"] = os.path.join(
    os.path.abspath(os.environ.get("MEMOIR_BUILD", "build")), "test-cache")
# No agent but the test's own.
os.environ["MEMOIR_AGENT_FOLDER"] = "/proc/nonexistent"
