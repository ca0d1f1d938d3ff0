package extract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
)

// Options configures [New]. Only Extractor is required.
type Options struct {
	// Extractor finds facts in a turn. It is required.
	Extractor Extractor
	// Verifier checks facts against the user's words. Facts that it rejects are not stored.
	// If it is nil, every fact is stored with [Lowest] trust.
	Verifier Verifier
	// Decider says how a new fact relates to known facts. If it is nil, new facts are added.
	Decider Decider
	// Queue keeps turns until they are learned. Nil means the queue of the memory.
	Queue driver.TurnStore
	// Workers is the number of turns that are learned at the same time. Zero means 2.
	Workers int
	// Attempts is the number of attempts before a turn is parked. Zero means 5. A turn that
	// crashes the process each time is parked after four times as many claims, but at least
	// 20.
	Attempts int
	// Delay is the longest delay before the second attempt. It doubles with each attempt, up
	// to an hour. Zero means 2 s.
	Delay time.Duration
	// Timeout limits one attempt. Zero means a minute.
	Timeout time.Duration
	// Poll is the interval at which Work looks for turns of other processes. Zero means 5 s.
	Poll time.Duration
	// Logger logs failures, and the reason for each dropped fact without its text. Nil means
	// no log.
	Logger *slog.Logger
}

const (
	defaultWorkers  = 2
	defaultAttempts = 5
	defaultDelay    = 2 * time.Second
	defaultTimeout  = time.Minute
	defaultPoll     = 5 * time.Second
	maxDelay        = time.Hour
	maxWaiting      = 10_000
	// claimSpare is the time by which a claim is longer than an attempt, for storing the
	// result.
	claimSpare     = 10 * time.Second
	enqueueTimeout = time.Second
)

// ErrFull means that the queue does not answer, and too many turns wait in the process.
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#extracterrfull.
var ErrFull = errors.New("too many turns wait in the process: check the queue's database")

// A Learner learns turns. It is safe for concurrent use.
type Learner struct {
	memory  *memory.Memory
	options Options
	log     *slog.Logger

	wake   chan struct{}
	scopes scopeLocks

	learned, failed, parked, facts atomic.Int64

	mu      sync.Mutex
	waiting []Job // jobs that the queue did not accept yet
	dropped map[Reason]int64
}

// New returns a learner that stores facts in a memory. It starts no goroutine: call
// [Learner.Work] or [Learner.Drain].
func New(m *memory.Memory, o Options) (*Learner, error) {
	if m == nil || o.Extractor == nil {
		return nil, fmt.Errorf("extract: new: the memory or Options.Extractor is nil: %w", memory.ErrInvalid)
	}
	if o.Queue == nil {
		o.Queue = m.Backend().Turns()
	}
	o.Workers = cmp.Or(max(o.Workers, 0), defaultWorkers)
	o.Attempts = cmp.Or(max(o.Attempts, 0), defaultAttempts)
	o.Delay = cmp.Or(max(o.Delay, 0), defaultDelay)
	o.Timeout = cmp.Or(max(o.Timeout, 0), defaultTimeout)
	o.Poll = cmp.Or(max(o.Poll, 0), defaultPoll)
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Learner{memory: m, options: o, log: log, wake: make(chan struct{}, 1), dropped: map[Reason]int64{}}, nil
}

// Learn enqueues a turn and returns. If the queue does not answer within a second, the turn
// waits in the process until it does. Learn returns an error only for a turn that cannot be
// accepted: [memory.ErrInvalid], [memory.ErrDenied], or [ErrFull] if 10,000 turns are
// already waiting.
func (l *Learner) Learn(ctx context.Context, t Turn) error {
	err := t.check()
	var j Job
	if err == nil {
		j, err = t.job()
	}
	if err == nil {
		err = l.enqueue(ctx, j)
	}
	if err != nil {
		return fmt.Errorf("extract: turn %.60q: %w", t.Key, err)
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return nil
}

// do tries a job once and reports the result to the queue.
func (l *Learner) do(ctx context.Context, j Job) {
	n, err := l.attempt(ctx, j)
	done := context.WithoutCancel(ctx) // a shutdown must not lose the result
	done, cancel := context.WithTimeout(done, defaultTimeout)
	defer cancel()
	if err == nil {
		l.learned.Add(1)
		l.facts.Add(int64(n))
		if err := l.options.Queue.Finish(done, j); err != nil {
			l.log.WarnContext(ctx, "a learned turn could not be finished in the queue, and will be tried again without effect", "key", j.Key, "error", err)
		}
		return
	}
	after := l.retryAfter(ctx, j, err)
	l.failed.Add(1)
	if after < 0 {
		l.parked.Add(1)
	}
	l.log.WarnContext(ctx, "a turn was not learned", "key", j.Key, "attempt", j.Attempts, "parked", after < 0, "error", err)
	if err := l.options.Queue.Retry(done, j, after, err.Error()); err != nil {
		l.log.WarnContext(ctx, "a turn could not be returned to the queue, and is tried again when its claim ends", "key", j.Key, "error", err)
	}
}

// retryAfter returns the delay before the next attempt of a job. A negative delay means no
// more attempts.
func (l *Learner) retryAfter(ctx context.Context, j Job, err error) time.Duration {
	if ctx.Err() != nil { // a shutdown is not the job's fault
		return 0
	}
	exhausted := j.Attempts >= l.options.Attempts && !errors.Is(err, memory.ErrBusy) // load is not the job's fault
	if exhausted || errors.Is(err, errPermanent) {
		return -1
	}
	longest := min(l.options.Delay<<min(j.Attempts-1, 20), maxDelay)
	return longest/2 + rand.N(longest/2+1)
}

// count counts and logs dropped proposals. The log must not have the user's words.
func (l *Learner) count(ctx context.Context, t *Turn, rejected []*Rejection) {
	for _, r := range rejected {
		l.mu.Lock()
		l.dropped[r.Reason]++
		l.mu.Unlock()
		l.log.InfoContext(ctx, "a fact was not stored", "reason", string(r.Reason), "doubt", r.Doubt, "thread", t.Conversation, "scope", t.Scope.String())
	}
}

// Stats has the counts of a learner since it was created.
type Stats struct {
	// Learned counts turns, and Facts the changes of memory that they caused.
	Learned, Facts int64
	// Failed counts failed attempts, and Parked the turns that were given up.
	Failed, Parked int64
	// Waiting is the number of turns that wait in the process for the queue.
	Waiting int
	// Dropped counts proposals of learned turns that were not stored, by reason.
	Dropped map[Reason]int64
}

// Stats returns the counts. The caller owns the map.
func (l *Learner) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Stats{
		Learned: l.learned.Load(), Facts: l.facts.Load(), Failed: l.failed.Load(), Parked: l.parked.Load(),
		Waiting: len(l.waiting), Dropped: maps.Clone(l.dropped),
	}
}
