package pgcheckpoint

import (
	"errors"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
)

// What errors of this package wrap besides those of package checkpoint.
var (
	// ErrThreadBusy says that another run has the thread. It is a
	// [checkpoint.ErrConflict].
	ErrThreadBusy = fmt.Errorf("another run has the thread: %w", checkpoint.ErrConflict)
	// ErrFenced says that a lease was released, or lost to another run, and that
	// nothing was stored. It is a [checkpoint.ErrConflict].
	ErrFenced = fmt.Errorf("the lease of the thread is lost: %w", checkpoint.ErrConflict)
	// ErrParked says that the runs of a thread have died, as those of a thread do that
	// is too large for its process, and that it was recovered [Options.MaxRecoveries]
	// times without a step. [Store.Unpark] lets it run once more.
	ErrParked = errors.New("the thread is parked")
	// ErrNotMigrated says that the database lacks what [Migrate] makes.
	ErrNotMigrated = errors.New("the database is not migrated, see Migrate")
	// ErrUnreachable says that the database could not be reached for
	// [Options.Patience]. What was last sent may have taken effect.
	ErrUnreachable = errors.New("the database can not be reached")
	// ErrFull says that the database has run out of disk or memory. Nothing was
	// written; what is there can be read.
	ErrFull = errors.New("the database is full")
)

// fail says what could not be done, in which schema and for which checkpoint.
func (s *Store) fail(what string, k checkpoint.Key, err error) error {
	about := fmt.Sprintf("pgcheckpoint: %s: schema %q, thread %q", what, s.schema, k.Thread)
	if k.Namespace != "" {
		about += fmt.Sprintf(", namespace %q", k.Namespace)
	}
	if k.ID != "" {
		about += fmt.Sprintf(", checkpoint %q", k.ID)
	}
	return fmt.Errorf("%s: %w", about, classify(err))
}

// What the functions of the database return.
const (
	statusDone = iota
	statusConflict
	statusNotFound
	statusFenced
)
