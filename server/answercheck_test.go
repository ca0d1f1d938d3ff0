package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

// The server refuses an answer that does not fit its question, whichever request gives the answer. The question stays
// open.
func TestAnAnswerThatDoesNotFitItsQuestionIsRefused(t *testing.T) {
	t.Parallel()
	s, _ := asked(t, server.Options{Graphs: map[string]*graph.Graph{"helper": helper(t, memcheckpoint.New(memcheckpoint.Options{}))}, Runs: memruns.New()})
	thread := "/threads/" + studioThread
	question := func() (id, hash string) {
		t.Helper()
		state := get(t, s, thread+"/state")
		id, _ = field(state, "interrupts", 0, "id").(string)
		hash, _ = field(state, "interrupts", 0, "value", "hash").(string)
		return id, hash
	}
	id, hash := question()
	for answer, why := range map[string]string{
		`true`:                   "want an object, got true",
		`{"verdict":"approved"}`: `hash: is missing; want "` + hash + `"`,
		`{"verdict":"approve","hash":"` + hash[:100] + `"}`: `hash: want "` + hash + `", got `,
		`{"verdict":"approved","hash":"` + hash + `"}`:      `verdict: want one of "approve", "reject", "edit", got the string "approved"`,
	} {
		_, got := send(t, s, http.MethodPost, thread+"/commands", fmt.Sprintf(`{"id":1,"method":"input.respond","params":{"interrupt_id":%q,"response":%s}}`, id, answer))
		assert.Equal(t, "invalid_argument", field(got, "error"), answer)
		text, _ := field(got, "message").(string)
		assert.Contains(t, text, why, answer)
		for _, resume := range []string{answer, `{"` + id + `":` + answer + `}`} {
			_, got = send(t, s, http.MethodPost, thread+"/runs/wait", `{"assistant_id":"helper","command":{"resume":`+resume+`}}`)
			text, _ = field(got, "__error__", "message").(string)
			assert.Contains(t, text, why, resume)
			again, _ := question()
			require.Equal(t, id, again, resume)
		}
	}
	status, got := send(t, s, http.MethodPost, thread+"/runs/wait", `{"assistant_id":"helper","command":{"resume":{"verdict":"approve","hash":"`+hash+`"}}}`)
	require.Equal(t, http.StatusOK, status)
	assert.Nil(t, field(got, "__error__"))
	id, _ = question()
	assert.Empty(t, id)
}

// In the thread-centric protocol, an input is the answer to an open question. A message that does not fit the question
// changes nothing.
func TestAMessageIsRefusedWhileTheThreadWaitsForAnotherAnswer(t *testing.T) {
	t.Parallel()
	s, _ := asked(t, server.Options{Graphs: map[string]*graph.Graph{"helper": helper(t, memcheckpoint.New(memcheckpoint.Options{}))}, Runs: memruns.New()})
	thread := "/threads/" + studioThread
	before := get(t, s, thread+"/state")
	status, got := send(t, s, http.MethodPost, thread+"/commands", `{"id":1,"method":"run.start","params":{"assistant_id":"helper","input":{"messages":[{"type":"human","content":"And the weather?"}]}}}`)
	require.Equal(t, http.StatusOK, status)
	assert.Equal(t, "invalid_argument", field(got, "error"))
	text, _ := field(got, "message").(string)
	assert.Contains(t, text, "The thread waits for an answer")
	assert.Contains(t, text, "hash: is missing")
	assert.Equal(t, before, get(t, s, thread+"/state"))
	_, found := send(t, s, http.MethodPost, "/weft/runs/search", `{"thread_id":"`+studioThread+`"}`)
	assert.Nil(t, field(found, "runs", 1), "no run began")

	hash, _ := field(before, "interrupts", 0, "value", "hash").(string)
	_, got = send(t, s, http.MethodPost, thread+"/commands", `{"id":2,"method":"run.start","params":{"assistant_id":"helper","input":{"verdict":"approve","hash":"`+hash+`"}}}`)
	run, _ := field(got, "result", "run_id").(string)
	require.NotEmpty(t, run, got)
	assert.NotNil(t, field(get(t, s, thread+"/runs/"+run+"/join"), "messages", 3), "an input that fits is the answer")
}

// counts returns a graph that asks for a number. The prompt has the schema of the answer.
func counts(t *testing.T) *graph.Graph {
	t.Helper()
	type prompt struct {
		Title  string          `json:"title"`
		Schema json.RawMessage `json:"schema"`
	}
	cups := state.Last[int]("cups")
	ask := graph.NewInterrupt[prompt, int]("cups")
	b := graph.New("counts", cups, agent.Messages)
	b.Node("ask", func(ctx context.Context, _ state.View) (state.Update, error) {
		n, err := ask.Wait(ctx, prompt{"How many cups?", json.RawMessage(`{"type":"integer"}`)})
		return state.Update{cups.Put(n)}, err
	})
	b.Edge(graph.Start, "ask")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	return g
}

// For JSON Schema, 2.0 is an integer. Go cannot decode 2.0 into an int, so the node gets 2, whichever request gives the
// answer.
func TestANodeGetsTheCheckedFormOfAnAnswer(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(id string) (path, body string){
		"resume": func(string) (string, string) {
			return "/runs/wait", `{"assistant_id":"counts","command":{"resume":2.0}}`
		},
		"resume by id": func(id string) (string, string) {
			return "/runs/wait", `{"assistant_id":"counts","command":{"resume":{"` + id + `":2.0}}}`
		},
		"respond": func(id string) (string, string) {
			return "/commands", `{"id":1,"method":"input.respond","params":{"interrupt_id":"` + id + `","response":2.0}}`
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, server.Options{Graphs: map[string]*graph.Graph{"counts": counts(t)}, Runs: memruns.New()})
			thread := "/threads/" + studioThread
			_, asked := send(t, s, http.MethodPost, thread+"/runs/wait", `{"assistant_id":"counts","if_not_exists":"create","input":{}}`)
			id, _ := field(asked, "__interrupt__", 0, "id").(string)
			require.NotEmpty(t, id)
			path, body := answer(id)
			status, _ := send(t, s, http.MethodPost, thread+path, body)
			require.Equal(t, http.StatusOK, status)
			_, found := send(t, s, http.MethodPost, "/weft/runs/search", `{"thread_id":"`+studioThread+`"}`)
			run, _ := field(found, "runs", 0, "run_id").(string)
			assert.Equal(t, json.Number("2"), field(get(t, s, thread+"/runs/"+run+"/join"), "cups"))
		})
	}
}
