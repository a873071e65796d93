#!/usr/bin/env bash
# Plays three ways in which a session is lost and comes back, typed as by a person. `make docs` records it as docs/demo.svg.
set -euo pipefail
testdata=$(realpath "$(dirname "$0")/../testdata")
export HOME=/tmp/ada
mkdir "$HOME"
trap 'rm -rf "$HOME"' EXIT
cd "$HOME"
unset XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME
mkdir -p "$HOME/.local/share"
tar xzf "$testdata/opencode-1.1.53.tar.gz" -C "$HOME/.local/share" --strip-components=1
session=$(find "$HOME/.local/share/opencode/storage/session" -name 'ses_*.json')
sed -i 's/"title": *"[^"]*"/"title": "Fix the login page"/' "$session"
grep -rl '"Hello 6."' "$HOME/.local/share/opencode/storage/part" | xargs sed -i 's/"Hello 6."/" "/'

mkdir shop
id=3cffaf78-5168-420a-bb87-c18ba6c93019
transcripts=.claude/projects/$(sed 's/[^a-zA-Z0-9]/-/g' <<<"$HOME/shop")
mkdir -p "$transcripts"
sed "s,/home/user/project,$HOME/shop,g" "$testdata/claude-2.1.330.jsonl" >"$transcripts/$id.jsonl"

play() { # line, seconds to read
	printf '\033[1;36m$\033[0m '
	for ((i = 0; i < ${#1}; i++)); do printf '%s' "${1:i:1}"; sleep 0.04; done
	printf '\n'
	eval "$1" || true
	sleep "$2"
}
clear
play '# The provider refuses each request' 0.5
play 'mend' 4
play "mend fix 'messages: text content blocks must contain non-whitespace text' --yes" 6
clear
play '# The folder of the project got another name' 0.5
play 'mv shop store; mend move ~/shop ~/store --yes' 5
mend keep >/dev/null 2>&1
rm "$HOME"/.claude/projects/*/*.jsonl
play '# Claude Code has deleted a conversation that was kept' 0.5
play "mend fix 'No conversation found with session ID: $id' --yes" 6
play 'mend log' 3
play 'mend undo --yes' 5
