# Read by login shells.
#
# /etc/profile of some systems, and cron, set PATH anew; programs that were installed into
# the home are found again by this.
for dir in "$HOME/go/bin" "$HOME/.cargo/bin" "$HOME/.local/bin"; do
	case ":$PATH:" in
	*":$dir:"*) ;;
	*) PATH="$dir:$PATH" ;;
	esac
done
unset dir
export PATH

# Only a person wants to read this. "touch ~/.hushlogin" for not at all.
case $- in
*i*)
	if [ -r "$HOME/.config/sbx/welcome" ] && [ ! -e "$HOME/.hushlogin" ]; then
		cat "$HOME/.config/sbx/welcome"
	fi
	;;
esac

if [ -n "${BASH_VERSION-}" ] && [ -r "$HOME/.bashrc" ]; then
	. "$HOME/.bashrc"
fi
