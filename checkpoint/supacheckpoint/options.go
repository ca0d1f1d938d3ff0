package supacheckpoint

import (
	"log/slog"
	"time"

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
)

// Options configures [Open], [New], [FromEnv] and [Migrate]. The zero value is valid.
type Options struct {
	// Checkpoint configures the storage of checkpoints. Its Tenant and Before must not
	// be set.
	Checkpoint pgcheckpoint.Options
	// Verifier checks the tokens of [Store.VerifyJWT]. If it is nil, [FromEnv] creates
	// one.
	Verifier *Verifier
	// Migrated makes [Open] only check that the migrations were applied, instead of
	// applying them.
	Migrated bool
	// Documents makes [Migrate], [Open] and [FromEnv] also create the missing tables of
	// [Agents] and [Proposals] in the schema public.
	Documents bool
	// Retry configures retries of calls for [Agents], [Proposals], sessions and
	// [Store.Do]. Checkpoint has its own option for checkpoints.
	Retry Retry
	// Logger logs retries and failures that a call does not return. Nil means no logs.
	Logger *slog.Logger
}

// Retry configures retries after transient failures, such as a lost connection.
// Permanent errors of the database are not retried.
type Retry struct {
	// Max is the maximum number of retries. Zero means 3; a negative number means none.
	Max int
	// Delay is the wait before the first retry. It doubles before each further retry.
	// Zero means half a second.
	Delay time.Duration
}

const (
	defaultRetries = 3
	defaultDelay   = 500 * time.Millisecond
	defaultTimeout = 10 * time.Second

	// longTimeout is the timeout of statements that remove threads or create tables.
	longTimeout = 10 * time.Minute
)

func (r Retry) max() int {
	if r.Max == 0 {
		return defaultRetries
	}
	return max(r.Max, 0)
}

// wait returns the wait before retry n, counted from 0.
func (r Retry) wait(n int) time.Duration {
	d := r.Delay
	if d <= 0 {
		d = defaultDelay
	}
	return d << min(n, 16)
}
