package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // the packagers register themselves
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// zshFolders are the folders of zsh's completions by packager.
var zshFolders = map[string]string{"deb": "/usr/share/zsh/vendor-completions/", "rpm": "/usr/share/zsh/site-functions/"}

// writePackages writes a deb and an rpm for each processor with Linux.
func (r *release) writePackages() error {
	dir, err := os.MkdirTemp("", "dist")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, p := range r.platforms {
		if p.os != "linux" {
			continue
		}
		for _, format := range []string{"deb", "rpm"} {
			if err := r.writePackage(dir, p, format); err != nil {
				return fmt.Errorf("%s of %s: %w", format, p, err)
			}
		}
	}
	return nil
}

// writePackage writes one package. It keeps its files in dir meanwhile.
func (r *release) writePackage(dir string, p platform, format string) error {
	list, err := r.packageFiles(p, format)
	if err != nil {
		return err
	}
	var contents files.Contents
	for _, f := range list {
		path := filepath.Join(dir, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.data, 0o644); err != nil {
			return err
		}
		contents = append(contents, &files.Content{
			Source: path, Destination: f.name,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: f.mode(), MTime: r.time},
		})
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: r.project["NAME"], Arch: p.arch, Platform: "linux", Version: r.version, Release: "1",
		Section: "utils", Priority: "optional", Maintainer: r.project["MAINTAINER"], Description: r.project["DESCRIPTION"],
		Homepage: r.project["HOMEPAGE"], License: r.project["LICENSE"], MTime: r.time, DisableGlobbing: true,
		Overridables: nfpm.Overridables{Contents: contents, RPM: nfpm.RPM{BuildHost: "localhost", Summary: r.project["DESCRIPTION"]}},
	})
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := packager.Package(info, &out); err != nil {
		return err
	}
	return r.write(packager.ConventionalFileName(info), out.Bytes())
}

// packageFiles returns the files of a package by their paths on the system.
func (r *release) packageFiles(p platform, format string) ([]file, error) {
	license, err := os.ReadFile(filepath.Join(r.root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	list := []file{
		{name: "/usr/bin/" + p.executable(), data: r.binaries[p], exec: true},
		{name: "/usr/share/doc/" + r.project["NAME"] + "/copyright", data: append(append(license, '\n'), r.licenses...)},
	}
	folders := map[string]string{
		"bash": "/usr/share/bash-completion/completions/", "fish": "/usr/share/fish/vendor_completions.d/", "zsh": zshFolders[format],
	}
	for _, c := range r.completions {
		if folder, ok := folders[c.name]; ok {
			list = append(list, file{name: folder + completionFiles[c.name], data: c.data})
		}
	}
	for _, m := range r.man {
		page, err := compress(m.data)
		if err != nil {
			return nil, err
		}
		list = append(list, file{name: "/usr/share/man/man1/" + m.name + ".gz", data: page})
	}
	return list, nil
}

func compress(data []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}
