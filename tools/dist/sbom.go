package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/base64"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// modules returns the modules that are linked into any binary, and the version of Go.
func (r *release) modules() ([]debug.Module, string, error) {
	found, goVersion := map[string]debug.Module{}, ""
	for p, binary := range r.binaries {
		info, err := buildinfo.Read(bytes.NewReader(binary))
		if err != nil {
			return nil, "", fmt.Errorf("binary of %s: %w", p, err)
		}
		goVersion = info.GoVersion
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			found[m.Path] = *m
		}
	}
	list := slices.SortedFunc(maps.Values(found), func(a, b debug.Module) int { return strings.Compare(a.Path, b.Path) })
	return list, goVersion, nil
}

// writeSBOM writes a CycloneDX list of what the binaries are made from.
func (r *release) writeSBOM() error {
	modules, goVersion, err := r.modules()
	if err != nil {
		return err
	}
	var components []cdx.Component
	var refs []string
	for _, m := range append([]debug.Module{{Path: "std", Version: goVersion}}, modules...) {
		c := cdx.Component{
			BOMRef: "pkg:golang/" + m.Path + "@" + m.Version, Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version,
			PackageURL: "pkg:golang/" + m.Path + "@" + m.Version,
		}
		// The hash of go.sum: of the module's files and their names.
		if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && len(sum) > 0 {
			c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: fmt.Sprintf("%x", sum)}}
		}
		components, refs = append(components, c), append(refs, c.BOMRef)
	}
	self := "pkg:golang/" + r.project["MODULE"] + "@v" + r.version
	bom := cdx.NewBOM()
	bom.SpecVersion, bom.JSONSchema = cdx.SpecVersion1_6, "http://cyclonedx.org/schema/bom-1.6.schema.json"
	bom.Metadata = &cdx.Metadata{
		Timestamp: r.time.Format(time.RFC3339),
		Component: &cdx.Component{
			BOMRef: self, Type: cdx.ComponentTypeApplication, Name: r.project["NAME"], Version: r.version, PackageURL: self,
			Licenses: &cdx.Licenses{{License: &cdx.License{ID: r.project["LICENSE"]}}},
		},
	}
	bom.Components, bom.Dependencies = &components, &[]cdx.Dependency{{Ref: self, Dependencies: &refs}}
	var out bytes.Buffer
	if err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return err
	}
	return r.write(fmt.Sprintf("%s_%s_sbom.cdx.json", r.project["NAME"], r.version), out.Bytes())
}

// licenseFile matches the names of files with a licence.
var licenseFile = regexp.MustCompile(`(?i)^(licen[sc]e|copying|notice|patents)([.-].*)?$`)

// collectLicenses collects the licences of all linked modules and of Go, which must be given to everyone who gets a
// binary.
func (r *release) collectLicenses() error {
	modules, goVersion, err := r.modules()
	if err != nil {
		return err
	}
	goroot, err := run(r.root, nil, "go", "env", "GOROOT")
	if err != nil {
		return err
	}
	var all bytes.Buffer
	if err := addLicenses(&all, goVersion, strings.TrimSpace(string(goroot))); err != nil {
		return err
	}
	for _, m := range modules {
		dir, err := run(r.root, nil, "go", "list", "-m", "-f", "{{.Dir}}", m.Path)
		if err != nil {
			return err
		}
		if err := addLicenses(&all, m.Path+" "+m.Version, strings.TrimSpace(string(dir))); err != nil {
			return err
		}
	}
	r.licenses = all.Bytes()
	return nil
}

// addLicenses adds the licences in a folder. A folder without licences is an error.
func addLicenses(all *bytes.Buffer, name, dir string) error {
	found, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("licence of %s: %w", name, err)
	}
	found = slices.DeleteFunc(found, func(e fs.DirEntry) bool { return e.IsDir() || !licenseFile.MatchString(e.Name()) })
	if len(found) == 0 {
		return fmt.Errorf("licence of %s: there is none in %s", name, dir)
	}
	for _, e := range found {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(all, "==== %s: %s\n\n%s\n\n", name, e.Name(), bytes.TrimSpace(text))
	}
	return nil
}
