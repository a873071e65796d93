package running

import "testing"

// TestTemporaryProgram: a program that go run built is temporary, so that the plugin does not start it.
func TestTemporaryProgram(t *testing.T) {
	for path, want := range map[string]bool{
		"/tmp/go-build2210592656/b001/exe/mend":                     true,
		`C:\Users\u\AppData\Local\Temp\go-build1\b001\exe\mend.exe`: true,
		"/home/u/go/bin/mend":                                       false,
		"/home/u/go-build-tools/exe/mend":                           false,
		"/tmp/go-build1/b001/mend.test":                             false,
	} {
		if got := temporaryProgram.MatchString(path); got != want {
			t.Errorf("%s: %t, want %t", path, got, want)
		}
	}
}
