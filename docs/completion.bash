# SPDX-License-Identifier: MIT OR Apache-2.0
# Completion of memoir's command line for bash, and for zsh with bashcompinit.  The words come from
# memoir itself; where it has none, names of files are completed.
_memoir()
{
	local IFS=$'\n'

	COMPREPLY=($("${COMP_WORDS[0]}" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _memoir memoir
