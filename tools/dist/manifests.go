package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"strings"
	"text/template"
)

//go:embed formula.rb.tmpl
var formulaText string

// url returns the address of a file of the release.
func (r *release) url(name string) string {
	return strings.ReplaceAll(r.project["DOWNLOADS"], "{version}", r.version) + "/" + name
}

// writeFormula writes the formula of Homebrew for the platforms that were built.
func (r *release) writeFormula() error {
	t, err := template.New("formula").Option("missingkey=error").Parse(formulaText)
	if err != nil {
		return err
	}
	type archive struct{ URL, SHA256 string }
	systems := map[string]map[string]archive{}
	for _, p := range r.platforms {
		if p.os == "windows" {
			continue
		}
		if systems[p.os] == nil {
			systems[p.os] = map[string]archive{}
		}
		name := r.archiveFile(p)
		systems[p.os][p.arch] = archive{r.url(name), r.sums[name]}
	}
	var out bytes.Buffer
	name := r.project["NAME"]
	err = t.Execute(&out, map[string]any{
		"Class": formulaClass(name), "Project": r.project, "Version": r.version, "Systems": systems,
		"Words": map[string]string{"darwin": "macos", "linux": "linux", "amd64": "intel", "arm64": "arm"},
	})
	if err != nil {
		return err
	}
	return r.write("homebrew/"+name+".rb", out.Bytes())
}

// formulaClass returns the name of a formula's class as Homebrew makes it: my-tool is MyTool.
func formulaClass(name string) string {
	var class strings.Builder
	for word := range strings.SplitSeq(name, "-") {
		class.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return class.String()
}

// writeScoop writes the manifest of Scoop, the package manager of Windows.
func (r *release) writeScoop() error {
	words := map[string]string{"amd64": "64bit", "arm64": "arm64"}
	archives := map[string]any{}
	for _, p := range r.platforms {
		if p.os == "windows" {
			name := r.archiveFile(p)
			archives[words[p.arch]] = map[string]string{"url": r.url(name), "hash": r.sums[name], "extract_dir": r.archiveName(p)}
		}
	}
	if len(archives) == 0 {
		return nil
	}
	manifest := map[string]any{
		"version": r.version, "description": r.project["DESCRIPTION"], "homepage": r.project["HOMEPAGE"], "license": r.project["LICENSE"],
		"architecture": archives, "bin": platform{os: "windows"}.executable(),
	}
	text, err := json.MarshalIndent(manifest, "", "    ")
	if err != nil {
		return err
	}
	return r.write("scoop/"+r.project["NAME"]+".json", append(text, '\n'))
}
