package learn

import (
	"cmp"
	"context"
	"encoding/json"
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
		return nil, fmt.Errorf("learn: new: no memory or no extractor: %w", memory.ErrInvalid)
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
		return fmt.Errorf("learn: turn %.60q: %w", t.Key, err)
	}
	l.nudge()
	return nil
}

func (l *Learner) take(ctx context.Context, j Job) error {
	err := l.enqueue(context.WithoutCancel(ctx), j)
	if err == nil || hopeless(err) {
		return err
	}
	l.failed.Add(1)
	l.log.WarnContext(ctx, "a turn waits in the process, as the queue did not take it", "key", j.Key, "error", err)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) >= maxWaiting {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	l.waiting = append(l.waiting, j)
	return nil
}

func (l *Learner) enqueue(ctx context.Context, j Job) error {
	ctx, cancel := context.WithTimeout(ctx, enqueueTimeout)
	defer cancel()
	return l.options.Queue.Enqueue(ctx, j)
}

func (l *Learner) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Work learns turns as they come, also those that other processes put into the queue,
// until the context ends, and returns its error. It returns when all that it began has
// ended, but for an extractor or decider that does not end with its context: after two seconds it is left
// behind. Any number of processes may do so.
func (l *Learner) Work(ctx context.Context) error {
	c := newCrew(l.options.Workers)
	defer c.busy.Wait()
	for ctx.Err() == nil {
		more, err := l.round(ctx, c)
		if err != nil && ctx.Err() == nil { // else that is no failure of the queue
			l.log.WarnContext(ctx, "the queue does not answer", "error", err)
		}
		l.rest(ctx, c, l.options.Poll, more)
	}
	return ctx.Err()
}

// Drain learns what is in the queue, also what was tried before and waits, until nothing is
// left but parked jobs, or the context ends, whose error it returns then. What is left stays
// in a durable queue. Like Work it leaves behind what does not end.
func (l *Learner) Drain(ctx context.Context) error {
	c := newCrew(l.options.Workers)
	defer c.busy.Wait()
	for {
		more, err := l.round(ctx, c)
		if err == nil && !more && c.rests() {
			var n Counts
			if n, err = l.options.Queue.Count(ctx); err == nil && n.Pending == 0 && l.backlog() == 0 {
				return nil
			}
		}
		l.rest(ctx, c, min(l.options.Delay, time.Second)/4, more)
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("learn: drain: %w", err)
		}
	}
}

// rest waits until there may be something to do: for no longer than so long, unless more is due and all
// workers have work.
func (l *Learner) rest(ctx context.Context, c *crew, wait time.Duration, more bool) {
	if more {
		select {
		case <-ctx.Done():
		case <-c.idle:
		}
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-l.wake:
	case <-c.idle:
	case <-timer.C:
	}
}

// round sets those who are free to work on what is due, and reports whether more may be.
func (l *Learner) round(ctx context.Context, c *crew) (more bool, err error) {
	l.flush(ctx)
	free := len(c.free)
	if free == 0 {
		return true, nil
	}
	jobs, err := l.options.Queue.Claim(ctx, free, l.options.Timeout+patience+claimSpare)
	if err != nil {
		return false, err
	}
	for _, j := range jobs {
		c.set(func() { l.do(ctx, j) })
	}
	return len(jobs) == free, nil
}

// flushes is how many turns a round gives up to hand over, so that none keeps the others waiting.
const flushes = 3

// flush gives the queue what waits in the process. What the queue will never take is dropped, and what it does
// not take now goes behind the others.
func (l *Learner) flush(ctx context.Context) {
	failed := 0
	for range l.backlog() {
		j, ok := l.first()
		if !ok || failed == flushes || ctx.Err() != nil {
			return
		}
		err := l.enqueue(ctx, j)
		l.mu.Lock()
		if len(l.waiting) > 0 && l.waiting[0].Key == j.Key && l.waiting[0].Scope == j.Scope {
			l.waiting = l.waiting[1:]
			if err != nil && !hopeless(err) {
				l.waiting = append(l.waiting, j)
			}
		}
		l.mu.Unlock()
		switch {
		case err == nil:
		case hopeless(err):
			l.failed.Add(1)
			l.parked.Add(1)
			l.log.ErrorContext(ctx, "a turn was given up, as the queue does not take it", "key", j.Key, "error", err)
		default:
			failed++
			l.log.WarnContext(ctx, "a turn still waits in the process", "key", j.Key, "error", err)
		}
	}
}

// hopeless reports whether a queue will never take what it did not take for this.
func hopeless(err error) bool {
	return errors.Is(err, memory.ErrInvalid) || errors.Is(err, memory.ErrDenied)
}

// first returns the turn that waits in the process for longest.
func (l *Learner) first() (Job, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		return Job{}, false
	}
	return l.waiting[0], true
}

func (l *Learner) backlog() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
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

func (l *Learner) learn(ctx context.Context, j Job) (facts int, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v: %w", p, errPoison)
		}
	}()
	var t Turn
	if err := json.Unmarshal(j.Payload, &t); err != nil {
		return 0, fmt.Errorf("%w: %w", errPoison, err)
	}
	t.Key, t.Scope = j.Key, j.Scope
	proposals, err := l.options.Extractor.Extract(ctx, t)
	if err != nil {
		return 0, err
	}
	kept := t.sift(proposals)
	// A merged fact may say what another one says already, which does not change by trying.
	if facts, err = l.settle(ctx, t, kept.proposals, j.Attempts < max(l.options.Attempts-1, 2)); err != nil {
		return 0, err
	}
	l.note(ctx, &t, kept)
	return facts, nil
}

// settle finds out what proposals mean for what is known, and changes that.
func (l *Learner) settle(ctx context.Context, t Turn, proposals []Proposal, merge bool) (facts int, err error) {
	if len(proposals) == 0 {
		return 0, nil
	}
	leave, err := l.turnstile.enter(ctx, t.Scope)
	if err != nil {
		return 0, err
	}
	defer leave()
	changes, err := l.changes(ctx, t, proposals, merge)
	if err != nil || len(changes) == 0 {
		return 0, err
	}
	return l.apply(ctx, &t, changes)
}

// apply does changes, and returns how many there were to do.
func (l *Learner) apply(ctx context.Context, t *Turn, changes []memory.Change) (n int, err error) {
	applied, err := l.memory.Apply(ctx, t.Scope, changes...)
	if errors.Is(err, memory.ErrForgotten) { // nobody wants to know it any more
		return 0, nil
	}
	for i, a := range applied {
		if changes[i].Kind != memory.Add || !a.Existed {
			n++
		}
	}
	return n, err
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
