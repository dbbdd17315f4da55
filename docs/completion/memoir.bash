# SPDX-License-Identifier: MIT OR Apache-2.0
# Completion of memoir's command line for bash.  The words come from memoir itself, which says what
# they are: see src/cli/completion.h.

# _memoir_files PREFIX TYPED [PATTERN…]: names of files that match, else of any.
_memoir_files()
{
	local prefix=$1 typed=$2 pattern name

	shift 2
	compopt -o filenames 2>/dev/null
	for pattern in "$@"; do
		while read -r name; do
			COMPREPLY+=("$prefix$name")
		done < <(compgen -f -X "!$pattern" -- "$typed")
	done
	# Folders are on the way to files that match.
	while read -r name; do
		COMPREPLY+=("$prefix$name")
	done < <([ ${#COMPREPLY[@]} -gt 0 ] && compgen -d -- "$typed" || compgen -f -- "$typed")
}

_memoir()
{
	local line typed=${COMP_WORDS[COMP_CWORD]} words=("${COMP_WORDS[@]:1:COMP_CWORD}")

	COMPREPLY=()
	# A word that is begun with a quote has the quote in it.
	case $typed in
	[\'\"]*) typed=${typed#?} words[COMP_CWORD - 1]=$typed ;;
	=) typed= ;;
	esac
	while IFS= read -r line; do
		case $line in
		:files*)
			local IFS=$' \t\n'
			set -f
			# shellcheck disable=SC2086
			set -- ${line#:files}
			set +f
			_memoir_files "" "$typed" "$@"
			;;
		:folders)
			compopt -o filenames 2>/dev/null
			while read -r line; do
				COMPREPLY+=("$line")
			done < <(compgen -d -- "$typed")
			;;
		:programs)
			compopt -o filenames 2>/dev/null
			while read -r line; do
				COMPREPLY+=("$line")
			done < <(compgen -c -- "$typed")
			;;
		:command*)
			# What bash-completion has for the program, else names of files.
			if declare -F _command_offset >/dev/null; then
				_command_offset $((${line#:command } + 1))
			else
				_memoir_files "" "$typed"
			fi
			return
			;;
		*) COMPREPLY+=("${line%%$'\t'*}") ;;
		esac
	done < <("${COMP_WORDS[0]}" --complete "${words[@]}" 2>/dev/null)
}
complete -F _memoir memoir
