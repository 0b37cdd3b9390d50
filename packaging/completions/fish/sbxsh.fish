# SPDX-License-Identifier: MIT
# Completion of sbxsh(1) for fish.

function __sbxsh_behind_dashes
    contains -- -- (commandline -opc)
end

function __sbxsh_command
    set -l words (commandline -opc)
    set -l dashes (contains -i -- -- $words)
    complete -C "$(string join ' ' -- (string escape -- $words[(math $dashes + 1)..]) (commandline -ct))"
end

complete -c sbxsh -n 'not __sbxsh_behind_dashes' -l bind -r -F -d 'Show one more path, which can be written'
complete -c sbxsh -n 'not __sbxsh_behind_dashes' -l ro-bind -r -F -d 'Show one more path, read-only'
complete -c sbxsh -n 'not __sbxsh_behind_dashes' -l no-network -d 'Nothing but a loopback interface'
complete -c sbxsh -n 'not __sbxsh_behind_dashes' -l memory -x -d 'At most so much memory'
complete -c sbxsh -n 'not __sbxsh_behind_dashes' -l dry-run -d 'Print the plan of the sandbox'
complete -c sbxsh -n 'not __sbxsh_behind_dashes' -l help -d 'Tell how it is used'
complete -c sbxsh -n 'not __sbxsh_behind_dashes' -l version -d 'Print the version'
complete -c sbxsh -n 'not __sbxsh_behind_dashes' -s c -x -d 'A command line for the shell'
# Behind "--" a command, with the completion that it has.
complete -c sbxsh -n __sbxsh_behind_dashes -x -a '(__sbxsh_command)'
