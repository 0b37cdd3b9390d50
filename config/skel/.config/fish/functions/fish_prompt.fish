# The mark says at a glance that this is a sandbox. git's files are read here: a prompt
# that starts git is felt in a large repository.
function fish_prompt
    set -l dir $PWD
    while test -n "$dir"; and not test -e "$dir/.git"
        set dir (string replace -r '/[^/]*$' '' -- $dir)
    end
    set -l branch
    if test -n "$dir"
        set -l git $dir/.git
        # In a worktree or a submodule it is a file that says where the directory is.
        if test -f $git
            read -l line <$git
            set git (string replace 'gitdir: ' '' -- $line)
            string match -q '/*' -- $git; or set git $dir/$git
        end
        if test -f $git/HEAD; and test -r $git/HEAD
            read -l head <$git/HEAD
            if string match -q 'ref: refs/heads/*' -- $head
                set head (string replace 'ref: refs/heads/' '' -- $head)
            else
                set head (string sub -l 7 -- $head)
            end
            # A repository from elsewhere may name its branch in escape sequences.
            set branch ' ('(string replace -ra '[^[:print:]]' '?' -- $head)')'
        end
    end
    printf '[sandbox] %s:%s%s$ ' $USER (prompt_pwd) "$branch"
end
