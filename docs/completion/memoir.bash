# SPDX-License-Identifier: MIT OR Apache-2.0
# Completion of memoir's command line for bash.  The words come from memoir itself, which says what
# they are: see src/cli/completion.h.

# _memoir_names OPTION TYPED [PATTERN…]: adds the names that compgen finds, of those that match.
_memoir_names()
{
	local name

	compopt -o filenames 2>/dev/null
	while IFS= read -r name; do
		COMPREPLY+=("$name")
	done < <(compgen "$1" ${3:+-X "!$3"} -- "$2")
}

# _memoir_files TYPED [PATTERN…]: files that match and folders on the way to them, else any file.
_memoir_files()
{
	local typed=$1 pattern

	shift
	for pattern in "$@"; do
		_memoir_names -f "$typed" "$pattern"
	done
	if [ ${#COMPREPLY[@]} -gt 0 ]; then
		_memoir_names -d "$typed"
	else
		_memoir_names -f "$typed"
	fi
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
			_memoir_files "$typed" "$@"
			;;
		:folders) _memoir_names -d "$typed" ;;
		:programs) _memoir_names -c "$typed" ;;
		:command*)
			# What bash-completion has for the program, else names of files.
			if declare -F _command_offset >/dev/null; then
				_command_offset "${line#:command }"
			else
				_memoir_files "$typed"
			fi
			return
			;;
		*) COMPREPLY+=("${line%%$'\t'*}") ;;
		esac
	done < <("${COMP_WORDS[0]}" --complete "${words[@]}" 2>/dev/null)
}
complete -F _memoir memoir
