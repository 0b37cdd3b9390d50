# SPDX-License-Identifier: MIT
# Completion of sbxctl(8) for fish.

# The words behind the verb, without options and their values.
function __sbxctl_operands
    set -l skip no
    for word in (commandline -opc)[3..]
        if test $skip = yes
            set skip no
        else if test "$word" = --
            return
        else if contains -- $word --policy --group --key --shell --api --cwd --env -e --command -c --timeout --grace
            set skip yes
        else if not string match -q -- '-*' $word
            echo $word
        end
    end
end

function __sbxctl_verb
    contains -- (commandline -opc)[2] $argv
end

# True if the word to complete is operand number argv[1] of one of the verbs.
function __sbxctl_operand
    __sbxctl_verb $argv[2..]; and test (count (__sbxctl_operands)) = (math $argv[1] - 1)
    and not contains -- -- (commandline -opc)
end

# Options come before a command that is to be run.
function __sbxctl_option
    __sbxctl_verb $argv; and not contains -- -- (commandline -opc)
    and begin
        not __sbxctl_verb exec; or test (count (__sbxctl_operands)) -lt 2
    end
end

function __sbxctl_no_verb
    test (count (commandline -opc)) = 1
end

function __sbxctl_users
    getent group sbx 2>/dev/null | string split -f4 : | string split -n ,
end

# A path in the workspace: sbxctl itself knows what is there.
function __sbxctl_paths
    set -l word (commandline -ct)
    set -l prefix (string match -r '^.*/' -- "$word")
    set -l directory (string replace -r '(.)/$' '$1' -- "$prefix")
    test -n "$directory"; or set directory .
    for name in (sbxctl ls (__sbxctl_operands)[1] $directory 2>/dev/null)
        echo "$prefix$name"
    end
end

set -l verbs enroll unenroll secret exec status ps logs start stop kill read write ls exists access path explain check
set -l users unenroll exec status ps logs start stop kill read write ls exists access path explain

complete -c sbxctl -f
complete -c sbxctl -n __sbxctl_no_verb -l help -d 'Tell about it'
complete -c sbxctl -n __sbxctl_no_verb -l version -d 'Print the version'

complete -c sbxctl -n __sbxctl_no_verb -a enroll -d 'Put a user into a sandbox'
complete -c sbxctl -n __sbxctl_no_verb -a unenroll -d 'Have logins on the host again'
complete -c sbxctl -n __sbxctl_no_verb -a secret -d 'Variables that only one user has'
complete -c sbxctl -n __sbxctl_no_verb -a exec -d 'Run a command in a sandbox'
complete -c sbxctl -n __sbxctl_no_verb -a status -d 'What runs, who is in it, what it uses'
complete -c sbxctl -n __sbxctl_no_verb -a ps -d 'The processes in a sandbox'
complete -c sbxctl -n __sbxctl_no_verb -a logs -d 'Who was in a sandbox, when, from where'
complete -c sbxctl -n __sbxctl_no_verb -a start -d 'Start a sandbox and keep it'
complete -c sbxctl -n __sbxctl_no_verb -a stop -d 'End a sandbox'
complete -c sbxctl -n __sbxctl_no_verb -a kill -d 'End a sandbox at once'
complete -c sbxctl -n __sbxctl_no_verb -a read -d 'Write a file of a workspace to standard output'
complete -c sbxctl -n __sbxctl_no_verb -a write -d 'Write standard input to a file of a workspace'
complete -c sbxctl -n __sbxctl_no_verb -a ls -d 'List a directory of a workspace'
complete -c sbxctl -n __sbxctl_no_verb -a exists -d 'Is it there?'
complete -c sbxctl -n __sbxctl_no_verb -a access -d 'May the user read or write it?'
complete -c sbxctl -n __sbxctl_no_verb -a path -d 'Where it is on the host'
complete -c sbxctl -n __sbxctl_no_verb -a explain -d 'What a login gets, and why'
complete -c sbxctl -n __sbxctl_no_verb -a check -d 'Look for mistakes'

complete -c sbxctl -n "__sbxctl_option $verbs" -l json -d 'Print JSON'
complete -c sbxctl -n "__sbxctl_option $verbs" -l policy -r -F -d 'Read this policy'
complete -c sbxctl -n "__sbxctl_option $verbs" -l group -x -a '(__fish_complete_groups)' -d 'Members are enrolled'
complete -c sbxctl -n "__sbxctl_option $verbs" -s h -l help -d 'Tell about the verb'
complete -c sbxctl -n '__sbxctl_option enroll' -l shell -x -a sbxsh -d 'Login shell'
complete -c sbxctl -n '__sbxctl_option enroll' -l key -r -F -d 'Public keys'
complete -c sbxctl -n '__sbxctl_option enroll' -l share-group -x -a '(__fish_complete_groups)' -d 'Share its folders with them'
complete -c sbxctl -n '__sbxctl_option unenroll' -l shell -r -F -d 'Login shell'
complete -c sbxctl -n '__sbxctl_option enroll unenroll' -s n -l dry-run -d 'Only say what would be done'
complete -c sbxctl -n '__sbxctl_option secret' -l raw -d 'As it is'
complete -c sbxctl -n '__sbxctl_option secret' -l api -x -d 'GitHub Enterprise'
complete -c sbxctl -n '__sbxctl_option secret' -l no-lookup -d 'Do not ask whose token it is'
complete -c sbxctl -n '__sbxctl_option exec' -l cwd -x -d 'Start there'
complete -c sbxctl -n '__sbxctl_option exec' -s e -l env -x -d 'Set a variable'
complete -c sbxctl -n '__sbxctl_option exec' -l timeout -x -d 'End it after so many seconds'
complete -c sbxctl -n '__sbxctl_option exec' -s t -l tty -d 'A terminal of its own'
complete -c sbxctl -n '__sbxctl_option exec' -l frames -d 'A JSON object a line'
complete -c sbxctl -n '__sbxctl_option exec' -s c -l command -x -d 'Run the shell'
complete -c sbxctl -n '__sbxctl_option stop' -l grace -x -d 'Seconds from TERM to KILL'
complete -c sbxctl -n '__sbxctl_option access' -s w -l write -d 'May it be written?'

complete -c sbxctl -n '__sbxctl_operand 1 enroll' -a '(__fish_complete_users)'
complete -c sbxctl -n "__sbxctl_operand 1 $users" -a '(__sbxctl_users)'
complete -c sbxctl -n '__sbxctl_operand 1 secret' -a 'add list remove'
complete -c sbxctl -n '__sbxctl_operand 2 secret' -a '(__sbxctl_users)'
complete -c sbxctl -n '__sbxctl_operand 2 read write ls exists access path' -a '(__sbxctl_paths)'
