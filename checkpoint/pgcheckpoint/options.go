package pgcheckpoint

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
)

// Options configures [New], [Open] and [Migrate]. The zero value works.
type Options struct {
	// Schema holds the tables and functions of the store. Empty means "weft". It may
	// contain letters, digits, "_" and "-", and cannot begin with a digit or "-".
	Schema string
	// Tenant separates the threads of stores that share tables: a store sees only the
	// threads of its own tenant.
	Tenant string
	// MaxValue is the maximum number of bytes in one value: the Control of a checkpoint, or
	// the Data of a change or of a pending write. Zero means [checkpoint.DefaultMaxValue],
	// 16 MB. A negative MaxValue means no limit except PostgreSQL's own limit of 1 GB for all
	// changes of a checkpoint.
	MaxValue int
	// Pooling tells the store whether there is a transaction pooler between it and the
	// database. The zero value detects it.
	Pooling Pooling
	// LeaseTime is the time from the last renewal of a lease to its expiry. Zero means
	// 30 seconds. The minimum is one second.
	LeaseTime time.Duration
	// Busy decides what happens to a run when another run holds its thread.
	Busy BusyPolicy
	// BusyWait is the maximum time that [Wait] waits. Zero means until the context of the run
	// ends.
	BusyWait time.Duration
	// MaxRecoveries is the number of consecutive runs that may end without storing a step.
	// When that many have ended, and the last of them died, the thread is parked: Lease
	// returns [ErrParked]. So a thread that crashes its processes cannot crash all of them.
	// Zero means five. A negative value means no limit.
	MaxRecoveries int
	// Patience is the time for which a call is retried while the database cannot be reached,
	// before it returns [ErrUnreachable]. Zero means 15 seconds. With a negative value,
	// a call is tried once.
	//
	// A call takes at most the longer of Patience and Timeout. The calls through one lease
	// share one Patience. After the database has been silent for longer than Patience, each
	// later call of the run is tried once, for half a second. So a silent database delays a
	// run for at most Patience plus Timeout, plus half a second for each later call.
	//
	// A store on a pool limits connection attempts: while no connection can be made,
	// one call tries at most once a second, and the others wait for its result.
	Patience time.Duration
	// Timeout is the maximum time of one statement, including the wait for a connection. When
	// Timeout has passed, the connection counts as lost. Zero means 10 seconds. Timeout does
	// not apply to calls that work on whole threads: copy, prune, delete, repair and find.
	Timeout time.Duration
	// Before, when set, queues statements that run before each call of the store, in
	// the same transaction and the same round trip, for example to set a role. It must
	// be safe for concurrent use. Behind a transaction pooler, the connections must not
	// cache statements; use [Open] or [PoolConfig].
	Before func(ctx context.Context, b *pgx.Batch) error
}

// Pooling tells a [Store] whether its connections go through a transaction pooler.
type Pooling int

// The kinds of connections.
const (
	// Detect assumes a transaction pooler if the URL has the port 6543 or 6432, the
	// parameter pgbouncer=true, or a host name with a part that is "pooler" or ends with
	// "-pooler", as in "x-pooler.example.com". Otherwise, a pool of [Open] or [PoolConfig]
	// opens one more connection to find out whether the client is connected to the server
	// process itself.
	Detect Pooling = iota
	// Direct is a connection to the server. Statements are prepared once for each
	// connection.
	Direct
	// Transaction is a connection through a pooler, such as PgBouncer or Supavisor, that
	// assigns a server connection for each transaction. Statements are not prepared.
	Transaction
)

// A BusyPolicy decides what happens to a run when another run holds its thread.
type BusyPolicy int

// The busy policies.
const (
	// Reject returns [ErrThreadBusy] at once.
	Reject BusyPolicy = iota
	// Wait waits until the thread is free. It asks the database again at random
	// intervals of up to 250 ms. Waiting runs get the thread in no particular order.
	Wait
	// Interrupt takes the thread from the other run. The next step of the other run returns
	// [ErrFenced] and stores nothing. Its earlier checkpoints are kept.
	Interrupt
	// Rollback takes the thread like Interrupt, and removes the checkpoints that the
	// other run has stored under its lease.
	Rollback
)

const (
	defaultSchema    = "weft"
	defaultLeaseTime = 30 * time.Second
	defaultPatience  = 15 * time.Second
	defaultTimeout   = 10 * time.Second

	// maintenanceTimeout is the maximum time of a statement or transaction that works on
	// whole threads.
	maintenanceTimeout = 10 * time.Minute
)

var schemaName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,62}$`)

func (o *Options) check() error {
	switch {
	case o.Schema != "" && !schemaName.MatchString(o.Schema):
		return fmt.Errorf("schema %q contains other characters than letters, digits, _ and -: %w", o.Schema, checkpoint.ErrInvalid)
	case o.Pooling < Detect || o.Pooling > Transaction:
		return fmt.Errorf("unknown pooling %d: %w", o.Pooling, checkpoint.ErrInvalid)
	case o.Busy < Reject || o.Busy > Rollback:
		return fmt.Errorf("unknown busy policy %d: %w", o.Busy, checkpoint.ErrInvalid)
	case o.BusyWait < 0 || o.Timeout < 0:
		return fmt.Errorf("BusyWait %v or Timeout %v is negative: %w", o.BusyWait, o.Timeout, checkpoint.ErrInvalid)
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
