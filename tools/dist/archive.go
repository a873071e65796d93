package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
)

// archiveName returns the name of a platform's archive without its suffix. It is also the folder in
// the archive.
func (r *release) archiveName(p platform) string {
	return fmt.Sprintf("%s_%s_%s_%s", r.project["NAME"], r.version, p.os, p.arch)
}

// archiveFile returns the name of a platform's archive.
func (r *release) archiveFile(p platform) string {
	if p.os == "windows" {
		return r.archiveName(p) + ".zip"
	}
	return r.archiveName(p) + ".tar.gz"
}

// writeArchives writes an archive for each platform: zip for Windows, tar.gz for the others.
func (r *release) writeArchives() error {
	for _, p := range r.platforms {
		files, err := r.archiveFiles(p)
		if err != nil {
			return err
		}
		pack := r.tarGz
		if p.os == "windows" {
			pack = r.zip
		}
		data, err := pack(r.archiveName(p)+"/", files)
		if err != nil {
			return fmt.Errorf("archive of %s: %w", p, err)
		}
		if err := r.write(r.archiveFile(p), data); err != nil {
			return err
		}
	}
	return nil
}

// archiveFiles returns the files of a platform's archive.
func (r *release) archiveFiles(p platform) ([]file, error) {
	files := []file{{name: p.executable(), data: r.binaries[p], exec: true}}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		data, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: name, data: data})
	}
	files = append(files, file{name: "THIRD_PARTY_LICENSES", data: r.licenses})
	for _, c := range r.completions {
		files = append(files, file{name: "completions/" + completionFiles[c.name], data: c.data})
	}
	for _, m := range r.man {
		files = append(files, file{name: "man/" + m.name, data: m.data})
	}
	return files, nil
}

// completionFiles are the usual names of completion scripts by shell.
var completionFiles = map[string]string{"bash": "mend", "zsh": "_mend", "fish": "mend.fish", "powershell": "mend.ps1"}

// tarGz packs files below a folder, all with the time of the commit.
func (r *release) tarGz(folder string, files []file) ([]byte, error) {
	var out bytes.Buffer
	zw, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	tw := tar.NewWriter(zw)
	for _, f := range files {
		h := &tar.Header{Name: folder + f.name, Mode: int64(f.mode()), Size: int64(len(f.data)), ModTime: r.time, Format: tar.FormatUSTAR}
		if err := tw.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := tw.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := tw.Close(); err != nil {
		return nil, err
	}
	err = zw.Close()
	return out.Bytes(), err
}

// zip packs files as tarGz does.
func (r *release) zip(folder string, files []file) ([]byte, error) {
	var out bytes.Buffer
	zw := zip.NewWriter(&out)
	for _, f := range files {
		h := &zip.FileHeader{Name: folder + f.name, Method: zip.Deflate, Modified: r.time}
		h.SetMode(f.mode())
		w, err := zw.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := zw.Close()
	return out.Bytes(), err
}

func (f file) mode() os.FileMode {
	if f.exec {
		return 0o755
	}
	return 0o644
}
