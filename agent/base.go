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

func (base) Copy(context.Context, change.Head) (Copy, error)     { return Copy{}, errors.ErrUnsupported }
func (base) CopyOwner(change.Head) string                        { return "" }
func (base) Expiring(context.Context, time.Time) (Expiry, error) { return Expiry{}, nil }
func (base) SessionAt(context.Context, string) (change.Head, error) {
	return change.Head{}, fs.ErrNotExist
}
func (base) Former() string                                           { return "" }
func (base) Adopt(context.Context, *Copy) ([]change.Op, error)        { return nil, errors.ErrUnsupported }
func (base) Stamp(context.Context, change.Head) (change.Stamp, error) { return change.Stamp{}, nil }
func (base) State(context.Context) (change.Stamp, error)              { return change.Stamp{}, nil }
func (base) Refresh()                                                 {}
func (base) Settings(change.Head) string                              { return "" }
func (base) Busy(context.Context, change.Head, bool) bool             { return false }
func (base) Profile(version string) string                            { return version }
func (base) Verified(string) bool                                     { return false }
func (base) Newer(string) bool                                        { return false }
func (base) CheckFile(context.Context, change.Check) error            { return nil }
func (base) CheckAccess(bool) error                                   { return nil }
func (base) Changeable(context.Context) error                         { return nil }
func (base) CheckLinks(context.Context, []change.Ref) error           { return nil }
func (base) ListAbandoned(string) ([]string, error)                   { return nil, nil }
func (base) SameRepository(context.Context, change.Head, string) bool { return false }
func (base) Reclaim(context.Context) (before, after int64, err error) { return 0, 0, nil }
func (base) CheckFree(context.Context) error                          { return nil }
func (base) KeptFiles(string) KeptFiles                               { return nil }

func (base) RemovedMessages(context.Context, change.Head) (map[string]bool, error) { return nil, nil }

func (base) CountMissing(_, _ []change.Record, _ map[change.Ref]bool) Lack {
	return Lack{}
}

func (base) Restore(context.Context, change.Head, []change.Op, RestoreRequest) (Restoration, error) {
	return Restoration{}, errors.ErrUnsupported
}

func (base) SessionByID(context.Context, string) (change.Head, error) {
	return change.Head{}, errors.ErrUnsupported
}

func (base) OtherStores(context.Context, map[string]bool) ([]OtherStore, error) {
	return nil, nil
}

func (base) Examine(context.Context, change.Head, repair.Options) (Examination, error) {
	return Examination{}, errors.ErrUnsupported
}

func (base) Forecast(context.Context, change.Head, repair.Options) (Forecast, error) {
	return Forecast{}, errors.ErrUnsupported
}

func (base) DefaultRow(context.Context, change.Kind) (change.Record, error) {
	return change.Record{}, nil
}

func (base) Move(context.Context, []Relocation, func(change.Plan) error) error {
	return errors.ErrUnsupported
}

func (base) Salvage(context.Context, SalvageOptions) (Salvaged, error) {
	return Salvaged{}, errors.ErrUnsupported
}

func (base) Space(context.Context, func(done, total int64)) (Space, error) {
	return Space{}, errors.ErrUnsupported
}

func (base) Clean(context.Context, CleanRequest) (Cleaned, error) {
	return Cleaned{}, errors.ErrUnsupported
}

func (base) BuildAside(context.Context, change.Ref, bool, func(io.Writer) error) (change.Op, func(), error) {
	return change.Op{}, nil, errors.ErrUnsupported
}

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
