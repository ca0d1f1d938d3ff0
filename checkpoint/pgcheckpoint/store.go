package pgcheckpoint

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/pgdb"
)

// Store is a [checkpoint.Store] in PostgreSQL. It is also a [checkpoint.Leaser],
// [checkpoint.ThreadLister], [checkpoint.StatusLister], [checkpoint.ThreadCopier],
// [checkpoint.Pruner] and [checkpoint.RunDeleter]. It is safe for concurrent use. On a single connection or in
// a transaction, its calls are serialized.
type Store struct {
	link      *link
	pool      *pgxpool.Pool // closed by Close; nil if the caller owns the DB
	schema    string
	quoted    string
	tenant    string
	maxValue  int
	leaseTime time.Duration
	busy      BusyPolicy
	busyWait  time.Duration
	patience  time.Duration
	timeout   time.Duration

	recoveries int32
	outage     *outage // of a run; nil outside of a lease
}

var _ interface {
	checkpoint.Store
	checkpoint.Leaser
	checkpoint.ThreadLister
	checkpoint.StatusLister
	checkpoint.ThreadCopier
	checkpoint.Pruner
	checkpoint.RunDeleter
} = (*Store)(nil)

// New returns a store that works on db. The caller closes db. A store is cheap: one pool
// can have several stores with different options. In a transaction, the writes of the
// store take effect when the caller commits. A lost connection ends the transaction.
//
// New returns [ErrNotMigrated] if the database lacks the tables of this version, and
// [checkpoint.ErrFormat] if a newer version of this package has migrated it.
func New(ctx context.Context, db DB, o Options) (*Store, error) {
	s, err := newStore(ctx, db, o)
	if err != nil {
		return nil, fmt.Errorf("pgcheckpoint: new: %w", classify(err))
	}
	return s, nil
}

func newStore(ctx context.Context, db DB, o Options) (*Store, error) {
	s, err := makeStore(db, o)
	if err != nil {
		return nil, err
	}
	if o.Before != nil {
		if err := s.link.checkBefore(); err != nil {
			return nil, err
		}
	}
	return s, s.checkVersion(ctx)
}

func makeStore(db DB, o Options) (*Store, error) {
	if db == nil {
		return nil, fmt.Errorf("no database: %w", checkpoint.ErrInvalid)
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	return &Store{
		link:      newLink(db, &o),
		schema:    o.schema(),
		quoted:    pgx.Identifier{o.schema()}.Sanitize(),
		tenant:    o.Tenant,
		maxValue:  o.MaxValue,
		leaseTime: o.leaseTime(),
		busy:      o.Busy,
		busyWait:  o.BusyWait,
		patience:  o.patience(),
		timeout:   cmp.Or(o.Timeout, defaultTimeout),

		recoveries: o.recoveries(),
	}, nil
}

// Open connects to a database, migrates it if needed, and returns a store with its own
// pool. The caller closes the store. The address has a form that pgxpool.ParseConfig accepts.
// It may also have the parameter pgbouncer=true.
func Open(ctx context.Context, address string, o Options) (*Store, error) {
	s, err := open(ctx, address, o)
	if err != nil {
		return nil, fmt.Errorf("pgcheckpoint: open: %w", classify(err))
	}
	return s, nil
}

func open(ctx context.Context, address string, o Options) (*Store, error) {
	config, err := PoolConfig(address, o.Pooling)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	s, err := makeStore(pool, o)
	if err == nil {
		err = s.migrate(ctx)
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	s.pool = pool
	return s, nil
}

// Close closes the pool of [Open] after the calls that use it have ended. It does not
// close a DB that was given to [New].
func (s *Store) Close() {
	if s.pool != nil {
		s.pool.Close()
	}
}

// PoolConfig returns the configuration of a pool for an address; see [Open]. With a
// transaction pooler, the connections do not prepare statements. With [Detect], the first
// connection of the pool detects whether there is a transaction pooler. Connecting takes at
// most five seconds unless the address has a connect_timeout. Idle connections are not pinged
// before use: if a connection is lost, the store sends the call again.
func PoolConfig(address string, p Pooling) (*pgxpool.Config, error) {
	return pgdb.PoolConfig(address, p.known())
}

// sql replaces the default schema in a statement by the store's schema.
func (s *Store) sql(text string) string {
	if s.schema == defaultSchema {
		return text
	}
	return strings.ReplaceAll(text, defaultSchema+".", s.quoted+".")
}

// query sends one statement in one round trip and reads its rows. It retries the statement
// after a lost connection or a conflict with another transaction.
func (s *Store) query(ctx context.Context, text string, args []any, read func(pgx.Rows) error) error {
	return s.queryWithin(ctx, s.timeout, text, args, read)
}

// queryWithin is query with another limit than [Options.Timeout].
func (s *Store) queryWithin(ctx context.Context, limit time.Duration, text string, args []any, read func(pgx.Rows) error) error {
	text = s.sql(text)
	return s.retry(ctx, limit, func(t try) error {
		return s.link.send(ctx, t.limit, text, args, read)
	})
}
