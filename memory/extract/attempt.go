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
	// grace is the time that an attempt may take to return after its context has ended. Then
	// its goroutine is abandoned, and the job is tried again.
	grace = 2 * time.Second
	// A job is parked after max(claimsPerAttempt*Attempts, minClaims) claims without a result,
	// because it probably crashes the process each time. Claims that a normal shutdown
	// interrupts count too, so the limit is high.
	claimsPerAttempt = 4
	minClaims        = 20
)

var (
	// errPermanent marks errors that another attempt cannot change.
	errPermanent = errors.New("the turn cannot be learned")
	errHanging   = errors.New("the extractor, verifier or decider did not return after its timeout")
	errExited    = errors.New("the extractor, verifier or decider ended its goroutine")
)

// attempt tries a job once, and returns the number of changes to the memory.
func (l *Learner) attempt(ctx context.Context, j Job) (facts int, err error) {
	if before := j.Attempts - 1; before >= max(claimsPerAttempt*l.options.Attempts, minClaims) {
		return 0, fmt.Errorf("it was begun %d times, and never ended: %w", before, errPermanent)
	}
	ctx, cancel := context.WithTimeout(ctx, l.options.Timeout)
	defer cancel()
	type outcome struct {
		facts int
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		o := outcome{err: errExited}
		defer func() { done <- o }()
		o.facts, o.err = l.learn(ctx, j)
	}()
	select {
	case o := <-done:
		return o.facts, o.err
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case o := <-done:
		return o.facts, o.err
	case <-timer.C:
		return 0, fmt.Errorf("%w: %w", errHanging, context.Cause(ctx))
	}
}

// learn extracts facts from a turn, verifies them, and stores the supported ones.
func (l *Learner) learn(ctx context.Context, j Job) (facts int, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v: %w", p, errPermanent)
		}
	}()
	var t Turn
	if err := json.Unmarshal(j.Payload, &t); err != nil {
		return 0, fmt.Errorf("%w: %w", errPermanent, err)
	}
	t.Key, t.Scope = j.Key, j.Scope
	proposals, err := l.options.Extractor.Extract(ctx, t)
	if err != nil {
		return 0, err
	}
	quoted, rejected := t.facts(proposals)
	supported, refused, err := l.verify(ctx, &t, quoted)
	if err != nil {
		return 0, err
	}
	if facts, err = l.settle(ctx, &t, supported); err != nil {
		return 0, err
	}
	// Count only here, so that a turn with several attempts is counted once.
	l.count(ctx, &t, append(rejected, refused...))
	return facts, nil
}

// facts returns the facts of the proposals with evidence, and a rejection for each other
// proposal.
func (t *Turn) facts(proposals []Proposal) (facts []memory.Fact, rejected []*Rejection) {
	for _, p := range proposals {
		f, err := t.Fact(p)
		if r, ok := errors.AsType[*Rejection](err); ok {
			rejected = append(rejected, r)
			continue
		}
		facts = append(facts, f)
	}
	return facts, rejected
}

// verify returns the facts that the verifier supports, with their trust. Without a verifier
// it returns all facts.
func (l *Learner) verify(ctx context.Context, t *Turn, facts []memory.Fact) (supported []memory.Fact, refused []*Rejection, err error) {
	if l.options.Verifier == nil {
		return facts, nil, nil
	}
	verdicts, err := t.Verify(ctx, l.options.Verifier, facts...)
	if err != nil {
		return nil, nil, err
	}
	for i, v := range verdicts {
		if !v.Supported {
			refused = append(refused, &Rejection{Reason: Refused, Doubt: v.Doubt})
			continue
		}
		f := facts[i]
		f.Trust = TrustOf(f, Provenance{Verified: true})
		supported = append(supported, f)
	}
	return supported, refused, nil
}

// settle compares facts with the known facts and changes the memory. It handles one turn of a
// scope at a time, so that each turn sees the changes of the previous turn.
func (l *Learner) settle(ctx context.Context, t *Turn, facts []memory.Fact) (changed int, err error) {
	if len(facts) == 0 {
		return 0, nil
	}
	unlock, err := l.scopes.lock(ctx, t.Scope)
	if err != nil {
		return 0, err
	}
	defer unlock()
	changes, err := l.changes(ctx, t, facts)
	if err != nil || len(changes) == 0 {
		return 0, err
	}
	return l.apply(ctx, t, changes)
}

// apply makes changes in one transaction, and returns how many had an effect.
func (l *Learner) apply(ctx context.Context, t *Turn, changes []memory.FactChange) (n int, err error) {
	applied, err := l.memory.Apply(ctx, t.Scope, changes...)
	if errors.Is(err, memory.ErrForgotten) { // the user was forgotten after the turn
		return 0, nil
	}
	for i, a := range applied {
		if changes[i].Kind != memory.Add || !a.Existed {
			n++
		}
	}
	return n, err
}
