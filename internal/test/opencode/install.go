package opencode

import "mend/internal/test/npm"

// Install returns the executable of a version of OpenCode, such as "1.1.53".
// It comes from the cache, a folder per version in $MEND_E2E_CACHE or else in
// mend-e2e below the user's cache directory, or is fetched into it with npm.
//
// A version is put into the cache by a rename, so any number of processes may install at
// once. It runs on Linux on x64 only.
func Install(version string) (exe string, err error) {
	return npm.Install("opencode", version, version, "opencode-linux-x64@"+version, "package/bin/opencode")
}

// InstallKilo returns the executable of a version of Kilo, such as "7.7.9", as [Install] does.
func InstallKilo(version string) (exe string, err error) {
	return npm.Install("kilo", version, "kilo-"+version, "@kilocode/cli-linux-x64@"+version, "package/bin/kilo")
}
