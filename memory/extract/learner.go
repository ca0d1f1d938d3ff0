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
)

// Options configures [New]. Its zero value works but for the Extractor.
type Options struct {
	// Extractor finds what is worth knowing. It has to be set.
	Extractor Extractor
	// Decider says what a new fact means for related ones. Nil adds it.
	Decider Decider
	// Queue keeps the turns that wait. Nil stands for one in the process.
	Queue Queue
	// Workers is how many turns are learned at once. Zero stands for 2.
	Workers int
	// Attempts is how often a turn is tried before it is parked. Zero stands for 5. One that ends the process
	// each time is parked when it was begun four times as often, and 20 times at least.
	Attempts int
	// Delay is how long the second attempt waits at most; each later one twice as
	// long, up to an hour. Zero stands for 2 s.
	Delay time.Duration
	// Timeout is how long one attempt may take. Zero stands for a minute.
	Timeout time.Duration
	// Poll is how often the queue is looked at where nothing was given here. Zero stands
	// for 5 s.
	Poll time.Duration
	// Logger is told of what went wrong, and of each fact that was dropped, but not what it
	// says. Nil means silence.
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
	// claimSpare is how much longer a job is claimed than an attempt takes, so that what became of it
	// can be noted.
	claimSpare     = 10 * time.Second
	enqueueTimeout = time.Second
)

// ErrFull says that too many turns wait in the process for a queue that does not answer.
var ErrFull = errors.New("too many turns wait")

// A Learner learns turns. It is safe for use by any number of goroutines.
type Learner struct {
	memory  *memory.Memory
	options Options
	log     *slog.Logger

	wake      chan struct{}
	turnstile turnstile

	learned, failed, parked, facts, quoted atomic.Int64

	mu      sync.Mutex
	waiting []Job // those that the queue has not taken yet
	dropped map[Reason]int64
}

// New returns a learner that stores in a memory. It starts nothing: [Learner.Work] does
// the work.
func New(m *memory.Memory, o Options) (*Learner, error) {
	if m == nil || o.Extractor == nil {
		return nil, fmt.Errorf("extract: new: no memory or no extractor: %w", memory.ErrInvalid)
	}
	if o.Queue == nil {
		o.Queue = NewInProcess()
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

// Learn takes a turn to be learned, and returns once the queue has it, or after a second
// if the queue does not answer: the turn then waits in the process until it does. It
// returns an error only for a turn that can not be taken: [memory.ErrInvalid],
// [memory.ErrDenied], or [ErrFull] when 10,000 wait already.
func (l *Learner) Learn(ctx context.Context, t Turn) error {
	err := t.check()
	var j Job
	if err == nil {
		j, err = t.job()
	}
	if err == nil {
		err = l.take(ctx, j)
	}
	if err != nil {
		return fmt.Errorf("extract: turn %.60q: %w", t.Key, err)
	}
	l.nudge()
	return nil
}

func (l *Learner) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// do tries a job once.
func (l *Learner) do(ctx context.Context, j Job) {
	n, err := l.attempt(ctx, j)
	done := context.WithoutCancel(ctx) // what was done is noted also when the program ends
	done, cancel := context.WithTimeout(done, defaultTimeout)
	defer cancel()
	if err == nil {
		l.learned.Add(1)
		l.facts.Add(int64(n))
		if err := l.options.Queue.Finish(done, j); err != nil {
			l.log.WarnContext(ctx, "a turn that was learned could not be ended, and will be tried again to no effect", "key", j.Key, "error", err)
		}
		return
	}
	after := l.after(ctx, j, err)
	l.failed.Add(1)
	if after < 0 {
		l.parked.Add(1)
	}
	l.log.WarnContext(ctx, "a turn was not learned", "key", j.Key, "attempt", j.Attempts, "parked", after < 0, "error", err)
	if err := l.options.Queue.Retry(done, j, after, err.Error()); err != nil {
		l.log.WarnContext(ctx, "a turn could not be given back, and comes when its claim is over", "key", j.Key, "error", err)
	}
}

// after is how long a job waits for its next attempt, negative for ever.
func (l *Learner) after(ctx context.Context, j Job, err error) time.Duration {
	if ctx.Err() != nil { // the program ends: that is not the job's fault
		return 0
	}
	tried := j.Attempts >= l.options.Attempts && !errors.Is(err, memory.ErrBusy) // which is no fault of the job either
	if tried || errors.Is(err, errPoison) {
		return -1
	}
	longest := min(l.options.Delay<<min(j.Attempts-1, 20), maxDelay)
	return longest/2 + rand.N(longest/2+1)
}

// note counts and logs what became of the proposals of a turn that was learned, without what they say.
func (l *Learner) note(ctx context.Context, t *Turn, s sifted) {
	l.quoted.Add(s.quoted)
	for _, reason := range s.dropped {
		l.mu.Lock()
		l.dropped[reason]++
		l.mu.Unlock()
		l.log.InfoContext(ctx, "a fact was not learned", "reason", string(reason), "thread", t.Conversation, "scope", t.Scope.String())
	}
}

// Stats says what a learner has done since it was made.
type Stats struct {
	// Learned are turns, and Facts what they brought: changes of what is known.
	Learned, Facts int64
	// Failed are attempts that failed, and Parked the turns that were given up.
	Failed, Parked int64
	// Waiting are turns that the queue has not taken yet.
	Waiting int
	// Dropped are facts that an extractor proposed and the user's words do not bear out, by the
	// reason, and Quoted those that were stored in the user's words for that.
	Dropped map[Reason]int64
	Quoted  int64
}

// Stats returns what the learner has done.
func (l *Learner) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Stats{
		Learned: l.learned.Load(), Facts: l.facts.Load(), Failed: l.failed.Load(), Parked: l.parked.Load(), Waiting: len(l.waiting),
		Dropped: maps.Clone(l.dropped), Quoted: l.quoted.Load(),
	}
}
