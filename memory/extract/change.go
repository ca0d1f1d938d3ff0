package extract

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/weft-go/weft/memory"
)

const (
	// relatedCosine and relatedOverlap are the least similarities at which a decider is asked
	// about a known fact.
	relatedCosine  = 0.55
	relatedOverlap = 0.2
	// maxKnown is the maximum number of known facts that are compared with a new fact.
	maxKnown = 5
	// actor names this package in the history of facts.
	actor = "extract"
)

// changes returns the changes of memory that the facts of a turn need.
func (l *Learner) changes(ctx context.Context, t *Turn, facts []memory.Fact) ([]memory.FactChange, error) {
	texts := make([]string, len(facts))
	for i, f := range facts {
		texts[i] = f.Content
	}
	// All facts of a turn have Lowest trust, or none has.
	query := memory.FactQuery{Reach: t.Scope.Only(), Limit: maxKnown, Untrusted: l.options.Verifier == nil}
	near, err := l.memory.Similar(ctx, query, texts...)
	if err != nil {
		return nil, err
	}
	var questions []Question
	var changes []memory.FactChange
	for i, f := range facts {
		if isKnown(near[i]) {
			continue
		}
		related := slices.DeleteFunc(near[i], func(n memory.Near) bool { return !isRelated(n) || !mayEnd(f, n.Fact) })
		if f.Kind == memory.Episode || l.options.Decider == nil || len(related) == 0 {
			changes = append(changes, t.add(f))
		} else {
			questions = append(questions, Question{Fact: f, Said: t.At, Known: related})
		}
	}
	decided, err := l.decide(ctx, t, questions)
	return append(changes, decided...), err
}

// isKnown reports whether the nearest fact has the same text as a new one. It ignores vectors,
// since the vectors of a sentence and its negation can be very similar.
func isKnown(near []memory.Near) bool { return len(near) > 0 && near[0].Same }

func isRelated(n memory.Near) bool { return n.Cosine >= relatedCosine || n.Overlap >= relatedOverlap }

// mayEnd reports whether a new fact may close or replace a known fact. A fact of Lowest trust
// must not replace a fact of higher trust.
func mayEnd(f, known memory.Fact) bool { return f.Trust != Lowest || known.Trust == Lowest }

// decide asks the decider, and returns the changes for its decisions.
func (l *Learner) decide(ctx context.Context, t *Turn, questions []Question) ([]memory.FactChange, error) {
	if len(questions) == 0 {
		return nil, nil
	}
	decisions, err := l.options.Decider.Decide(ctx, questions)
	if err != nil {
		return nil, err
	}
	if len(decisions) != len(questions) {
		return nil, fmt.Errorf("the decider returned %d decisions for %d questions: %w", len(decisions), len(questions), memory.ErrInvalid)
	}
	touched := map[string]bool{}
	var changes []memory.FactChange
	for i, d := range decisions {
		changes = append(changes, t.changesFor(questions[i], d, touched)...)
	}
	return changes, nil
}

// changesFor returns the changes for one decision. touched has the ids of the facts that
// earlier decisions of the turn changed. These facts are not changed again.
func (t *Turn) changesFor(q Question, d Decision, touched map[string]bool) []memory.FactChange {
	var known []memory.Near
	for _, i := range d.Known {
		if i >= 0 && i < len(q.Known) && !touched[q.Known[i].ID] {
			known = append(known, q.Known[i])
		}
	}
	if d.Action == Nothing {
		return nil
	}
	add := t.add(q.Fact)
	if len(known) == 0 || d.Action != Replace && d.Action != Close {
		return []memory.FactChange{add}
	}
	for _, n := range known {
		touched[n.ID] = true
	}
	if d.Action == Replace {
		return []memory.FactChange{t.replace(add, known)}
	}
	return t.end(known)
}

func (t *Turn) add(f memory.Fact) memory.FactChange {
	return memory.FactChange{Kind: memory.Add, Said: t.At, Job: t.Key, Actor: actor, Record: memory.FactRecord{Fact: f}}
}

// replace returns an addition that supersedes known facts. Turns can be learned out of order:
// if the turn is older than a known fact, the new fact is valid until the known fact begins.
func (t *Turn) replace(add memory.FactChange, known []memory.Near) memory.FactChange {
	for _, n := range known {
		if !t.isBefore(n) {
			add.Supersedes = append(add.Supersedes, n.ID)
		} else if to := &add.Record.ValidTo; to.IsZero() || n.ValidFrom.Before(*to) {
			*to = n.ValidFrom
		}
	}
	return add
}

// end returns the changes that close known facts, except facts that are newer than the turn.
func (t *Turn) end(known []memory.Near) (changes []memory.FactChange) {
	for _, n := range known {
		if t.isBefore(n) {
			continue
		}
		changes = append(changes, memory.FactChange{
			Kind: memory.Close, Said: t.At, Job: t.Key, Actor: actor,
			Record: memory.FactRecord{Fact: memory.Fact{ID: n.ID, ValidTo: t.At, Version: n.Version}},
		})
	}
	return changes
}

// isBefore reports whether the turn is older than a known fact, to the microsecond, which is
// the precision of stores.
func (t *Turn) isBefore(n memory.Near) bool {
	return t.At.Truncate(time.Microsecond).Before(n.ValidFrom.Truncate(time.Microsecond))
}
