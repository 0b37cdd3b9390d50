# Read by login zsh, which does not read .profile itself. There: PATH and the welcome.
[[ ! -r ~/.profile ]] || emulate sh -c '. ~/.profile'
