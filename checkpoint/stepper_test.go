package checkpoint_test

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
)

// A stepper puts checkpoints like those of an agent, each with a message and a
// number.
type stepper struct {
	c checkpoint.Checkpoint
}

func newStepper(thread string) *stepper {
	message := []byte(`[{"id":"m-00000000","role":"tool","text":"0123456789abcdef01234"}]`)
	return &stepper{c: checkpoint.Checkpoint{
		Key:     checkpoint.Key{Thread: thread},
		Source:  checkpoint.Loop,
		Run:     "0190b5e4-7c1a-7e2f-8a3b-000000000001",
		Version: "1",
		Control: []byte(`{"next":["tools"]}`),
		Changes: []checkpoint.Change{
			{Channel: "messages", Kind: 2, Data: message},
			{Channel: "tokens", Kind: 1, Data: []byte("1234")},
		},
	}}
}

func (s *stepper) put(store checkpoint.Store, id string) error {
	head := s.c.ID
	s.c.ID, s.c.Parent = id, head
	s.c.Step++
	return store.Put(context.Background(), s.c, head)
}

func uuid(n int) string { return fmt.Sprintf("0190b5e4-7c1a-7e2f-8a3b-%012x", n) }

func uuids(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = uuid(i)
	}
	return ids
}
