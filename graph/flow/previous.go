package flow

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/weft-go/weft/internal/jsonform"
)

// A savedValue is the JSON that a turn saved with [Save].
type savedValue struct {
	Value json.RawMessage `json:"value,omitempty"`
}

// Previous returns the value that the previous turn of the thread saved with [Save]. If the
// turn saved no value, Previous returns the output of the turn. In the first turn, and in a run
// without a thread, it returns the zero value. It returns an error if the stored value does not
// decode into a P. The context must be the context of the flow's function.
func Previous[P any](ctx context.Context) (P, error) {
	var value P
	s, err := flowScope(ctx, "Previous")
	if err != nil {
		return value, err
	}
	data, err := s.previous()
	if err == nil && data != nil {
		value, err = jsonform.Unmarshal[P](data)
	}
	if err != nil {
		err = fmt.Errorf("flow: the value of the previous turn: %w", err)
	}
	return value, err
}

// Save sets the value that [Previous] returns in the next turn. It is stored with the output,
// when the flow completes. If Save is called several times, the last value is stored. The
// context must be the context of the flow's function.
func Save[P any](ctx context.Context, value P) error {
	s, err := flowScope(ctx, "Save")
	if err != nil {
		return err
	}
	data, err := jsonform.Marshal(value)
	if err != nil {
		return fmt.Errorf("flow: the saved value: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saved = data
	return nil
}

// flowScope returns the scope of a flow's function. In a task it returns an error, since a
// task that has completed does not run again.
func flowScope(ctx context.Context, name string) (*scope, error) {
	s, err := scopeOf(ctx)
	switch {
	case err != nil:
		return nil, fmt.Errorf("flow: %s: %w", name, err)
	case s.inTask:
		return nil, fmt.Errorf("flow: %s: the context belongs to a task; call it in the function of the flow", name)
	}
	return s, nil
}
