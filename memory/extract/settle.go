package extract

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/weft-go/weft/memory"
)

const (
	// sameCosine is how near the vectors of two texts are that say the same.
	sameCosine = 0.95
	// relatedCosine and relatedOverlap are how near facts are at least for one to matter
	// for the other.
	relatedCosine  = 0.55
	relatedOverlap = 0.2
	maxKnown       = 5
)

// changes returns what proposals mean for what is known. With merge, a known fact may be made to say more.
func (l *Learner) changes(ctx context.Context, t Turn, proposals []Proposal, merge bool) ([]memory.Change, error) {
	texts := make([]string, len(proposals))
	for i, p := range proposals {
		texts[i] = p.Content
	}
	near, err := l.memory.Similar(ctx, memory.Query{Scope: t.Scope, Limit: maxKnown}, texts...)
	if err != nil {
		return nil, err
	}
	var questions []Question
	var changes []memory.Change
	for i, p := range proposals {
		known := near[i]
		if len(known) > 0 && (known[0].Same || known[0].Cosine >= sameCosine) {
			continue
		}
		known = slices.DeleteFunc(known, func(n memory.Near) bool { return !matters(n) })
		if p.Kind == memory.Episode || l.options.Decider == nil || len(known) == 0 {
			changes = append(changes, t.add(p))
		} else {
			questions = append(questions, Question{Proposal: p, Said: t.At, Known: known})
		}
	}
	decided, err := l.decide(ctx, t, questions, merge)
	return append(changes, decided...), err
}

func (l *Learner) decide(ctx context.Context, t Turn, questions []Question, merge bool) ([]memory.Change, error) {
	if len(questions) == 0 {
		return nil, nil
	}
	decisions, err := l.options.Decider.Decide(ctx, questions)
	if err != nil {
		return nil, err
	}
	if len(decisions) != len(questions) {
		return nil, fmt.Errorf("%d decisions for %d questions: %w", len(decisions), len(questions), memory.ErrInvalid)
	}
	touched := map[string]bool{}
	var changes []memory.Change
	for i, d := range decisions {
		if d.Action == Update && !merge {
			d.Action = Add
		}
		changes = append(changes, t.follow(questions[i], d, touched)...)
	}
	return changes, nil
}

func matters(n memory.Near) bool { return n.Cosine >= relatedCosine || n.Overlap >= relatedOverlap }

func (t *Turn) add(p Proposal) memory.Change {
	return memory.Change{
		Kind: memory.Add, Said: t.At, Job: t.Key, Actor: "extract",
		Record: memory.Record{Fact: memory.Fact{
			Kind: p.Kind, Content: p.Content, Conversation: t.Conversation, Turn: t.Number,
			Trust: memory.Inferred, Importance: p.Importance, ExpiresAt: p.ExpiresAt, ValidFrom: t.At,
		}},
	}
}

// follow returns the changes that a decision asks for. A fact is touched once a turn, and none is ended by
// what was said before it: turns may be learned in another order than they were said in.
func (t *Turn) follow(q Question, d Decision, touched map[string]bool) []memory.Change {
	var known []memory.Near
	for _, i := range d.Known {
		if i >= 0 && i < len(q.Known) && !touched[q.Known[i].ID] {
			known = append(known, q.Known[i])
		}
	}
	add := t.add(q.Proposal)
	switch {
	case d.Action == Nothing:
		return nil
	case d.Action == Add || len(known) == 0:
		return []memory.Change{add}
	}
	if d.Action == Update {
		known = known[:1]
	}
	for _, n := range known {
		touched[n.ID] = true
	}
	switch d.Action {
	case Update:
		content := cmp.Or(d.Content, q.Proposal.Content)
		if !merges(content, known[0].Content, q.Proposal.Content) {
			return []memory.Change{add}
		}
		return []memory.Change{t.update(known[0].Fact, content)}
	case Replace:
		return []memory.Change{t.replace(add, known)}
	}
	return t.end(known)
}

// replace returns an addition in place of what is known. What was said before that was so until then.
func (t *Turn) replace(add memory.Change, known []memory.Near) memory.Change {
	for _, n := range known {
		if !t.before(n) {
			add.Supersedes = append(add.Supersedes, n.ID)
		} else if to := &add.Record.ValidTo; to.IsZero() || n.ValidFrom.Before(*to) {
			*to = n.ValidFrom
		}
	}
	return add
}

// end closes what is known.
func (t *Turn) end(known []memory.Near) (changes []memory.Change) {
	for _, n := range known {
		if t.before(n) {
			continue
		}
		changes = append(changes, memory.Change{
			Kind: memory.Close, Said: t.At, Job: t.Key, Actor: "extract",
			Record: memory.Record{Fact: memory.Fact{ID: n.ID, ValidTo: t.At, Version: n.Version}},
		})
	}
	return changes
}

// before reports whether the turn was said before a known fact was so. Stores keep microseconds.
func (t *Turn) before(n memory.Near) bool {
	return t.At.Truncate(time.Microsecond).Before(n.ValidFrom.Truncate(time.Microsecond))
}

// update makes a fact say more. Its Version keeps what somebody else changed meanwhile.
func (t *Turn) update(f memory.Fact, content string) memory.Change {
	f.Content = content
	return memory.Change{Kind: memory.Update, Said: t.At, Job: t.Key, Actor: "extract", Record: memory.Record{Fact: f}}
}
