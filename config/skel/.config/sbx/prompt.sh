# Read by .bashrc and .zshrc.
#
# Sets sbx_branch to " (BRANCH)", or to nothing outside of a git repository. It reads git's
# files itself: a prompt that starts git is felt in a large repository.
sbx_git_branch()
{
	local dir=$PWD git head=
	sbx_branch=
	while [ -n "$dir" ] && [ ! -e "$dir/.git" ]; do
		dir=${dir%/*}
	done
	[ -n "$dir" ] || return 0
	git=$dir/.git
	# In a worktree or a submodule it is a file that says where the directory is.
	if [ -f "$git" ]; then
		read -r head <"$git"
		git=${head#gitdir: }
		[ "${git#/}" != "$git" ] || git=$dir/$git
	fi
	[ -f "$git/HEAD" ] && [ -r "$git/HEAD" ] || return 0
	read -r head <"$git/HEAD"
	case $head in
	"ref: refs/heads/"*) head=${head#ref: refs/heads/} ;;
	*) head=${head%"${head#???????}"} ;;
	esac
	# A repository from elsewhere may name its branch in escape sequences.
	sbx_branch=" (${head//[^[:print:]]/?})"
}
