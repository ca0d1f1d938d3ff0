package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
)

// An Exported is one line of [Memory.Export]: a fact, or something that was done to one.
type Exported struct {
	Fact  *Fact  `json:"fact,omitempty"`
	Event *Event `json:"event,omitempty"`
}

// Export writes all that is kept of a scope, as lines of JSON: each fact, also if it is no
// longer so, and then what was done to facts, also to those that were deleted or have expired, as
// what they said is kept in the history until the scope is forgotten. Parts of the scope that
// are empty mean all, as in [Memory.Forget]: what is exported is what would be forgotten.
func (m *Memory) Export(ctx context.Context, s Scope, w io.Writer) error {
	if err := m.export(ctx, s, json.NewEncoder(w)); err != nil {
		return fmt.Errorf("memory: export: %s: %w", s, err)
	}
	return nil
}

func (m *Memory) export(ctx context.Context, s Scope, lines *json.Encoder) error {
	q := FactQuery{
		Scope: s, AnyWorkspace: s.Workspace == "", AnyUser: s.User == "", AnyAgent: s.Agent == "",
		Closed: true, Untrusted: true, Limit: -1,
	}
	for f, err := range m.List(ctx, q) {
		if err == nil {
			err = lines.Encode(Exported{Fact: &f})
		}
		if err != nil {
			return err
		}
	}
	for e, err := range m.store.History(ctx, s, "") {
		if err == nil {
			err = lines.Encode(Exported{Event: &e})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
