# SPDX-License-Identifier: MIT OR Apache-2.0
"""Real shells that complete command lines of memoir: what each offers for a line, and what it makes
of the line when the key is pressed.  Each has memoir in its PATH, a folder to work in and a home
beside it."""
import os
import pty
import re
import select
import subprocess
import time

import harness

SCRIPTS = os.path.join(harness.ROOT, "docs", "completion")
TIMEOUT = 60


def home_of(folder):
    home = folder + "-home"
    os.makedirs(home, exist_ok=True)
    return home


class Typed:
    """A shell on a terminal of its own.  Whatever stands on the line is written to `line` by ^X^L,
    and `offered` gets what was offered, with a line END behind it."""

    def __init__(self, command, folder, scripts, path):
        home = home_of(folder)
        self.line, self.offered = os.path.join(home, "line"), os.path.join(home, "offered")
        pid, self.terminal = pty.fork()
        if not pid:
            os.chdir(folder)
            os.execvpe(command[0], command, dict(
                harness.ENVIRONMENT, PATH=f"{path}:{harness.ENVIRONMENT['PATH']}", TERM="xterm",
                ZDOTDIR=home, HOME=home, SCRIPTS=scripts, LINE=self.line, OFFERED=self.offered))
        self.pid = pid
        self.wait_for(self.line)

    def wait_for(self, path, end="END\n"):
        """What is written to the file, whose end says that it is whole."""
        limit = time.monotonic() + TIMEOUT
        seen = b""
        while time.monotonic() < limit:
            if select.select([self.terminal], [], [], 0.02)[0]:
                seen += os.read(self.terminal, 65536)
            if os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                if text.endswith(end):
                    os.remove(path)
                    return text[:-len(end)]
        raise AssertionError(f"the shell does not answer: {seen[-2000:]!r}")

    def keys(self, text):
        os.write(self.terminal, text.encode())

    def completed(self, line):
        """The line after the key."""
        self.keys(f"\x15{line}\t\x18\x0c")
        return self.wait_for(self.line).rstrip("\n")

    def close(self):
        os.close(self.terminal)
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)


class Bash(Typed):
    name = "bash"
    RC = r'''
. /usr/share/bash-completion/bash_completion
. "$SCRIPTS/bash-completion/completions/memoir"
say_line() { printf '%s\nEND\n' "$READLINE_LINE" >"$LINE"; }
bind -x '"\C-x\C-l": say_line'
bind 'set bell-style none'
bind 'set completion-query-items 0'
offers() { _memoir "$@"; printf '%s\n' "${COMPREPLY[@]}" END >"$OFFERED"; }
complete -F offers memoir
printf 'END\n' >"$LINE"
'''

    def __init__(self, folder, scripts, path):
        rc = os.path.join(home_of(folder), "rc")
        with open(rc, "w", encoding="utf-8") as file:
            file.write(self.RC)
        super().__init__(["bash", "--noprofile", "--rcfile", rc, "-i"], folder, scripts, path)

    def offers(self, line):
        self.keys(f"\x15{line}\t")
        return [word for word in self.wait_for(self.offered).splitlines() if word]


class Zsh(Typed):
    name = "zsh"
    RC = r'''
PS1='> '
fpath=("$SCRIPTS/zsh/site-functions" $fpath)
autoload -Uz compinit
compinit -u -D
setopt no_beep
say_line() { print -r -- "$BUFFER"$'\n'END >$LINE }
zle -N say_line
bindkey '^X^L' say_line
bindkey '^I' complete-word
# What compadd finds to fit, besides what it does.
compadd() {
	local -a fitting
	if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\ * ]]; then
		builtin compadd -A fitting "$@"
		(( $#fitting )) && print -rl -- $IPREFIX$^fitting >>$OFFERED.part
	fi
	builtin compadd "$@"
}
offers() {
	: >$OFFERED.part
	_main_complete
	compstate[insert]= compstate[list]=
	print -r -- "END $noted" >>$OFFERED.part
	command mv $OFFERED.part $OFFERED
}
# While it completes, zsh shows quotes otherwise than they were typed.
note_line() { noted=$BUFFER }
zle -N note_line
bindkey '^X^N' note_line
zle -C offers list-choices offers
bindkey '^X^O' offers
print END >$LINE
'''

    def __init__(self, folder, scripts, path):
        with open(os.path.join(home_of(folder), ".zshrc"), "w", encoding="utf-8") as file:
            file.write(self.RC)
        super().__init__(["zsh", "-d", "-i"], folder, scripts, path)

    def offers(self, line):
        self.keys(f"\x15{line}\x18\x0e\x18\x0f")
        found = self.wait_for(self.offered, f"END {line}\n")
        return [word.replace("\\ ", " ") for word in found.splitlines() if word]


class Fish:
    name = "fish"

    def __init__(self, folder, scripts, path):
        self.folder, self.path = folder, path
        self.script = os.path.join(scripts, "fish", "vendor_completions.d", "memoir.fish")

    def offers(self, line):
        done = subprocess.run(["fish", "-c", "source $argv[1]; complete -C $argv[2]",
                               self.script, line], capture_output=True, text=True, check=True,
                              cwd=self.folder, timeout=TIMEOUT,
                              env=dict(harness.ENVIRONMENT, HOME=home_of(self.folder),
                                       PATH=f"{self.path}:{harness.ENVIRONMENT['PATH']}"))
        assert not done.stderr, done.stderr
        return [word.split("\t")[0] for word in done.stdout.splitlines()]

    def completed(self, line):
        """fish puts in what is alone: the last word as it is offered, quoted as fish needs it."""
        offer, = self.offers(line)
        quoted = re.sub(r"([ '\"])", r"\\\1", offer)
        return line[:line.rindex(" ") + 1] + quoted + ("" if offer.endswith("/") else " ")

    def close(self):
        pass


ALL = (Bash, Zsh, Fish)
