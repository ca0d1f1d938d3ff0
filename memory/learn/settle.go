package learn

import (
	"cmp"
	"context"
	"fmt"
	"slices"

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

// changes returns what proposals mean for what is known.
func (l *Learner) changes(ctx context.Context, t Turn, proposals []Proposal) ([]memory.Change, error) {
	if len(proposals) == 0 {
		return nil, nil
	}
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
			questions = append(questions, Question{p, known})
		}
	}
	decided, err := l.decide(ctx, t, questions)
	return append(changes, decided...), err
}

func (l *Learner) decide(ctx context.Context, t Turn, questions []Question) ([]memory.Change, error) {
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
		changes = append(changes, t.follow(questions[i], d, touched)...)
	}
	return changes, nil
}

func matters(n memory.Near) bool { return n.Cosine >= relatedCosine || n.Overlap >= relatedOverlap }

func (t *Turn) add(p Proposal) memory.Change {
	return memory.Change{
		Kind: memory.Add, Said: t.At, Job: t.Key, Actor: "learn",
		Record: memory.Record{Fact: memory.Fact{
			Kind: p.Kind, Content: p.Content, Conversation: t.Conversation, Turn: t.Number,
			Trust: memory.Inferred, Importance: p.Importance, ExpiresAt: p.ExpiresAt, ValidFrom: t.At,
		}},
	}
}

// follow returns the changes that a decision asks for. A fact is touched once a turn.
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
		for _, n := range known {
			add.Supersedes = append(add.Supersedes, n.ID)
		}
		return []memory.Change{add}
	}
	changes := make([]memory.Change, len(known))
	for i, n := range known {
		changes[i] = memory.Change{
			Kind: memory.Close, Said: t.At, Job: t.Key, Actor: "learn",
			Record: memory.Record{Fact: memory.Fact{ID: n.ID, ValidTo: t.At, Version: n.Version}},
		}
	}
	return changes
}

// update makes a fact say more. Its Version keeps what somebody else changed meanwhile.
func (t *Turn) update(f memory.Fact, content string) memory.Change {
	f.Content = content
	return memory.Change{Kind: memory.Update, Said: t.At, Job: t.Key, Actor: "learn", Record: memory.Record{Fact: f}}
}
