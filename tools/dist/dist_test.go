package main

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

var full = flag.Bool("full", false, "build for all platforms, and the second time without a cache; takes a quarter of an hour")

const testVersion = "1.2.3-test.1"

var host = platform{runtime.GOOS, runtime.GOARCH}

// copyTree copies the files of the work tree into a new repository. Its only commit is the same in every copy.
func copyTree(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "copy")
	out, err := run("../..", nil, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.Trim(string(out), "\x00"), "\x00") {
		copyFile(t, filepath.Join("../..", name), filepath.Join(dir, name))
	}
	date := "2026-01-02T03:04:05Z"
	env := []string{
		"GIT_AUTHOR_DATE=" + date, "GIT_COMMITTER_DATE=" + date, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_CONFIG_GLOBAL=/dev/null",
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-qm", "copy"}} {
		if _, err := run(dir, env, "git", args...); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	if os.IsNotExist(err) {
		return // deleted, and not yet committed
	}
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, info.Mode().Perm()); err != nil {
		t.Fatal(err)
	}
}

// TestReproducible: two copies of the tree in two folders give the same bytes.
func TestReproducible(t *testing.T) {
	platforms := []platform{host}
	if *full {
		platforms = allPlatforms
	}
	roots := [2]string{copyTree(t), copyTree(t)} // both before the first build, because the tree may change during a build
	var outs []map[string][]byte
	for i := range 2 {
		if i == 1 && *full {
			t.Setenv("GOCACHE", t.TempDir())
		}
		out := filepath.Join(t.TempDir(), "out")
		if err := build(options{root: roots[i], out: out, version: testVersion, platforms: platforms}); err != nil {
			t.Fatal(err)
		}
		outs = append(outs, readAll(t, out))
	}
	names := slices.Sorted(maps.Keys(outs[0]))
	if want := slices.Sorted(maps.Keys(outs[1])); !slices.Equal(names, want) {
		t.Fatalf("files of the first build: %q, of the second: %q", names, want)
	}
	for _, name := range names {
		if !bytes.Equal(outs[0][name], outs[1][name]) {
			t.Errorf("%s differs between two builds", name)
		}
	}
	checkSums(t, outs[0])
}

// checkSums checks checksums.txt against the other files.
func checkSums(t *testing.T, files map[string][]byte) {
	t.Helper()
	listed := 0
	for line := range strings.Lines(string(files["checksums.txt"])) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if got := fmt.Sprintf("%x", sha256.Sum256(files[name])); got != sum {
			t.Errorf("checksums.txt has %s for %s, want %s", sum, name, got)
		}
		listed++
	}
	if want := len(files) - 1; listed != want {
		t.Errorf("checksums.txt lists %d files, want %d", listed, want)
	}
}

func readAll(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files[name], err = os.ReadFile(filepath.Join(dir, name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// hostRelease is a release for the platform of this machine, without files. It is built once for all tests.
var hostRelease = sync.OnceValues(func() (*release, error) {
	out, err := os.MkdirTemp("", "dist")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(out)
	r, err := newRelease(options{root: "../..", out: out, version: testVersion, platforms: []platform{host}})
	if err != nil {
		return nil, err
	}
	for _, step := range []func() error{r.buildBinaries, r.makeDocs, r.collectLicenses} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return r, nil
})

// newTestRelease returns a release that writes to a folder of the test.
func newTestRelease(t *testing.T) *release {
	t.Helper()
	r, err := hostRelease()
	if err != nil {
		t.Fatal(err)
	}
	own := *r
	own.out, own.sums, own.binaries = t.TempDir(), map[string]string{}, maps.Clone(r.binaries)
	return &own
}

// addPlatforms adds the other platforms, each with a binary that does not run.
func (r *release) addPlatforms() {
	r.platforms = allPlatforms
	for _, p := range allPlatforms {
		if r.binaries[p] == nil {
			r.binaries[p] = []byte("the binary of " + p.String())
		}
	}
}

// glob returns the only file of the release that the pattern matches.
func (r *release) glob(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(r.out, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s matches %q (%v), want one file", pattern, found, err)
	}
	return found[0]
}

func needProgram(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("%s is not installed", name)
	}
}

// checkProgram runs version and demo of an installed mend.
func checkProgram(t *testing.T, name string, args ...string) {
	t.Helper()
	home := t.TempDir()
	for _, verb := range []string{"version", "demo"} {
		cmd := exec.Command(name, append(slices.Clone(args), verb)...)
		cmd.Env = append(os.Environ(), "HOME="+home, "XDG_DATA_HOME="+home, "XDG_STATE_HOME="+home, "XDG_CACHE_HOME="+home, "XDG_CONFIG_HOME="+home)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s %s: %v\n%s", name, verb, err, out)
		}
		if verb == "version" && !strings.Contains(string(out), testVersion) {
			t.Errorf("%s version: %q, want %s in it", name, out, testVersion)
		}
	}
}

// TestDeb: the Debian package can be installed into a folder, its program runs, and the package can be removed.
func TestDeb(t *testing.T) {
	needProgram(t, "dpkg")
	if os.Getuid() != 0 {
		t.Skip("dpkg installs as root only")
	}
	r := newTestRelease(t)
	if err := r.writePackages(); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for _, dir := range []string{"info", "updates"} {
		if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"status", "available"} {
		if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg", name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	log := "--log=" + filepath.Join(root, "dpkg.log")
	if _, err := run("", nil, "dpkg", log, "--root="+root, "--install", r.glob(t, "*.deb")); err != nil {
		t.Fatal(err)
	}
	checkProgram(t, filepath.Join(root, "usr/bin/mend"))
	for _, name := range []string{
		"usr/share/man/man1/mend-fix.1.gz", "usr/share/bash-completion/completions/mend", "usr/share/zsh/vendor-completions/_mend",
		"usr/share/fish/vendor_completions.d/mend.fish", "usr/share/doc/mend/copyright",
	} {
		if info, err := os.Stat(filepath.Join(root, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v, %v, want a file with content", name, info, err)
		}
	}
	if _, err := run("", nil, "dpkg", log, "--root="+root, "--purge", r.project["NAME"]); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "usr/bin/mend")); !os.IsNotExist(err) {
		t.Errorf("the program still exists after the package was removed: %v", err)
	}
}

// TestRpm: the RPM package can be installed into a folder, and its program runs.
func TestRpm(t *testing.T) {
	needProgram(t, "rpm")
	if os.Getuid() != 0 {
		t.Skip("rpm installs as root only")
	}
	r := newTestRelease(t)
	if err := r.writePackages(); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if _, err := run("", nil, "rpm", "--root="+root, "--dbpath=/db", "--install", r.glob(t, "*.rpm")); err != nil {
		t.Fatal(err)
	}
	checkProgram(t, filepath.Join(root, "usr/bin/mend"))
}

// TestNpm: the main package can be installed from a registry and from its packed file, npm chooses the package of the
// platform, and the program runs.
func TestNpm(t *testing.T) {
	needProgram(t, "npm")
	r := newTestRelease(t)
	r.addPlatforms()
	if err := r.writeNpm(); err != nil {
		t.Fatal(err)
	}
	registry := httptest.NewServer(r.npmRegistry(t))
	defer registry.Close()
	dir := t.TempDir()
	env := []string{
		"npm_config_registry=" + registry.URL, "npm_config_cache=" + filepath.Join(dir, "cache"), "npm_config_update_notifier=false",
		"npm_config_audit=false", "npm_config_fund=false", "HOME=" + dir,
	}
	if _, err := run(dir, env, "npm", "install", "--prefix", dir, r.project["NPM_PACKAGE"]); err != nil {
		t.Fatal(err)
	}
	installed, err := filepath.Glob(filepath.Join(dir, "node_modules", r.project["NPM_SCOPE"], "*"))
	if want := npmOS[host.os] + "-" + npmCPU[host.arch]; err != nil || len(installed) != 1 || filepath.Base(installed[0]) != want {
		t.Errorf("npm installed %q (%v), want %s alone", installed, err, want)
	}
	checkProgram(t, filepath.Join(dir, "node_modules/.bin/mend"))
	out, err := run(dir, append(env, "npm_config_yes=true"), "npx", "--prefix", dir, r.project["NPM_PACKAGE"], "version")
	if err != nil || !strings.Contains(string(out), testVersion) {
		t.Errorf("npx %s version: %q, %v, want %s in it", r.project["NPM_PACKAGE"], out, err, testVersion)
	}
	checkLauncher(t, filepath.Join(dir, "node_modules"), r)

	packed := filepath.Join(r.out, "npm", path.Base(r.project["NPM_PACKAGE"])+"-"+r.version+".tgz")
	if _, err := run(dir, append(env, "npm_config_prefix="+filepath.Join(dir, "global")), "npm", "install", "--global", packed); err != nil {
		t.Fatal(err)
	}
	checkProgram(t, filepath.Join(dir, "global/bin/mend"))
}

// checkLauncher checks that the launcher returns the exit code of the program, and that it prints a message without the
// package of the platform.
func checkLauncher(t *testing.T, modules string, r *release) {
	t.Helper()
	launcher := filepath.Join(modules, ".bin", "mend")
	var exit *exec.ExitError
	if _, err := exec.Command(launcher, "--nonsense").Output(); !errors.As(err, &exit) || exit.ExitCode() != 2 {
		t.Errorf("mend --nonsense: %v, want exit code 2", err)
	}
	if err := os.RemoveAll(filepath.Join(modules, r.project["NPM_SCOPE"])); err != nil {
		t.Fatal(err)
	}
	if _, err := exec.Command(launcher, "version").Output(); !errors.As(err, &exit) || !strings.Contains(string(exit.Stderr), "is not installed") {
		t.Errorf("mend without the package of the platform: %v, want a message", err)
	}
}

// npmRegistry serves the npm packages of the release.
func (r *release) npmRegistry(t *testing.T) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		name := strings.TrimPrefix(req.URL.Path, "/")
		if strings.HasSuffix(name, ".tgz") {
			http.ServeFile(w, req, filepath.Join(r.out, "npm", path.Base(name)))
			return
		}
		file := path.Base(name) + "-" + r.version + ".tgz"
		manifest := readNpmManifest(t, filepath.Join(r.out, "npm", file))
		if manifest["name"] != name {
			http.NotFound(w, req)
			return
		}
		manifest["dist"] = map[string]any{"tarball": "http://" + req.Host + "/" + file}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"name": name, "dist-tags": map[string]any{"latest": r.version}, "versions": map[string]any{r.version: manifest},
		})
	})
}

func readNpmManifest(t *testing.T, path string) map[string]any {
	var manifest map[string]any
	text, err := run("", nil, "tar", "-xzOf", path, "package/package.json")
	if err != nil {
		t.Error(err)
		return nil
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		t.Error(err)
	}
	return manifest
}

// TestBinary: the binary is static and does not contain the path of the source.
func TestBinary(t *testing.T) {
	r := newTestRelease(t)
	for p, binary := range r.binaries {
		wd, err := filepath.Abs("../..")
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(binary, []byte(wd)) {
			t.Errorf("the binary of %s contains the path %s", p, wd)
		}
		if p.os != "linux" {
			continue
		}
		f, err := elf.NewFile(bytes.NewReader(binary))
		if err != nil {
			t.Fatal(err)
		}
		if s := f.Section(".interp"); s != nil {
			t.Errorf("the binary of %s is linked dynamically", p)
		}
	}
}

// TestSBOM: the SBOM has every module that "go version -m" lists, and the licences have each of them.
func TestSBOM(t *testing.T) {
	r := newTestRelease(t)
	if err := r.writeSBOM(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(r.glob(t, "*.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(text), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	present := map[string]bool{}
	for _, c := range *bom.Components {
		present[c.Name+" "+c.Version] = true
	}
	binary := filepath.Join(t.TempDir(), "mend")
	if err := os.WriteFile(binary, r.binaries[host], 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := run("", nil, "go", "version", "-m", binary)
	if err != nil {
		t.Fatal(err)
	}
	listed := 0
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); f[0] == "dep" {
			listed++
			if !present[f[1]+" "+f[2]] {
				t.Errorf("the SBOM has no %s %s", f[1], f[2])
			}
			if !bytes.Contains(r.licenses, []byte("==== "+f[1]+" "+f[2])) {
				t.Errorf("THIRD_PARTY_LICENSES has no licence of %s %s", f[1], f[2])
			}
		}
	}
	if listed == 0 || len(present) != listed+1 {
		t.Errorf("the SBOM has %d components, want %d modules and Go", len(present), listed)
	}
}

// TestManifests: the Homebrew formula and the Scoop manifest are well formed, and have an archive with its hash for every
// platform. They are not installed.
func TestManifests(t *testing.T) {
	r := newTestRelease(t)
	r.addPlatforms()
	if err := r.writeArchives(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.writeFormula(), r.writeScoop()); err != nil {
		t.Fatal(err)
	}
	files := readAll(t, r.out)
	formula, manifest := string(files["homebrew/mend.rb"]), string(files["scoop/mend.json"])
	for _, p := range allPlatforms {
		text := formula
		if p.os == "windows" {
			text = manifest
		}
		name := r.archiveFile(p)
		if sum := fmt.Sprintf("%x", sha256.Sum256(files[name])); !strings.Contains(text, r.url(name)) || !strings.Contains(text, sum) {
			t.Errorf("%s with the hash %s is missing in\n%s", r.url(name), sum, text)
		}
	}
	var scoop struct {
		Version, Homepage, License string
		Architecture               map[string]struct {
			URL, Hash string
			Dir       string `json:"extract_dir"`
		}
	}
	if err := json.Unmarshal([]byte(manifest), &scoop); err != nil {
		t.Error(err)
	}
	if len(scoop.Architecture) != 2 || scoop.Version != testVersion || scoop.Homepage == "" || scoop.License == "" {
		t.Errorf("the Scoop manifest has %+v", scoop)
	}
	t.Run("Ruby", func(t *testing.T) {
		needProgram(t, "ruby")
		if _, err := run(r.out, nil, "ruby", "-c", "homebrew/mend.rb"); err != nil {
			t.Error(err)
		}
	})
}

// TestRenameModule: in a copy of the repository the module can be renamed, and no old path is left.
func TestRenameModule(t *testing.T) {
	const to = "example.com/owner/mend"
	dir := copyTree(t)
	env := filepath.Join(dir, "tools/dist/project.env")
	text, err := os.ReadFile(env)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(env, bytes.Replace(text, []byte("\nMODULE=mend\n"), []byte("\nMODULE="+to+"\n"), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := run(dir, nil, "make", "rename-module"); err != nil {
		t.Fatal(err)
	}
	checks := [][]string{
		{"build", "./cmd/mend"}, {"test", "-run", "TestLayers|TestWalk", "./internal/test/layout"}, {"list", "-deps", "-test", "./..."}, {"list", "-C", "tools/dist", "-deps", "."},
	}
	if !testing.Short() {
		checks = append(checks, []string{"build", "./..."}, []string{"vet", "./..."}, []string{"vet", "-tags", "e2e,man", "./..."})
	}
	for _, args := range checks {
		if _, err := run(dir, []string{"CGO_ENABLED=0", "GOWORK=off"}, "go", args...); err != nil {
			t.Error(err)
		}
	}
	out, err := run(dir, nil, "go", "list", "-deps", "./cmd/mend", "./internal/test/faulttest")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), to+"/cmd/mend\n") || strings.Contains("\n"+string(out), "\nmend/") {
		t.Errorf("packages after the module was renamed:\n%s", out)
	}
	left, err := run(dir, nil, "sh", "-c", `grep -rnE '"mend/(cmd|internal|change|repair|txn)|[[ ]mend/(change|internal)[],]' --include='*.go' --include=.golangci.yml . | grep -v '^./tools/dist/' || true`)
	if err != nil || len(left) > 0 {
		t.Errorf("the old module path is left (%v) in\n%s", err, left)
	}
}
