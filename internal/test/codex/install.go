package codex

import "mend/internal/test/npm"

// Version is the tested version.
const Version = "0.171.0"

// Install returns the program of a version of Codex: from the cache, or fetched into it with npm.
func Install(version string) (string, error) {
	return npm.Install("codex", version, "codex-"+version, "@openai/codex@"+version+"-linux-x64", "package/vendor/x86_64-unknown-linux-musl/bin/codex")
}
