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
// [checkpoint.ThreadLister], [checkpoint.ThreadCopier], [checkpoint.Pruner] and
// [checkpoint.RunDeleter]. It is safe for use by any number of goroutines, also on
// a single connection or in a transaction, where they take turns.
type Store struct {
	link      *link
	pool      *pgxpool.Pool // to close; nil for a DB of the caller's
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
}

var _ interface {
	checkpoint.Store
	checkpoint.Leaser
	checkpoint.ThreadLister
	checkpoint.ThreadCopier
	checkpoint.Pruner
	checkpoint.RunDeleter
} = (*Store)(nil)

// New returns a store that works on db, which stays the caller's. A store is
// cheap: there may be several on one pool, with different options. In a
// transaction, what the store does takes effect when the caller commits, and
// after a failure of the connection the transaction is lost.
//
// New asks the database whether it is migrated: [ErrNotMigrated] says that it is
// not, and [checkpoint.ErrFormat] that a newer version of this package has been at
// it.
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

// Open connects to a database, migrates it unless that is done, and returns a
// store with a pool of its own. The caller closes the store. The URL is one as
// pgxpool.ParseConfig reads it; it may also have the parameter pgbouncer=true.
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

// Close closes the pool of [Open], once the calls that use it have ended. It does
// nothing to what was given to [New].
func (s *Store) Close() {
	if s.pool != nil {
		s.pool.Close()
	}
}

// PoolConfig returns what a pool for the URL is to be made of. Behind a transaction
// pooler its connections prepare no statements. Connecting takes five seconds at most
// unless the URL says otherwise, and idle connections are not asked whether they live:
// a call finds out, without that round trip.
func PoolConfig(address string, p Pooling) (*pgxpool.Config, error) {
	return pgdb.PoolConfig(address, p.known())
}

// sql puts the store's schema into a statement.
func (s *Store) sql(text string) string {
	if s.schema == defaultSchema {
		return text
	}
	return strings.ReplaceAll(text, defaultSchema+".", s.quoted+".")
}

// query sends one statement, in one round trip, and reads its rows. It may do so
// again.
func (s *Store) query(ctx context.Context, text string, args []any, read func(pgx.Rows) error) error {
	return s.queryWithin(ctx, s.timeout, text, args, read)
}

// queryWithin is query for a statement that may take so long.
func (s *Store) queryWithin(ctx context.Context, limit time.Duration, text string, args []any, read func(pgx.Rows) error) error {
	text = s.sql(text)
	return s.retry(ctx, func(bool) error {
		return s.link.send(ctx, limit, text, args, read)
	})
}
