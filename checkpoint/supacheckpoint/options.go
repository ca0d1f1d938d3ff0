package supacheckpoint

import (
	"log/slog"
	"time"

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
)

// Options configures [Open], [New], [FromEnv] and [Migrate]. Its zero value works.
type Options struct {
	// Checkpoint configures how checkpoints are kept. Its Tenant and Before belong
	// to this package, and must not be set.
	Checkpoint pgcheckpoint.Options
	// Verifier checks the tokens of [Store.VerifyJWT]. [FromEnv] makes one unless
	// it is set.
	Verifier *Verifier
	// Migrated says that the project applies the migrations by itself: [Open] then
	// looks whether that is done, and changes nothing.
	Migrated bool
	// Documents says that [Migrate], [Open] and [FromEnv] are to make the tables of [Agents]
	// and [Proposals] too, in schema public, where they are missing.
	Documents bool
	// Retry says how [Agents], [Proposals] and what concerns sessions are tried
	// again. Checkpoints have their own way, see Checkpoint.
	Retry Retry
	// Logger is told what is no error of a call, such as one that was tried again.
	// Nil means silence.
	Logger *slog.Logger
}

// Retry says how often a call is tried again that failed for a reason which may
// pass. What the database refuses is not tried again.
type Retry struct {
	// Max is how many times after the first. Zero means 3, and a negative number
	// none.
	Max int
	// Delay is how long to wait before the first, and half as long as before the
	// second: it doubles. Zero means half a second.
	Delay time.Duration
}

const (
	defaultRetries = 3
	defaultDelay   = 500 * time.Millisecond
	defaultTimeout = 10 * time.Second

	// labour is how long a statement may take that removes whole threads, or makes
	// tables.
	labour = 10 * time.Minute
)

func (r Retry) max() int {
	if r.Max == 0 {
		return defaultRetries
	}
	return max(r.Max, 0)
}

// wait returns how long to wait before the n-th time, counted from 0.
func (r Retry) wait(n int) time.Duration {
	d := r.Delay
	if d <= 0 {
		d = defaultDelay
	}
	return d << min(n, 16)
}
