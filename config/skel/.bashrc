# Read by interactive bash. For any other, which scp, rsync and git start too, there is
# nothing to do here, and above all nothing to print.
case $- in
*i*) ;;
*) return ;;
esac

# The mark says at a glance that this is a sandbox.
PS1='[sandbox] \u:\w\$ '
if [ -r ~/.config/sbx/prompt.sh ]; then
	. ~/.config/sbx/prompt.sh
	PROMPT_COMMAND=sbx_git_branch
	PS1='[sandbox] \u:\w${sbx_branch}\$ '
fi

HISTCONTROL=ignoreboth
shopt -s checkwinsize histappend

alias ls='ls --color=auto'
alias grep='grep --color=auto'

if [ -r /usr/share/bash-completion/bash_completion ]; then
	. /usr/share/bash-completion/bash_completion
fi
