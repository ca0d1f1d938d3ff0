package conversation

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/internal/input"
)

// Saved is all that a store keeps of one session. Its version is the store's own: a restored
// session has a new one.
type Saved struct {
	Session
	// Rows are its messages, in order.
	Rows []Row
}

// Dump implements [Store].
func (m *InMemory) Dump(ctx context.Context, s *memory.Scope) iter.Seq2[Saved, error] {
	return func(yield func(Saved, error) bool) {
		for _, t := range m.within(s) {
			if err := ctx.Err(); err != nil {
				yield(Saved{}, err)
				return
			}
			if !yield(t.saved(), nil) {
				return
			}
		}
	}
}

// within returns the sessions of the scopes that s covers, in order.
func (m *InMemory) within(s *memory.Scope) []*talk {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var list []*talk
	for _, t := range m.sessions {
		if s == nil || s.Covers(t.Scope) {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b *talk) int {
		return cmp.Or(memory.CompareScopes(a.Scope, b.Scope), strings.Compare(a.ID, b.ID))
	})
	return list
}

func (t *talk) saved() Saved {
	one := Saved{Session: copySession(t.Session), Rows: make([]Row, len(t.rows))}
	for i, r := range t.rows {
		one.Rows[i] = copyMessage(r)
	}
	return one
}

// Restore implements [Store].
func (m *InMemory) Restore(ctx context.Context, list []Saved) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, one := range list {
		at := place{one.Scope, one.ID}
		if m.sessions[at] != nil {
			continue
		}
		m.version++
		t := &talk{Session: one.Session, rows: one.Rows}
		one = t.saved()
		t.Session, t.rows = one.Session, one.Rows
		for i := range t.rows {
			r := &t.rows[i]
			r.Scope, r.Session, r.Position = t.Scope, t.ID, int64(i)+1
		}
		t.Messages, t.Version = int64(len(t.rows)), m.version
		m.sessions[at] = t
		if t.UpdatedAt.After(m.last) {
			m.last = t.UpdatedAt
		}
		n++
	}
	return n, nil
}

// Complete checks a session that was read from a file, and fills in what follows from its
// messages: their roles, texts, keys and the words that they are found by. It returns
// [memory.ErrInvalid] for a session that cannot be stored.
func RestorableSession(s *Saved) error {
	if err := completeSession(s); err != nil {
		return fmt.Errorf("session %.60q in the scope %s: %w", s.ID, s.Scope, err)
	}
	return nil
}

func completeSession(s *Saved) error {
	if err := checkSession(s.Scope, s.ID); err != nil {
		return err
	}
	d, err := checkDescription(s.Session)
	if err != nil {
		return err
	}
	s.Metadata, s.CreatedAt, s.UpdatedAt = d.Metadata, input.Exact(s.CreatedAt), input.Exact(s.UpdatedAt)
	s.Messages = int64(len(s.Rows))
	known := types{}
	for i := range s.Rows {
		row, err := completeMessage(&s.Rows[i], known)
		if err != nil {
			return fmt.Errorf("message %d: %w", i+1, err)
		}
		row.Scope, row.Session, row.Position, row.At = s.Scope, s.ID, int64(i)+1, input.Exact(s.Rows[i].At)
		s.Rows[i] = row
	}
	return nil
}

// complete returns the row of a message, of which the ID and the data are known.
func completeMessage(r *Row, known types) (Row, error) {
	if known.foreign(r.Data) {
		if err := input.Name("id", r.ID); err != nil {
			return Row{}, err
		}
		return keep(r.Data, r.ID), nil
	}
	read, err := llm.FromLangChain(joined([]Row{*r}))
	if err == nil && len(read) != 1 {
		err = fmt.Errorf("the entry is %d messages", len(read))
	}
	if err != nil {
		return Row{}, fmt.Errorf("%w: %w", memory.ErrInvalid, err)
	}
	read[0].ID = r.ID
	return rowOf(read[0], r.Data, input.Exact(r.At))
}
