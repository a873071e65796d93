package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
)

// npmOS and npmCPU are npm's names of operating systems and processors.
var (
	npmOS  = map[string]string{"linux": "linux", "darwin": "darwin", "windows": "win32"}
	npmCPU = map[string]string{"amd64": "x64", "arm64": "arm64"}
)

//go:embed npm/launcher.js
var npmLauncher []byte

// npmPlatformPackage returns the name of the package with a platform's binary. The launcher makes
// the same name.
func (r *release) npmPlatformPackage(p platform) string {
	return fmt.Sprintf("%s/%s-%s", r.project["NPM_SCOPE"], npmOS[p.os], npmCPU[p.arch])
}

// writeNpm writes a package for each platform, which has the binary, and the package that users
// install. It depends on all of them, and npm installs the one that fits the machine.
func (r *release) writeNpm() error {
	optional := map[string]string{}
	for _, p := range r.platforms {
		name := r.npmPlatformPackage(p)
		optional[name] = r.version
		binary := file{name: "bin/" + p.executable(), data: r.binaries[p], exec: true}
		err := r.writeNpmPackage("npm/"+npmOS[p.os]+"-"+npmCPU[p.arch], map[string]any{
			"name": name, "os": []string{npmOS[p.os]}, "cpu": []string{npmCPU[p.arch]},
			"description": fmt.Sprintf("The %s binary of %s", p, r.project["NPM_PACKAGE"]), "preferUnplugged": true,
		}, binary, file{name: "THIRD_PARTY_LICENSES", data: r.licenses})
		if err != nil {
			return err
		}
	}
	readme, err := os.ReadFile(filepath.Join(r.root, "tools", "dist", "npm", "README.md"))
	if err != nil {
		return err
	}
	bin := map[string]string{"mend": "launcher.js", r.project["NPM_PACKAGE"]: "launcher.js"}
	scope, err := json.Marshal(r.project["NPM_SCOPE"])
	if err != nil {
		return err
	}
	return r.writeNpmPackage("npm/"+r.project["NPM_PACKAGE"], map[string]any{
		"name": r.project["NPM_PACKAGE"], "description": r.project["DESCRIPTION"], "bin": bin, "optionalDependencies": optional,
		"engines":  map[string]string{"node": ">=16"},
		"keywords": []string{"opencode", "claude", "session", "repair", "undo"},
	}, file{name: "launcher.js", data: npmLauncher, exec: true}, file{name: "scope.json", data: append(scope, '\n')}, file{name: "README.md", data: readme})
}

// writeNpmPackage writes a package as "npm pack" would, so that "npm publish FILE" accepts it.
func (r *release) writeNpmPackage(name string, manifest map[string]any, files ...file) error {
	maps.Copy(manifest, map[string]any{
		"version": r.version, "license": r.project["LICENSE"], "homepage": r.project["HOMEPAGE"], "author": r.project["MAINTAINER"],
		"repository": map[string]string{"type": "git", "url": r.project["NPM_REPOSITORY"]},
	})
	text, err := json.MarshalIndent(manifest, "", "  ")
	if err != nil {
		return err
	}
	license, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return err
	}
	files = append([]file{{name: "package.json", data: append(text, '\n')}, {name: "LICENSE", data: license}}, files...)
	data, err := r.tarGz("package/", files)
	if err != nil {
		return err
	}
	return r.write(fmt.Sprintf("%s-%s.tgz", name, r.version), data)
}
