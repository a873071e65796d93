// Dist builds the files of a release of mend: binaries, archives, packages for Debian, RPM and npm, a Homebrew formula,
// a Scoop manifest, an SBOM and checksums. The same commit and the same Go give the same bytes. CONTRIBUTING.md says
// what each file is for.
//
//	go run . [-root DIR] [-o DIR] [-platforms OS/ARCH,...] [-version VERSION]
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

// allPlatforms are the platforms of a release.
var allPlatforms = []platform{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

func main() {
	var o options
	flag.StringVar(&o.root, "root", "../..", "the repository")
	flag.StringVar(&o.out, "o", "../../bin/dist", "the folder to write to; its earlier content is removed")
	flag.StringVar(&o.version, "version", "", "the version (default: the tag v* of the commit, else 0.0.0-dev.COMMIT)")
	list := flag.String("platforms", "", "platforms, such as linux/amd64,darwin/arm64 (default: all)")
	flag.Parse()
	err := o.setPlatforms(*list)
	if err == nil {
		err = build(o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	root, out, version string
	platforms          []platform
}

func (o *options) setPlatforms(list string) error {
	o.platforms = allPlatforms
	if list == "" {
		return nil
	}
	o.platforms = nil
	for name := range strings.SplitSeq(list, ",") {
		os, arch, ok := strings.Cut(name, "/")
		if !ok {
			return fmt.Errorf("-platforms %s: want OS/ARCH", list)
		}
		o.platforms = append(o.platforms, platform{os, arch})
	}
	return nil
}

// A platform is an operating system and a processor, as Go names them.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

// executable returns the name of mend's program on the platform. NAME of project.env does not change it, because help
// and completions contain it.
func (p platform) executable() string {
	if p.os == "windows" {
		return "mend.exe"
	}
	return "mend"
}
