# Read by interactive zsh.
PS1='[sandbox] %n:%~%(!.#.$) '
if [[ -r ~/.config/sbx/prompt.sh ]]; then
	. ~/.config/sbx/prompt.sh
	precmd_functions+=(sbx_git_branch)
	setopt PROMPT_SUBST
	PS1='[sandbox] %n:%~${sbx_branch//\%/%%}%(!.#.$) '
fi

HISTFILE=~/.zsh_history
HISTSIZE=1000
SAVEHIST=1000
setopt HIST_IGNORE_DUPS HIST_IGNORE_SPACE APPEND_HISTORY
bindkey -e

alias ls='ls --color=auto'
alias grep='grep --color=auto'

# -u: what it would warn about is the machine's own, and read-only in here.
autoload -Uz compinit && compinit -u -d ~/.zcompdump
