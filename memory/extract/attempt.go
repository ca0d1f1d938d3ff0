package extract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/weft-go/weft/memory"
)

const (
	// patience is how long an attempt that is over may take to return. What does not, as it does not look at
	// its context, goes on by itself, and the job is tried again.
	patience = 2 * time.Second
	// crashes is how many times as often as it may be tried a job may be begun, and fewest how often at least:
	// then it is held to end the process each time. What was refused, or cut off by the end of the program, is begun
	// again too, but not for so long.
	crashes = 4
	fewest  = 20
)

var (
	// errPoison marks what can not become better.
	errPoison = errors.New("can not be learned")
	errStuck  = errors.New("the extractor or decider does not return, though its time is over")
	errEnded  = errors.New("the extractor or decider ended its goroutine")
)

// attempt tries a job once, and returns how many facts that brought.
func (l *Learner) attempt(ctx context.Context, j Job) (facts int, err error) {
	if begun := j.Attempts - 1; begun >= max(crashes*l.options.Attempts, fewest) {
		return 0, fmt.Errorf("it was begun %d times, and never ended: %w", begun, errPoison)
	}
	ctx, cancel := context.WithTimeout(ctx, l.options.Timeout)
	defer cancel()
	type outcome struct {
		facts int
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		o := outcome{err: errEnded}
		defer func() { done <- o }()
		o.facts, o.err = l.learn(ctx, j)
	}()
	select {
	case o := <-done:
		return o.facts, o.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case o := <-done:
		return o.facts, o.err
	case <-timer.C:
		return 0, fmt.Errorf("%w: %w", errStuck, context.Cause(ctx))
	}
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
