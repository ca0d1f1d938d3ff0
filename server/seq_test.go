package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The hook of @langchain/react reads two streams of a thread, one with all channels and one with few. It compares the seq
// of their events to find out whether a run has ended.
func TestTheSeqOfTwoStreamsCanBeCompared(t *testing.T) {
	t.Parallel()
	w := newWire(t, nil)
	thread := w.thread()
	const turns = 2
	for range turns {
		w.json(http.MethodPost, "/threads/"+thread+"/runs/wait", map[string]any{"assistant_id": "slow", "input": map[string]any{"tag": "a", "n": 3}})
	}
	read := func(since int64, channels ...string) map[string]int64 { // the seq of each event; running and completed have the seq of the last turn
		body := map[string]any{"channels": channels, "since": since}
		seqs, ends := map[string]int64{}, 0
		if since > 0 {
			ends = turns - 1
		}
		last := func(e wireEvent) bool {
			if e.name == "lifecycle" && strings.Contains(e.data, "completed") {
				ends++
			}
			return ends == turns
		}
		for _, e := range w.events(w.send(http.MethodPost, "/threads/"+thread+"/stream/events", body), last) {
			var m socketMessage
			require.NoError(t, json.Unmarshal([]byte(e.data), &m))
			seqs[m.EventID] = m.Seq
			for _, state := range []string{"running", "completed"} {
				if m.Method == "lifecycle" && len(m.Params.Namespace) == 0 && strings.Contains(string(m.Params.Data), state) {
					seqs[state] = m.Seq
				}
			}
		}
		return seqs
	}
	all, few := read(0, "values", "updates", "custom", "tasks", "lifecycle"), read(0, "lifecycle")
	assert.Less(t, all["running"], few["completed"])
	assert.Less(t, few["running"], all["completed"])

	rest := read(all["running"], "values", "updates", "custom", "tasks", "lifecycle")
	assert.NotContains(t, rest, "running", "the client has it")
	for event, seq := range rest {
		assert.Greater(t, seq, all["running"], event)
	}
	for event, seq := range all {
		if seq > all["running"] {
			assert.Contains(t, rest, event)
		}
	}
}

// The hook of @langchain/react joins a stream after it has sent a command. No event says that a question was answered, so
// the hook takes questions up to applied_through_seq as answered, and later ones as questions of the new run.
func TestTheSeqOfACommandIsBetweenTheOldAndTheNewQuestions(t *testing.T) {
	t.Parallel()
	w := newWire(t, nil)
	thread := w.thread()
	command := func(method string, params map[string]any) int64 {
		got := w.json(http.MethodPost, "/threads/"+thread+"/commands", map[string]any{"id": 1, "method": method, "params": params})
		require.Equal(t, "success", got["type"], got)
		return int64(got["meta"].(map[string]any)["applied_through_seq"].(float64))
	}
	read := func(questions int) (list []socketMessage) {
		w.events(w.send(http.MethodPost, "/threads/"+thread+"/stream/events", map[string]any{"channels": []string{"input"}}), func(e wireEvent) bool {
			var m socketMessage
			require.NoError(t, json.Unmarshal([]byte(e.data), &m))
			list = append(list, m)
			return len(list) == questions
		})
		return list
	}
	ask := map[string]any{"assistant_id": "approve", "input": map[string]any{"request": "r"}}
	assert.Zero(t, command("run.start", ask), "the thread has no events")
	old := read(1)[0]
	var data struct {
		ID string `json:"interrupt_id"`
	}
	require.NoError(t, json.Unmarshal(old.Params.Data, &data))
	assert.GreaterOrEqual(t, command("input.respond", map[string]any{"interrupt_id": data.ID, "response": "yes"}), old.Seq)

	applied := command("run.start", ask) // run.start waits for the end of the previous run, which has the answer
	list := read(2)
	assert.Equal(t, old.Seq, list[0].Seq, "the stream has the answered question, too")
	assert.GreaterOrEqual(t, applied, list[0].Seq)
	assert.Less(t, applied, list[1].Seq)
}
