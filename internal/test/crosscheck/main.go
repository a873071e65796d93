// Command crosscheck checks the types of all packages and their tests for other systems. Its arguments are GOOS/GOARCH
// pairs. The compiler finds the same errors, but with an empty cache it takes minutes.
//
// It imports nothing of mend.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	code := 0
	for _, platform := range os.Args[1:] {
		system, arch, _ := strings.Cut(platform, "/")
		n, err := check(system, arch)
		fmt.Printf("%s: %d errors\n", platform, n)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		if n > 0 || err != nil {
			code = 1
		}
	}
	os.Exit(code)
}

// check prints the errors in the packages on a platform, and counts them.
func check(system, arch string) (n int, err error) {
	all, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedDeps | packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax,
		Env:   append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0"),
		Tests: true,
	}, "./...")
	if err == nil && len(all) == 0 {
		err = errors.New("no packages here")
	}
	return packages.PrintErrors(all), err
}
