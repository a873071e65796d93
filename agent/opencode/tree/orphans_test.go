package tree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mend/change"
	"mend/internal/test/storetest"
)

// TestOrphans: parts without their message and messages without their session are orphans; a
// folder without records is not.
func TestOrphans(t *testing.T) {
	for _, tr := range trees() {
		t.Run(strings.ReplaceAll(tr.message, "/", " "), func(t *testing.T) {
			root := tr.write(t)
			s := mustOpen(t, root, Options{})
			if tr.session != "" {
				want(t, s)
				storetest.Put(t, root, strings.ReplaceAll(tr.session, "ses_1", "ses_2"), storetest.SessionJSON("ses_2"))
			}
			if err := os.Remove(filepath.Join(root, fmt.Sprintf(tr.message, "msg_2"))); err != nil {
				t.Fatal(err)
			}
			storetest.Put(t, root, fmt.Sprintf(aPart, "msg_9", "note.txt/x"), "")
			lost := []string{"ses_1 part msg_2/prt_21", "ses_1 part msg_2/prt_22", "ses_1 part msg_2/prt_23", "ses_1 folder msg_2/"}
			if tr.session != "" {
				want(t, s, lost...)
				if err := os.Remove(filepath.Join(root, tr.session)); err != nil {
					t.Fatal(err)
				}
			}
			if tr.session != "" {
				lost = append([]string{
					"ses_1 message msg_1", "ses_1 part msg_1/prt_11", "ses_1 part msg_1/prt_12", "ses_1 part msg_1/prt_13", "ses_1 folder msg_1/",
					"ses_1 message msg_3", "ses_1 part msg_3/prt_31", "ses_1 part msg_3/prt_32", "ses_1 part msg_3/prt_33", "ses_1 folder msg_3/",
					"ses_1 message msg_4", "ses_1 folder ses_1/",
				}, lost...)
				want(t, s, lost...)
			} else if found, err := s.Orphans(t.Context()); !errors.Is(err, change.ErrHidden) {
				t.Errorf("Orphans without a record of any session = %v, %v, want ErrHidden", found, err)
			}
		})
	}
}

// want checks what is listed, and that every ref has a place.
func want(t *testing.T, s *Store, lines ...string) {
	t.Helper()
	found, err := s.Orphans(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range found {
		got = append(got, fmt.Sprintf("%s %v %s", r.Session, r.Kind, r))
		if p, _, err := (layout{}).Path(r); err != nil {
			t.Errorf("%+v has no place: %v", r, err)
		} else if _, err := os.Stat(filepath.Join(s.ID().Root, p)); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(lines, got); diff != "" {
		t.Errorf("Orphans (-want +got):\n%s", diff)
	}
}

// TestLoadAbandonedParts checks that a loaded session has the parts of a missing prompt that
// an assistant message still names.
func TestLoadAbandonedParts(t *testing.T) {
	root := storetest.SmallTree(t)
	storetest.Put(t, root, "message/ses_1/msg_2.json", `{"id":"msg_2","role":"assistant","parentID":"msg_1","time":{"created":1001}}`)
	if err := os.Remove(filepath.Join(root, "message/ses_1/msg_1.json")); err != nil {
		t.Fatal(err)
	}
	stray := mustLoad(t, mustOpen(t, root, Options{})).Stray
	if len(stray) != 3 || stray[0].Path != "part/msg_1/prt_11.json" || stray[0].Message != "msg_1" {
		t.Errorf("Load tells of %+v, want the three parts of msg_1", stray)
	}
}
