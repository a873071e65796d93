#!/usr/bin/env bash
# Plays how a session is lost and comes back, typed as by a person. `make docs` records it as docs/demo.svg.
set -euo pipefail
archive=$(realpath "$(dirname "$0")/../testdata/opencode-1.1.53.tar.gz")
export HOME; HOME=$(mktemp -d)
trap 'rm -rf "$HOME"' EXIT
unset XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME
mkdir -p "$HOME/.local/share"
tar xzf "$archive" -C "$HOME/.local/share" --strip-components=1
session=$(find "$HOME/.local/share/opencode/storage/session" -name 'ses_*.json')
sed -i 's/"title": *"[^"]*"/"title": "Fix the login page"/' "$session"
grep -rl '"Hello 6."' "$HOME/.local/share/opencode/storage/part" | xargs sed -i 's/"Hello 6."/" "/'

play() { # line, seconds to read
	printf '\033[1;36m$\033[0m '
	for ((i = 0; i < ${#1}; i++)); do printf '%s' "${1:i:1}"; sleep 0.04; done
	printf '\n'
	eval "$1" || true
	sleep "$2"
}
clear
play 'mend' 4
play "mend fix 'messages: text content blocks must contain non-whitespace text' --yes" 6
play 'mend log' 3
play 'mend undo --yes' 5
