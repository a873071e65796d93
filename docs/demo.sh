#!/usr/bin/env bash
# Plays scan, fix and undo on a damaged store, typed as by a person. `make docs`
# records it as docs/demo.svg.
set -euo pipefail
archive=$(realpath "$(dirname "$0")/../testdata/opencode-1.1.53.tar.gz")
export HOME; HOME=$(mktemp -d)
trap 'rm -rf "$HOME"' EXIT
unset XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME
mkdir -p "$HOME/.local/share"
tar xzf "$archive" -C "$HOME/.local/share" --strip-components=1
grep -rl '"Hello 6."' "$HOME/.local/share/opencode/storage/part" | xargs sed -i 's/"Hello 6."/" "/'

play() { # line, seconds to read
	printf '\033[1;36m$\033[0m '
	for ((i = 0; i < ${#1}; i++)); do printf '%s' "${1:i:1}"; sleep 0.04; done
	printf '\n'
	eval "$1" || true
	sleep "$2"
}
clear
play 'mend scan' 4
play "mend fix 'messages: text content blocks must contain non-whitespace text' --yes" 6
play 'mend log' 3
play 'mend undo qevajo --yes -p' 6
play 'mend' 4
