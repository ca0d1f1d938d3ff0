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
	// MaxFacts is the most valid facts that a scope may have. A change beyond it returns
	// [driver.ErrQuota]. Zero means no limit.
	MaxFacts int
	// MaxMessages is the most messages of a session, and MaxValues the most values of a scope. A
	// change beyond them returns [driver.ErrQuota]. Zero means no limit.
	MaxMessages int
	MaxValues   int
	// Exact is the most facts or chunks that a search may select and still compare all their
	// vectors. Beyond it, a search uses the index of [DB.Index], if there is one. If conditions on
	// metadata have to be evaluated on more rows than this, the search uses the index when that is
	// faster. Zero means 20,000.
	Exact int
	// HalfIndexes makes [DB.Index] index vectors in half precision, so that an index takes about half
	// the space. Searches compare the whole vectors of what the index finds. An index that was made without
	// HalfIndexes is not used then: call Index again, and drop the other one. Vectors of more than
	// 2,000 numbers always have such an index.
	HalfIndexes bool
	// Pooling says whether the connections go through a transaction pooler. Zero means [Detect].
	Pooling Pooling
	// Patience is how long a call is retried while the database cannot be reached, before it
	// returns [ErrUnreachable]. Zero means 15 seconds. A negative value means one attempt.
	Patience time.Duration
	// Timeout is the most time for one statement. After that its connection counts as lost. Zero
	// means 30 seconds. It does not limit [Migrate] and [DB.Index].
	Timeout time.Duration
	// Before, if not nil, queues statements that run ahead of each call in the same transaction and
	// round trip, such as one that sets a role. It must be safe for concurrent use. Behind a
	// transaction pooler, the connections must not cache statements; the connections of [Open] do
	// not.
	Before func(ctx context.Context, b *pgx.Batch) error
}

// Pooling says whether connections go through a transaction pooler.
type Pooling int

// The values of Pooling.
const (
	// Detect assumes a transaction pooler if the port is 6543 or 6432, if the host name has
	// "pooler." or "-pooler.", or if the address has the parameter pgbouncer=true.
	Detect Pooling = iota
	// Direct means connections to the server itself. Statements are prepared once.
	Direct
	// Transaction means a pooler, such as PgBouncer or Supavisor, that assigns a server connection
	// for each transaction.
	Transaction
)

const (
	defaultSchema   = "weft"
	defaultExact    = 20_000
	defaultPatience = 15 * time.Second
	defaultTimeout  = 30 * time.Second

	// labour is the most time for a migration.
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
