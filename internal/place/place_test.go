package place_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mend/internal/place"
	"mend/internal/test/storetest"
)

// folders creates folders, with a HEAD if the name ends in .git.
func folders(t *testing.T, dir string, all ...string) {
	t.Helper()
	for _, name := range all {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(path, 0o755)
		if err == nil && filepath.Base(name) == ".git" {
			err = os.WriteFile(filepath.Join(path, "HEAD"), []byte("ref: refs/heads/main\n"), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestFind: the most certain repository comes first, then folders with the same name, then neighbours with a similar
// name, at most five. Each work tree is compared once.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	folders(t, dir, "src/shop/.git", "src/shop/a/b", "work/other/.git", "work/app", "src/app2", "src/zzz", "lib/app", "src/far/app", "src/app-old", "src/appendix")
	compared := map[string]int{}
	var finder place.Finder
	found := finder.Find(t.Context(), filepath.Join(dir, "src", "app"), place.Search{
		Known: []string{filepath.Join(dir, "src/shop/a"), filepath.Join(dir, "work/other")},
		Same: func(_ context.Context, top string) int {
			compared[filepath.Base(top)]++
			return map[string]int{"other": 2, "shop": 1}[filepath.Base(top)]
		},
	})
	var got []string
	for _, c := range found.All {
		got = append(got, strings.TrimPrefix(c.Path, dir+"/"))
	}
	if diff := cmp.Diff([]string{"work/other", "src/shop", "src/far/app", "lib/app", "work/app"}, got); diff != "" {
		t.Errorf("Find (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"other": 1, "shop": 1}, compared); diff != "" || found.Certain() {
		t.Errorf("certain %t, want false; compared (-want +got):\n%s", found.Certain(), diff)
	}
}

// TestFindNeighbours: without a repository, only folders of the same name are proposed, the nearest first, and never a
// neighbour with a similar name.
func TestFindNeighbours(t *testing.T) {
	dir := t.TempDir()
	folders(t, dir, "app-old", "app2", "zzz", "xapp", "App")
	found := new(place.Finder).Find(t.Context(), filepath.Join(dir, "app", "sub"), place.Search{})
	if len(found.All) > 0 {
		t.Errorf("found %v, but none has the folder below", found.All)
	}
	folders(t, dir, "app2/deep/sub", "zzz/sub", "App/sub")
	found = new(place.Finder).Find(t.Context(), filepath.Join(dir, "app", "sub"), place.Search{})
	if len(found.All) != 2 || found.All[0].Path != filepath.Join(dir, "App", "sub") || found.All[1].Path != filepath.Join(dir, "zzz", "sub") {
		t.Errorf("found %v, want the two folders of the same name", found.All)
	}
}

// TestFindLarge: twenty searches beside 21,000 folders end in time, and after an incomplete search nothing is certain.
func TestFindLarge(t *testing.T) {
	storetest.NeedAllCases(t)
	dir := t.TempDir()
	for i := range 21_000 {
		if err := os.Mkdir(filepath.Join(dir, fmt.Sprintf("some folder %d", i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	folders(t, dir, "some folder 7/.git")
	began := time.Now()
	var finder place.Finder
	for i := range 20 {
		found := finder.Find(t.Context(), filepath.Join(dir, fmt.Sprint("gone ", i)), place.Search{Same: func(context.Context, string) int { return 1 }})
		if found.Certain() {
			t.Fatal("the result of an incomplete search is certain")
		}
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("twenty searches took %v", took)
	}
}

// TestFindHere: the current folder comes first if it can be the missing folder.
func TestFindHere(t *testing.T) {
	dir := t.TempDir()
	folders(t, dir, "src/renamed/sub", "src/worked", "moved/app", "other/thing")
	for _, c := range []struct{ here, want string }{
		{"src/renamed", "src/renamed"},
		{"src/renamed/sub", "src/renamed"},
		{"src/worked", "moved/app"}, // src/worked has sessions of its own
		{"moved/app", "moved/app"},
		{"other/thing", "moved/app"},
	} {
		found := new(place.Finder).Find(t.Context(), filepath.Join(dir, "src/app"), place.Search{
			Here: filepath.Join(dir, c.here), Known: []string{filepath.Join(dir, "src/worked")},
		})
		if len(found.All) == 0 || found.All[0].Path != filepath.Join(dir, c.want) {
			t.Errorf("in %s: found %v, want %s first", c.here, found.All, c.want)
		}
	}
}

// TestFindSameName: within a repository the folder of the same name comes before a work tree.
func TestFindSameName(t *testing.T) {
	dir := t.TempDir()
	folders(t, dir, "src/feature/.git", "moved/app/.git")
	found := new(place.Finder).Find(t.Context(), filepath.Join(dir, "src/app"), place.Search{Same: func(context.Context, string) int { return 1 }})
	if len(found.All) != 2 || found.All[0].Path != filepath.Join(dir, "moved/app") {
		t.Errorf("found %v, want the same name first", found.All)
	}
}

// TestFindInside: for a missing folder of a repository that still exists, a folder of the same name is proposed, but
// never the repository itself, one with a similar name, or a folder of another project.
func TestFindInside(t *testing.T) {
	dir := t.TempDir()
	folders(t, dir, "repo/.git", "repo/web2", "repo/docs", "web-shop")
	search := place.Search{
		Known: []string{filepath.Join(dir, "repo"), filepath.Join(dir, "web-shop")},
		Same:  func(_ context.Context, top string) int { return map[string]int{"repo": 1}[filepath.Base(top)] },
	}
	found := new(place.Finder).Find(t.Context(), filepath.Join(dir, "repo/web"), search)
	if len(found.All) > 0 {
		t.Errorf("found %v, want none", found.All)
	}
	folders(t, dir, "repo/apps/web")
	found = new(place.Finder).Find(t.Context(), filepath.Join(dir, "repo/web"), search)
	if len(found.All) != 1 || found.All[0].Path != filepath.Join(dir, "repo/apps/web") || !found.Certain() {
		t.Errorf("found %v, want repo/apps/web alone, and certain", found.All)
	}
	search.Same = nil
	if found := new(place.Finder).Find(t.Context(), filepath.Join(dir, "web"), search); len(found.All) > 0 {
		t.Errorf("found %v, want none", found.All)
	}
}
