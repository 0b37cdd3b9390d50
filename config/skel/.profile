# Read by login shells.
#
# /etc/profile of some systems sets PATH anew; programs that were installed into the
# home are found again by this.
case ":$PATH:" in
*":$HOME/.local/bin:"*) ;;
*) PATH="$HOME/.local/bin:$PATH" ;;
esac
export PATH

if [ -n "${BASH_VERSION-}" ] && [ -r "$HOME/.bashrc" ]; then
	. "$HOME/.bashrc"
fi
