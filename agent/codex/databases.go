package codex

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"mend/agent"
	"mend/agent/codex/rollout"
	"mend/change"
	"mend/sqlstore"
)

// databases are the files that Codex rebuilds from the rollouts if they are missing. If Codex cannot use one of them,
// it opens no session. migrations has the first bytes of the checksums of the migrations in Codex 0.171.0: Codex
// ignores an unknown migration, and refuses a known one with another checksum.
var databases = []struct{ name, migrations string }{
	{"state_5.sqlite", "627EF191521B72CBE58A28628ADC25131AC64F85A203FC4B7E35A464AA3F287F8B4693608ADAF13631ECECBD0012A213" +
		"05526A094D2FBB240EECE6DB4768F7434CBDB2EDA43630033884C02F07673F48EA1AEBE4160FE01BE6C748A9E92AA526" +
		"D6FB51D76C62A325D84DCA6AEF44ADAAE9EC76F980C1CDAC943675A93C01D6154904AAE3D6FEA739D7B56ACB6381F7BB" +
		"F6A5AB0DE7778522C217B3D1A7A996740DC734DBCFDC4FD4605128E75D29223BA7FADC8C63ADDF611AE117E49D298333" +
		"FAF45C39D2802E9623360A03071E9631E86EF7CCE62A99776DAADC555DE44FAC729562C568467AF34297DFFBD7F0CF0A" +
		"4A833704DAB8B7C8DFFDC4B9A6862D0A"},
	{"thread_history_1.sqlite", "2AD9A4ABAE61DBC1A51DA2A165F33B172FDAD8E302ED82D39334ADB494635CD54DEF92EA"},
}

// checksumSize is the number of bytes of a checksum that are compared.
const checksumSize = 4

// CheckFile implements [agent.Store]. It reports the first database that Codex cannot use.
func (s *store) CheckFile(ctx context.Context, _ change.Check) error {
	for _, d := range databases {
		file := filepath.Join(s.ID().Root, d.name)
		if why := whyUnusable(ctx, file, d.migrations); why != "" {
			return &change.DamagedError{File: file, Why: why}
		}
	}
	return ctx.Err()
}

// whyUnusable returns why Codex cannot use a database; "" if it can, or rebuilds it.
func whyUnusable(ctx context.Context, file, migrations string) (why string) {
	if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return ""
	}
	name := filepath.Base(file)
	db, err := sqlstore.Open(file, nil, sqlstore.Options{})
	if err == nil {
		err = db.View(ctx, func(c *sqlstore.Conn) error {
			if found, err := c.Has("SELECT 1 FROM sqlite_schema WHERE name = '_sqlx_migrations'"); !found {
				return err
			}
			return c.Query("SELECT version, success, hex(checksum) FROM _sqlx_migrations", nil, func(st *sqlite3.Stmt) error {
				version, size := st.ColumnInt64(0), int64(2*checksumSize)
				switch at := (version - 1) * size; {
				case !st.ColumnBool(1):
					why = fmt.Sprintf("%s: migration %d was not completed", name, version)
				case at >= 0 && at+size <= int64(len(migrations)) && !strings.HasPrefix(st.ColumnText(2), migrations[at:at+size]):
					why = fmt.Sprintf("%s: migration %d differs from Codex's", name, version)
				}
				return nil
			})
		})
	}
	switch {
	case errors.Is(err, change.ErrLocked), ctx.Err() != nil, why != "":
		return why
	case err == nil:
		err = db.CheckFile(ctx, change.CheckAll)
	}
	if damaged, ok := errors.AsType[*change.DamagedError](err); ok {
		return name + ": " + damaged.Why
	}
	if err != nil && !errors.Is(err, change.ErrLocked) && ctx.Err() == nil {
		return name + ": " + err.Error()
	}
	return ""
}

// Salvage implements [agent.Store]. It sets aside the first database that Codex cannot use, so that Codex rebuilds it.
func (s *store) Salvage(ctx context.Context, o agent.SalvageOptions) (out agent.Salvaged, err error) {
	damaged, ok := errors.AsType[*change.DamagedError](s.CheckFile(ctx, change.CheckAll))
	if !ok {
		return out, ctx.Err()
	}
	name := filepath.Base(damaged.File)
	if err := s.file(name).CheckFree(ctx); err != nil {
		return out, err
	}
	out.Damaged = true
	const note = "%s is set aside. Codex rebuilds it from the rollouts, which contain all conversations."
	out.Notes = []string{fmt.Sprintf(note, name)}
	if o.DryRun {
		return out, nil
	}
	ref := change.Ref{Kind: change.KindDatabase, Part: name}
	now, err := s.Read(ctx, []change.Ref{ref})
	if err == nil {
		out.Ops = []change.Op{{Ref: ref, Pre: now[0]}}
	}
	return out, err
}

func (s *store) BuildAside(ctx context.Context, ref change.Ref, dry bool, write func(io.Writer) error) (change.Op, func(), error) {
	return s.Store.BuildAside(ctx, rollout.PlainRef(ref), dry, write)
}

// file returns a database for changes of the whole file.
func (s *store) file(name string) *sqlstore.Store {
	return sqlstore.NewUnopened(filepath.Join(s.ID().Root, name), s.step)
}
