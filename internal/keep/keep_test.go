package keep

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"mend/change"
	"mend/internal/test/storetest"
)

type session struct {
	r       *rand.Rand
	records []change.Record
}

// Save adds a state and writes it durably.
func (k *Keep) Save(ctx context.Context, s State, r Records) (Saved, error) {
	saved, err := k.Add(ctx, s, r)
	if err == nil {
		err = k.Flush()
	}
	if err != nil {
		return Saved{}, err
	}
	return saved, nil
}

func (s *session) text(n int) []byte {
	b := make([]byte, 0, n)
	for len(b) < n {
		b = fmt.Appendf(b, "%x %s\n", s.r.Uint32(), "the quick brown fox jumps over the lazy dog"[:s.r.IntN(40)])
	}
	return b[:n]
}

// turn appends a prompt and an answer, and changes the first record.
func (s *session) turn() {
	if len(s.records) == 0 {
		s.records = append(s.records, change.Record{Ref: change.Ref{Kind: change.KindSession, Session: "ses_1"}, Cols: change.NewCols(change.TextCol("id", "ses_1"))})
	}
	s.records[0].Data = s.text(200)
	for range 2 {
		id := fmt.Sprintf("msg_%06d", len(s.records))
		s.records = append(s.records, change.Record{Ref: change.Ref{Kind: change.KindMessage, Session: "ses_1", Message: id}, Mode: 0o644, Data: s.text(s.r.IntN(6000))})
	}
}

func (s *session) state() State {
	return State{
		Agent: "toy", Store: change.StoreID{Kind: "toy", Root: "/toy"}, Session: "ses_1", Ref: s.records[0].Ref,
		Messages: len(s.records) - 1, First: s.records[1].Ref.Message,
	}
}

func (s *session) all(yield func(*change.Record) bool) {
	for i := range s.records {
		if !yield(&s.records[i]) {
			return
		}
	}
}

func (s *session) images() (ops []change.Op) {
	for r := range s.all {
		ops = append(ops, change.Op{Ref: r.Ref, Post: change.ImageOf(r)})
	}
	return ops
}

func mustOpen(t *testing.T, dir string, o Options) *Keep {
	t.Helper()
	k, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.Close() })
	return k
}

func same(a, b change.Op) bool { return a.Ref == b.Ref && a.Post.Equal(b.Post) }

// TestTurns: each of 100 kept turns can be loaded, and the same records make no new state.
func TestTurns(t *testing.T) {
	s := &session{r: rand.New(rand.NewPCG(1, 2))}
	k := mustOpen(t, t.TempDir(), Options{})
	var want [][]change.Op
	for range 100 {
		s.turn()
		saved, err := k.Save(t.Context(), s.state(), s.all)
		if err != nil || !saved.New || saved.State.Lost != 0 {
			t.Fatalf("Save = %+v, %v, want a new state", saved, err)
		}
		want = append(want, s.images())
	}
	again, err := k.Save(t.Context(), s.state(), s.all)
	if err != nil || again.New || again.Bytes != 0 {
		t.Errorf("Save of the same records = %+v, %v, want nothing new", again, err)
	}
	states, err := k.States(Query{Session: "ses_1"})
	if err != nil || len(states) != len(want) {
		t.Fatalf("%d states, %v, want %d", len(states), err, len(want))
	}
	for i, st := range states { // newest first
		got, err := k.Load(t.Context(), st)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(got, want[len(want)-1-i], same) {
			t.Errorf("state %s has other records", st.ID)
		}
	}
}

// TestTurnBytes: 20 saves of three turns each add at most 0.7 of the bytes that the turns add to the store, as rows and
// as a transcript, although each turn changes the chunk with the size of the transcript, or the row of the session.
func TestTurnBytes(t *testing.T) {
	for _, kind := range []string{"sqlite", "lines"} {
		t.Run(kind, func(t *testing.T) {
			s := &session{r: rand.New(rand.NewPCG(5, 6))}
			k := mustOpen(t, t.TempDir(), Options{})
			saves := storetest.Count(120, 60)
			size, begin, added := 0, 0, int64(0)
			for n := range saves {
				for range 3 {
					s.turn()
				}
				state, records := s.state(), s.records
				state.Store.Kind = kind
				if kind == "lines" {
					var whole []byte
					for _, r := range records[1:] {
						whole = append(append(whole, r.Data...), '\n')
					}
					records = []change.Record{{Ref: records[0].Ref, Mode: 0o600, Data: whole}}
				}
				size = 0
				for _, r := range records {
					size += len(r.Data)
				}
				saved, err := k.Save(t.Context(), state, func(yield func(*change.Record) bool) {
					for i := range records {
						if !yield(&records[i]) {
							return
						}
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				if added += saved.Bytes; n == saves-21 {
					added, begin = 0, size
				}
			}
			if grown := int64(size - begin); 10*added > 7*grown {
				t.Errorf("20 saves add %d bytes to the copies, and %d to the store", added, grown)
			}
		})
	}
}

// TestLost: a session with fewer messages than before has lost the rest, and a session with a different first message
// has lost all.
func TestLost(t *testing.T) {
	s := &session{r: rand.New(rand.NewPCG(3, 4))}
	k := mustOpen(t, t.TempDir(), Options{})
	for range 3 {
		s.turn()
	}
	save := func() State {
		saved, err := k.Save(t.Context(), s.state(), s.all)
		if err != nil {
			t.Fatal(err)
		}
		return saved.State
	}
	save()
	all := s.records
	s.records = all[:5]
	if got := save().Lost; got != 2 {
		t.Errorf("without the last two messages %d are lost, want 2", got)
	}
	s.records = slices.Concat(all[:1], all[2:])
	if got := save().Lost; got != 4 {
		t.Errorf("with another first message %d are lost, want 4", got)
	}
}
