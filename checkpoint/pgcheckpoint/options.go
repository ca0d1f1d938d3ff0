package pgcheckpoint

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
)

// Options configures [New], [Open] and [Migrate]. Its zero value works.
type Options struct {
	// Schema holds the tables and functions of the store. Empty means "weft". It
	// is made of letters, digits, "_", "$" and "-", and does not begin with a digit.
	Schema string
	// Tenant keeps the threads of a store apart from those of others in the same
	// tables: a store sees only what was stored under its own tenant.
	Tenant string
	// MaxValue is the most bytes that one change or pending write may hold. Zero
	// means [checkpoint.DefaultMaxValue], 16 MB; a negative value means no limit
	// but PostgreSQL's own of 1 GB for the changes of a checkpoint.
	MaxValue int
	// Pooling says whether a transaction pooler is in between. Zero means to look
	// at the address.
	Pooling Pooling
	// LeaseTime is how long a lease holds without a sign of its run. Zero means
	// 30 seconds, and less than one second counts as one.
	LeaseTime time.Duration
	// Busy says what becomes of a run whose thread another run has.
	Busy BusyPolicy
	// BusyWait is how long [Wait] waits. Zero means as long as its context lets it.
	BusyWait time.Duration
	// MaxRecoveries is how many runs in a row a thread may have that store no step, when
	// the last of them died and left its lease to run out. Then it is parked, and any
	// other is an [ErrParked]: a thread that kills its processes kills no more. Zero
	// means five; with a negative value there is no end.
	MaxRecoveries int
	// Patience is how long a call goes on trying while the database can not be
	// reached, until it is an [ErrUnreachable]. Zero means 15 seconds; with a negative
	// value it tries once. However many calls there are, a store on a pool that gets
	// no connections makes one of them try at most once a second, and the others wait.
	Patience time.Duration
	// Timeout is how long one statement may take before its connection counts as
	// lost. Zero means 10 seconds. It does not bound what maintains a whole thread:
	// copying, pruning and deleting.
	Timeout time.Duration
	// Before, when set, queues statements that are to run ahead of each call of
	// the store, in the same transaction and the same round trip, such as one that
	// sets a role for it. It is called by any number of goroutines. Behind a
	// transaction pooler, the connections must not cache statements; those of
	// [Open] do not.
	Before func(ctx context.Context, b *pgx.Batch) error
}

// Pooling says what a [Store] may expect of its connections.
type Pooling int

// What there may be between a store and its database.
const (
	// Detect takes for a transaction pooler what listens on port 6543 or 6432,
	// has a host named "pooler." or "-pooler.", or is given the parameter
	// pgbouncer=true.
	Detect Pooling = iota
	// Direct is a connection of its own, where statements are prepared once.
	Direct
	// Transaction is a pooler, such as PgBouncer or Supavisor, that gives a
	// connection for the length of a transaction.
	Transaction
)

// BusyPolicy says what becomes of a run whose thread another run has.
type BusyPolicy int

// What may become of it.
const (
	// Reject refuses it at once with [ErrThreadBusy].
	Reject BusyPolicy = iota
	// Wait lets it wait until the thread is free.
	Wait
	// Interrupt takes the thread from the other run, which stores nothing more:
	// its next step is an [ErrFenced]. What it has stored stays.
	Interrupt
	// Rollback does the same, and removes what the other run has stored.
	Rollback
)

const (
	defaultSchema    = "weft"
	defaultLeaseTime = 30 * time.Second
	defaultPatience  = 15 * time.Second
	defaultTimeout   = 10 * time.Second

	// labour is how long a statement may take that works on a whole thread.
	labour = 10 * time.Minute
)

var schemaName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,62}$`)

func (o *Options) check() error {
	switch {
	case o.Schema != "" && !schemaName.MatchString(o.Schema):
		return fmt.Errorf("schema %q: %w", o.Schema, checkpoint.ErrInvalid)
	case o.Pooling < Detect || o.Pooling > Transaction:
		return fmt.Errorf("pooling %d: %w", o.Pooling, checkpoint.ErrInvalid)
	case o.Busy < Reject || o.Busy > Rollback:
		return fmt.Errorf("busy policy %d: %w", o.Busy, checkpoint.ErrInvalid)
	case o.BusyWait < 0 || o.Timeout < 0:
		return fmt.Errorf("negative BusyWait %v or Timeout %v: %w", o.BusyWait, o.Timeout, checkpoint.ErrInvalid)
	}
	return checkName("tenant", o.Tenant)
}

func (o *Options) schema() string {
	if o.Schema == "" {
		return defaultSchema
	}
	return o.Schema
}

func (o *Options) leaseTime() time.Duration {
	if o.LeaseTime == 0 {
		return defaultLeaseTime
	}
	return max(o.LeaseTime, time.Second)
}

func (o *Options) patience() time.Duration {
	if o.Patience == 0 {
		return defaultPatience
	}
	return max(o.Patience, 0)
}
