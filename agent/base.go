package agent

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"time"

	"mend/change"
	"mend/internal/request"
	"mend/repair"
)

// A Base is embedded in a [Store]. For everything that the store does not support, its methods
// return an empty result or [errors.ErrUnsupported]. Methods of other embedded types take
// precedence.
type Base struct{ base }

type base struct{}

// Copy implements [Store].
func (base) Copy(context.Context, change.Head) (Copy, error) {
	return Copy{}, errors.ErrUnsupported
}

// CopiedWith implements [Store].
func (base) CopiedWith(change.Head) string { return "" }

// CountMissing implements [Reader].
func (base) CountMissing(_, _ []change.Record, _ map[change.Ref]bool) Lack { return Lack{} }

// Restore implements [Store].
func (base) Restore(context.Context, change.Head, []change.Op, RestoreRequest) (Restoration, error) {
	return Restoration{}, errors.ErrUnsupported
}

// Expiring implements [Reader]: there is nothing.
func (base) Expiring(context.Context, time.Time) (Expiry, error) { return Expiry{}, nil }

// SessionAt returns [fs.ErrNotExist]: no session has a file of its own.
func (base) SessionAt(context.Context, string) (change.Head, error) {
	return change.Head{}, fs.ErrNotExist
}

// SessionByID implements [Store].
func (base) SessionByID(context.Context, string) (change.Head, error) {
	return change.Head{}, errors.ErrUnsupported
}

// Former implements [Store].
func (base) Former() string { return "" }

// OtherStores implements [Reader].
func (base) OtherStores(context.Context, map[string]bool) ([]OtherStore, error) { return nil, nil }

// Adopt implements [Reader].
func (base) Adopt(context.Context, *Copy) ([]change.Op, error) { return nil, errors.ErrUnsupported }

// Stamp returns the zero stamp: every scan reads the session.
func (base) Stamp(context.Context, change.Head) (change.Stamp, error) { return change.Stamp{}, nil }

// State returns the zero stamp: every scan lists the sessions.
func (base) State(context.Context) (change.Stamp, error) { return change.Stamp{}, nil }

// Examine leaves the diagnosis to the engine.
func (base) Examine(context.Context, change.Head, repair.Options) (Examination, error) {
	return Examination{}, errors.ErrUnsupported
}

// Refresh implements [Store].
func (base) Refresh() {}

// Settings implements [Store].
func (base) Settings(change.Head) string { return "" }

// Busy implements [Store].
func (base) Busy(context.Context, change.Head, bool) bool { return false }

// Profile returns the version itself.
func (base) Profile(version string) string { return version }

// Verified implements [Store].
func (base) Verified(string) bool { return false }

// Newer implements [Store].
func (base) Newer(string) bool { return false }

// Forecast implements [Store].
func (base) Forecast(context.Context, change.Head, repair.Options) (Forecast, error) {
	return Forecast{}, errors.ErrUnsupported
}

// CheckFile implements [Store].
func (base) CheckFile(context.Context, change.Check) error { return nil }

// CheckAccess implements [Store].
func (base) CheckAccess(bool) error { return nil }

// Changeable implements [Store].
func (base) Changeable(context.Context) error { return nil }

// CheckLinks implements [Store].
func (base) CheckLinks(context.Context, []change.Ref) error { return nil }

// Abandoned implements [Store].
func (base) Abandoned(string) ([]string, error) { return nil, nil }

// DefaultRow implements [Store].
func (base) DefaultRow(context.Context, change.Kind) (change.Record, error) {
	return change.Record{}, nil
}

// Move implements [Store].
func (base) Move(context.Context, []Relocation, func(change.Plan) error) error {
	return errors.ErrUnsupported
}

// SameRepository implements [Store].
func (base) SameRepository(context.Context, change.Head, string) bool { return false }

// Salvage returns [errors.ErrUnsupported].
func (base) Salvage(context.Context, SalvageOptions) (Salvaged, error) {
	return Salvaged{}, errors.ErrUnsupported
}

// Space returns [errors.ErrUnsupported].
func (base) Space(context.Context, func(done, total int64)) (Space, error) {
	return Space{}, errors.ErrUnsupported
}

// Clean returns [errors.ErrUnsupported].
func (base) Clean(context.Context, CleanRequest) (Cleaned, error) {
	return Cleaned{}, errors.ErrUnsupported
}

// Reclaim implements [Store].
func (base) Reclaim(context.Context) (before, after int64, err error) { return 0, 0, nil }

// Holders implements [Store].
func (base) Holders(context.Context) ([]string, error) { return nil, nil }

// BuildAside implements [Store].
func (base) BuildAside(context.Context, change.Ref, bool, func(io.Writer) error) (change.Op, func() error, error) {
	return change.Op{}, nil, errors.ErrUnsupported
}

// KeptFiles implements [Store].
func (base) KeptFiles(string) KeptFiles { return nil }

// A BaseAgent is embedded in an [Agent]. Its methods return an empty result for everything that the
// agent does not support.
type BaseAgent struct{}

// ParseAPIError returns the zero error: it knows none.
func (BaseAgent) ParseAPIError([]byte) request.APIError { return request.APIError{} }

// Guide returns the engine's guide.
func (BaseAgent) Guide() repair.Guide {
	return repair.Guide{Classes: repair.Classes(), Class: repair.ExplainClass}
}

// Providers implements [Agent].
func (BaseAgent) Providers() []string { return nil }

// Resume implements [Agent].
func (BaseAgent) Resume(string) []string { return nil }

// Reload implements [Agent].
func (BaseAgent) Reload(string) string { return "" }

// Installer implements [Agent].
func (BaseAgent) Installer() Installer { return nil }
