package pgmemory

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/memory/driver"
)

// Options configures [New], [Open] and [Migrate]. Its zero value works.
type Options struct {
	// Schema holds the tables and functions. Empty means "weft". It is made of
	// letters, digits, "_" and "-", and does not begin with a digit.
	Schema string
	// MaxFacts is how many valid facts a scope may have. What would go beyond is
	// refused with [driver.ErrQuota]. Zero means any number.
	MaxFacts int
	// MaxMessages is how many messages a session may have, and MaxValues how many values a
	// scope may. What would go beyond is refused with [driver.ErrQuota]. Zero means any number.
	MaxMessages int
	MaxValues   int
	// Exact is how many facts, or chunks of documents, a search may select and still compare every vector of
	// them. Above, it takes the index of [DB.Index], if there is one. Where conditions on metadata pick facts from among
	// more than these, it takes the index as soon as that is quicker. Zero means 20,000.
	Exact int
	// HalfIndexes makes [DB.Index] index vectors in half precision, so that an index takes about half
	// the space. Searches compare what the index finds by the whole vectors. An index without
	// HalfIndexes is not used then: call Index again, and drop the other one. Vectors of more than
	// 2,000 numbers always have such an index.
	HalfIndexes bool
	// Pooling says whether a transaction pooler is in between. Zero means to look
	// at the address.
	Pooling Pooling
	// Patience is how long a call goes on trying while the database can not be
	// reached, until it is an [ErrUnreachable]. Zero means 15 seconds; with a negative
	// value it tries once.
	Patience time.Duration
	// Timeout is how long one statement may take before its connection counts as
	// lost. Zero means 30 seconds. It does not bound [Migrate] and [DB.Index].
	Timeout time.Duration
	// Before, when set, queues statements that are to run ahead of each call, in the
	// same transaction and the same round trip, such as one that sets a role for it.
	// It is called by any number of goroutines. Behind a transaction pooler, the
	// connections must not cache statements; those of [Open] do not.
	Before func(ctx context.Context, b *pgx.Batch) error
}

// Pooling says what a [DB] may expect of its connections.
type Pooling int

// What there may be between a program and its database.
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

const (
	defaultSchema   = "weft"
	defaultExact    = 20_000
	defaultPatience = 15 * time.Second
	defaultTimeout  = 30 * time.Second

	// labour is how long a migration may take.
	labour = 10 * time.Minute
)

var schemaName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,62}$`)

func (o *Options) check() error {
	switch {
	case o.Schema != "" && !schemaName.MatchString(o.Schema):
		return fmt.Errorf("schema %q: %w", o.Schema, driver.ErrInvalid)
	case o.Pooling < Detect || o.Pooling > Transaction:
		return fmt.Errorf("pooling %d: %w", o.Pooling, driver.ErrInvalid)
	case o.MaxFacts < 0 || o.MaxMessages < 0 || o.MaxValues < 0 || o.Exact < 0 || o.Timeout < 0:
		return fmt.Errorf("negative MaxFacts %d, MaxMessages %d, MaxValues %d, Exact %d or Timeout %v: %w",
			o.MaxFacts, o.MaxMessages, o.MaxValues, o.Exact, o.Timeout, driver.ErrInvalid)
	}
	return nil
}

func (o *Options) patience() time.Duration {
	if o.Patience == 0 {
		return defaultPatience
	}
	return max(o.Patience, 0)
}
