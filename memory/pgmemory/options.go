package pgmemory

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/memory/driver"
)

// Options configures [New], [Open] and [Migrate]. The zero value is valid.
type Options struct {
	// Schema has the tables and functions. Empty means "weft". The name has letters, digits, "_" and "-",
	// and does not begin with a digit.
	Schema string
	// MaxFacts is the maximum number of valid facts of a scope. A change that would exceed it returns
	// [driver.ErrQuota]. Zero means no limit.
	MaxFacts int
	// MaxMessages is the maximum number of messages of a session, and MaxValues the maximum number of
	// values of a scope. A change that would exceed one of them returns [driver.ErrQuota]. Zero means no
	// limit.
	MaxMessages int
	MaxValues   int
	// Exact is the maximum number of selected facts or chunks for which a search compares all vectors. If
	// more are selected, a search uses the index of [DB.Index], if it exists. If conditions on metadata
	// must be evaluated on more rows than Exact, the search uses the index if this is faster. Zero means
	// 20,000.
	Exact int
	// HalfIndexes makes [DB.Index] index vectors in half precision, so that an index needs about half the
	// space. Searches compare the candidates of the index in full precision. With HalfIndexes, an index in
	// full precision is not used: call Index again, and drop the old index. Vectors with more than 2,000
	// dimensions always have an index in half precision.
	HalfIndexes bool
	// Pooling says whether the connections go through a transaction pooler. Zero means [Detect].
	Pooling Pooling
	// Patience is the time for which a call is retried while the database cannot be reached. Then the call
	// returns [ErrUnreachable]. Zero means 15 seconds. A negative value means one attempt.
	Patience time.Duration
	// Timeout is the maximum time of one statement. Then its connection counts as lost. Zero means 30
	// seconds. It does not limit [Migrate] and [DB.Index].
	Timeout time.Duration
	// Before, if not nil, queues statements, for example to set a role. They run before the statements of
	// each call, in the same transaction and round trip. It must be safe for concurrent use. Behind a
	// transaction pooler, the connections must not cache statements; the connections of [Open] do not.
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

	// labour is the maximum time of a migration.
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
