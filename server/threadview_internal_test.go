package server

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/server/runs"
)

// The seq also grows after an event that cuts off the replies of many tasks.
func TestNumbersGrowWhenManyRepliesAreCutOff(t *testing.T) {
	t.Parallel()
	const replies = 5000
	v := newThreadView()
	last, ids := int64(0), map[string]bool{}
	read := func(e *runs.Event) []threadEvent {
		events, err := v.events(e)
		require.NoError(t, err)
		for _, ev := range events {
			require.Greater(t, ev.Seq, last)
			require.False(t, ids[ev.ID], ev.ID)
			last, ids[ev.ID] = ev.Seq, true
		}
		return events
	}
	seq := int64(0)
	event := func(kind string, data any) *runs.Event {
		seq++
		return &runs.Event{Seq: seq, Run: "r", Kind: kind, Task: fmt.Sprint("task", seq), Node: "model", Data: encoded(data)}
	}
	read(event(kindStart, runStart{Graph: "agent"}))
	for i := range replies {
		id := fmt.Sprint("reply", i)
		read(event(kindMessage, messageEvent{ID: id, Message: encoded(chunkMessage{Type: "AIMessageChunk", ID: id, Content: "a"})}))
	}
	cut := read(event(kindEnd, runEnd{Status: runError, Error: &failure{Name: "Error", Message: "stopped"}}))
	assert.Len(t, cut, 2*replies+1, "each reply has a block and an error, and the run ends")
	read(event(kindStart, runStart{Graph: "agent"}))
}
