# SPDX-License-Identifier: MIT OR Apache-2.0
# Completion of memoir's command line for fish.  The words come from memoir itself, which says what
# they are: see src/cli/completion.h.

# Names of files as fish completes them for a command that it does not know.
function __memoir_files
    complete -C "__fish_command_without_completions "(string escape -- $argv[1])
end

function __memoir_complete
    set -l before (commandline -opc)
    # A word that is begun with a quote has the quote in it.
    set -l typed (commandline -ct | string replace -r '^[\'"]' '')
    set -l option (string match -r '^--[^=]*=' -- $typed; or echo)
    set -l value (string replace -r '^--[^=]*=' '' -- $typed)
    for line in ($before[1] --complete $before[2..] "$typed" 2>/dev/null)
        switch $line
            case ':files*'
                set -l names (__memoir_files "$value")
                set -l meant
                for pattern in (string split -n ' ' -- $line)[2..]
                    set -a meant (string match -- $pattern $names)
                end
                # Folders are on the way to files that match.
                if set -q meant[1]
                    set names $meant (string match -- '*/' $names)
                end
                printf '%s\n' $option$names
            case ':folders'
                set -l names (__memoir_files "$value" | string match -- '*/')
                printf '%s\n' $option$names
            case ':programs'
                complete -C "$value"
            case ':command *'
                __fish_complete_subcommand --commandline $before[(math (string split ' ' $line)[2] + 1)..] "$typed"
            case '*'
                printf '%s\n' $line
        end
    end
end
complete -c memoir -f -a '(__memoir_complete)'
