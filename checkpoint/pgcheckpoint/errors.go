package pgcheckpoint

import (
	"errors"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/unavailable"
)

// Errors of this package wrap these or the errors of package checkpoint.
var (
	// ErrThreadBusy is returned when another run holds the thread. It is a
	// [checkpoint.ErrConflict].
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#pgcheckpointerrthreadbusy.
	ErrThreadBusy = fmt.Errorf("another run holds the thread: %w", checkpoint.ErrConflict)
	// ErrFenced is returned when a lease was released, or lost to another run. Nothing
	// was stored. It is a [checkpoint.ErrConflict].
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#pgcheckpointerrfenced.
	ErrFenced = fmt.Errorf("the lease of the thread is lost: %w", checkpoint.ErrConflict)
	// ErrParked is returned when [Options.MaxRecoveries] consecutive runs of a thread died
	// without storing a step, for example because its state does not fit into the memory
	// of the process. [Store.Unpark] allows one more run.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#pgcheckpointerrparked.
	ErrParked = errors.New("the thread is parked")
	// ErrNotMigrated is returned when the database lacks the tables or functions that
	// [Migrate] creates.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#pgcheckpointerrnotmigrated.
	ErrNotMigrated = errors.New("the database is not migrated, see Migrate")
	// ErrUnreachable is returned when the database did not answer for
	// [Options.Patience]. The last statement may have taken effect.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#pgcheckpointerrunreachable.
	ErrUnreachable = unavailable.New("the database cannot be reached")
	// ErrFull is returned when the database has run out of disk or memory. Nothing was
	// written. Stored checkpoints can be read.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#pgcheckpointerrfull.
	ErrFull = unavailable.New("the database is full")
)

// fail adds the operation, the schema and the checkpoint to an error.
func (s *Store) fail(operation string, k checkpoint.Key, err error) error {
	about := fmt.Sprintf("pgcheckpoint: %s: schema %q, thread %q", operation, s.schema, k.Thread)
	if k.Namespace != "" {
		about += fmt.Sprintf(", namespace %q", k.Namespace)
	}
	if k.ID != "" {
		about += fmt.Sprintf(", checkpoint %q", k.ID)
	}
	return fmt.Errorf("%s: %w", about, classify(err))
}

// The statuses that the functions of the database return.
const (
	statusDone = iota
	statusConflict
	statusNotFound
	statusFenced
)
