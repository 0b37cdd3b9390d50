# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Ask real shells how they complete a command line.
#   top               of the source tree
#   completer_place   a directory of the caller's; programs in its bin/ come first in PATH

# complete_zsh LINE...: prints for each line what zsh offers at its end, one word a line,
# and then "end of " with the line.
complete_zsh()
{
	printf '%s\n' "$@" >"$completer_place/lines"
	: >"$completer_place/words"
	# compadd has to be asked twice: what it would add, to note it, and to add it.
	cat >"$completer_place/.zshrc" <<-END
		PATH=$completer_place/bin:\$PATH
		fpath=($top/packaging/completions/zsh \$fpath)
		autoload -U compinit
		compinit -D -u
		compadd() {
			local -a found
			if [[ \${@[1,(i)(-|--)]} != *-[a-zA-Z]#(O|A|D)* ]]; then
				builtin compadd -A found "\$@"
				print -rl -- \$found >>$completer_place/words
			fi
			builtin compadd "\$@"
		}
		zle-line-init() {
			local line
			for line in "\${(@f)\$(<$completer_place/lines)}"; do
				BUFFER=\$line CURSOR=\$#line
				zle list-choices
				print -r -- "end of \$line" >>$completer_place/words
			done
			exit
		}
		zle -N zle-line-init
	END
	# -d: not the machine's own zshrc. zle wants a terminal.
	ZDOTDIR=$completer_place TERM=dumb timeout 60 script -qec "zsh -d -i" /dev/null \
		</dev/null >"$completer_place/log" 2>&1
	cat "$completer_place/words"
}

# complete_fish LINE...: the same for fish.
complete_fish()
{
	# shellcheck disable=SC2016 # for fish
	PATH=$completer_place/bin:$PATH HOME=$completer_place TERM=dumb timeout 60 fish -N -c '
		for file in $argv[1]/*.fish; source $file; end
		for line in $argv[2..]
			complete -C "$line" | string split -f1 \t
			echo "end of $line"
		end' "$top/packaging/completions/fish" "$@" 2>&1 </dev/null
}

# completions_of LINE: from such an output on standard input, sorted, on one line.
completions_of()
{
	awk -v line="end of $1" '
		$0 == line { for (i = 0; i < n; i++) print words[i]; exit }
		/^end of / { n = 0; next }
		NF { words[n++] = $0 }' | LC_ALL=C sort -u | tr '\n' ' '
}
