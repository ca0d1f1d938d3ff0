package server_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

// reviewGraph asks before it publishes a draft.
func reviewGraph(t testing.TB) *graph.Graph {
	t.Helper()
	draft, lines, review := state.Last[string]("draft"), state.Append[string]("log"), graph.NewInterrupt[string, string]("review")
	b := graph.New("review", draft, lines)
	b.Node("review", func(ctx context.Context, s state.View) (state.Update, error) {
		answer, err := review.Wait(ctx, "publish "+draft.Get(s)+"?")
		return state.Update{lines.Put("review " + answer)}, err
	})
	b.Node("publish", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{lines.Put("published " + draft.Get(s))}, nil
	})
	b.Node("rewrite", func(context.Context, state.View) (state.Update, error) {
		return state.Update{lines.Put("rewritten")}, nil
	})
	b.Edge(graph.Start, "review")
	b.Edge("review", "publish")
	b.Destinations(graph.Start, "rewrite")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	return g
}

// reviewServer serves the graph without a network.
func reviewServer(t testing.TB) *server.Server {
	t.Helper()
	s, err := server.New(server.Options{Graphs: map[string]*graph.Graph{"review": reviewGraph(t)}, Runs: memruns.New()})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	return s
}

// waitFor runs the graph and returns the status and the body of the response.
func waitFor(t *testing.T, s *server.Server, thread, request string) (int, string) {
	t.Helper()
	w := local(t, s, http.MethodPost, "/threads/"+thread+"/runs/wait", `{"assistant_id":"review","if_not_exists":"create",`+request+`}`)
	return w.Code, strings.TrimSpace(w.Body.String())
}

const pausedInput = `"input":{"draft":"tea"}`

// The expected answers are those of LangGraph Server 0.16.7 for the same graph.
func TestGotoRunsItsNodes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ command, answered string }{
		"a name":                {`{"goto":"publish"}`, `["published tea","review yes","published tea"]`},
		"a list of names":       {`{"goto":["publish"]}`, `["published tea","review yes","published tea"]`},
		"several names":         {`{"goto":["publish","rewrite"]}`, `["published tea","review yes","rewritten","published tea"]`},
		"an input":              {`{"goto":{"node":"publish","input":{"draft":"milk"}}}`, `["review yes","published milk","published tea"]`},
		"a list of inputs":      {`{"goto":[{"node":"publish","input":{"draft":"milk"}}]}`, `["review yes","published milk","published tea"]`},
		"a name with an update": {`{"update":{"draft":"tea"},"goto":"publish"}`, `["published tea","review yes","published tea"]`},
		"the end":               {`{"goto":"__end__"}`, `["review yes","published tea"]`},
		"an input for the end":  {`{"goto":{"node":"__end__","input":{"draft":"milk"}}}`, `["review yes","published tea"]`},
		"no nodes":              {`{"goto":[]}`, `["review yes","published tea"]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, thread := reviewServer(t), uuid.New()
			_, paused := waitFor(t, s, thread, pausedInput)
			code, body := waitFor(t, s, thread, `"command":`+c.command)
			assert.Equal(t, http.StatusOK, code)
			assert.JSONEq(t, paused, body, "the question stays open, and its superstep has not ended")
			_, body = waitFor(t, s, thread, `"command":{"resume":"yes"}`)
			assert.JSONEq(t, `{"draft":"tea","log":`+c.answered+`}`, body)
		})
	}
}

func TestGotoRunsItsNodesOnAThreadThatIsDone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ command, log string }{
		"a name":           {`{"goto":"publish"}`, `["review yes","published tea","published tea"]`},
		"a list of names":  {`{"goto":["publish"]}`, `["review yes","published tea","published tea"]`},
		"a list of inputs": {`{"goto":[{"node":"publish","input":{"draft":"a"}},{"node":"publish","input":{"draft":"b"}}]}`, `["review yes","published tea","published a","published b"]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, thread := reviewServer(t), uuid.New()
			waitFor(t, s, thread, pausedInput)
			waitFor(t, s, thread, `"command":{"resume":"yes"}`)
			_, body := waitFor(t, s, thread, `"command":`+c.command)
			assert.JSONEq(t, `{"draft":"tea","log":`+c.log+`}`, body)
		})
	}
}

func TestUpdateOfACommandWritesEachOfItsPairs(t *testing.T) {
	t.Parallel()
	s, thread := reviewServer(t), uuid.New()
	waitFor(t, s, thread, pausedInput)
	_, body := waitFor(t, s, thread, `"command":{"resume":"yes","update":[["log",["a"]],["log",["b"]]]}`)
	assert.JSONEq(t, `{"draft":"tea","log":["a","b","review yes","published tea"]}`, body)
}

// runForms has JSON forms of the fields of a run request: forms that the types of the SDKs allow, and others. If the
// value is true, the form begins a run.
var runForms = map[string]map[string]bool{
	"command": {
		`null`: true, `{}`: true, `{"goto":null}`: true, `{"goto":"nope"}`: true, `{"goto":["nope"]}`: true, `{"goto":"__start__"}`: true, `{"goto":["__end__"]}`: true,
		`{"goto":{"node":"publish"}}`: true, `{"goto":{"node":"publish","input":null}}`: true, `{"goto":{"node":"publish","input":"x"}}`: true,
		`{"goto":{"node":"publish","input":[1]}}`: true, `{"goto":{"node":"nope","input":{}}}`: true, `{"goto":["publish",{"node":"publish","input":{}}]}`: true,
		`{"update":null}`: true, `{"update":[]}`: true, `{"update":{"nope":1}}`: true, `{"update":[["draft","v"],["log",["z"]]]}`: true, `{"update":[["nope","v"]]}`: true,
		`{"update":{"draft":5}}`: true, `{"resume":["yes"]}`: true, `{"resume":{"a":1}}`: true, `{"resume":5}`: true, `{"graph":"x","update":{"draft":"g"}}`: true,
		`"x"`: false, `[]`: false, `5`: false, `{"goto":5}`: false, `{"goto":true}`: false, `{"goto":""}`: false, `{"goto":{}}`: false, `{"goto":[null]}`: false,
		`{"goto":[["publish"]]}`: false, `{"goto":{"node":5,"input":{}}}`: false, `{"update":"x"}`: false, `{"update":5}`: false, `{"update":[["draft"]]}`: false,
		`{"update":[[1,2]]}`: false, `{"update":["draft","v"]}`: false, `{"update":[["draft","a","b"]]}`: false, `{"update":[{}]}`: false, `{"resume":null}`: false,
	},
	"input": {
		`null`: true, `{}`: true, `[]`: true, `"x"`: true, `5`: true, `[{"draft":"a"}]`: true, `{"draft":null}`: true, `{"draft":5}`: true, `{"log":"x"}`: true, `{"nope":1}`: true,
	},
	"config": {
		`null`: true, `{}`: true, `{"tags":null,"recursion_limit":null,"configurable":null,"metadata":null}`: true, `{"recursion_limit":0}`: true,
		`{"max_concurrency":2}`: true, `{"configurable":{"thread_id":"x"}}`: true, `{"configurable":{"checkpoint_id":null}}`: true,
		`[]`: false, `"x"`: false, `{"tags":"x"}`: false, `{"tags":[5]}`: false, `{"recursion_limit":-1}`: false, `{"recursion_limit":2.5}`: false, `{"recursion_limit":"10"}`: false,
		`{"configurable":[]}`: false, `{"configurable":"x"}`: false, `{"metadata":[]}`: false, `{"configurable":{"checkpoint_id":5}}`: false, `{"configurable":{"checkpoint_id":"x"}}`: false,
	},
	"checkpoint": {
		`null`: true, `{}`: true, `{"checkpoint_id":null}`: true, `{"thread_id":"x"}`: true, `{"checkpoint_id":"00000000-0000-4000-8000-000000000000"}`: true,
		`"x"`: false, `[]`: false, `{"checkpoint_id":"x"}`: false, `{"checkpoint_id":5}`: false,
	},
	"checkpoint_id":    {`null`: true, `""`: true, `"x"`: false, `5`: false},
	"interrupt_before": {`null`: true, `"*"`: true, `[]`: true, `["*"]`: true, `["nope"]`: true, `"publish"`: true, `5`: false, `[5]`: false, `{}`: false},
	"interrupt_after":  {`null`: true, `"*"`: true, `["review"]`: true, `{}`: false},
	"context":          {`null`: true, `{}`: true, `{"a":[1]}`: true, `[]`: false, `"x"`: false},
	"metadata":         {`null`: true, `{}`: true, `{"a":null}`: true, `[]`: false, `"x"`: false},
	"stream_mode":      {`null`: true, `"values"`: true, `[]`: true, `{}`: false, `["values",5]`: false, `"nope"`: false},

	"after_seconds": {`null`: true, `0`: true, `"1"`: false, `-1`: false, `1e300`: false}, "webhook": {`null`: true, `5`: false, `"https://example.com"`: false},
	"multitask_strategy": {`null`: true, `"enqueue"`: true, `"foo"`: false, `5`: false}, "durability": {`null`: true, `"exit"`: true, `"foo"`: false},
	"on_disconnect": {`null`: true, `5`: false, `"x"`: false}, "on_completion": {`null`: true, `"x"`: false}, "feedback_keys": {`["a"]`: true, `null`: true},
}

// A run request with a field of any form begins a run that ends, or is refused. Afterwards the thread can be used and
// deleted.
func TestEachFormOfARunRequestIsAnswered(t *testing.T) {
	t.Parallel()
	s := reviewServer(t)
	for field, forms := range runForms {
		for form, runs := range forms {
			for _, paused := range []bool{false, true} {
				thread := uuid.New()
				require.Equal(t, http.StatusOK, local(t, s, http.MethodPost, "/threads", `{"thread_id":"`+thread+`"}`).Code)
				if paused {
					waitFor(t, s, thread, pausedInput)
				}
				request := `"` + field + `":` + form
				if field != "input" && field != "command" {
					request = pausedInput + "," + request
				}
				code, body := waitFor(t, s, thread, request)
				assert.Equal(t, runs, code == http.StatusOK, "%s: %d %s", request, code, body)
				assert.Contains(t, []int{http.StatusOK, http.StatusBadRequest, http.StatusUnprocessableEntity}, code, request)
				assert.Equal(t, http.StatusNoContent, local(t, s, http.MethodDelete, "/threads/"+thread, "").Code)
			}
		}
	}
}

// FuzzRunRequest looks for requests that are not answered.
func FuzzRunRequest(f *testing.F) {
	for field, forms := range runForms {
		for form := range forms {
			f.Add(`{"assistant_id":"review","` + field + `":` + form + `}`)
		}
	}
	f.Add(`{"assistant_id":"review","input":{"draft":` + strings.Repeat("[", 9990) + strings.Repeat("]", 9990) + `}}`)
	s := reviewServer(f)
	f.Fuzz(func(t *testing.T, body string) {
		if strings.Contains(strings.ToLower(body), "after_seconds") { // a run may begin in a year
			return
		}
		thread := uuid.New()
		require.Equal(t, http.StatusOK, local(t, s, http.MethodPost, "/threads", `{"thread_id":"`+thread+`"}`).Code)
		waitFor(t, s, thread, pausedInput)
		late := time.AfterFunc(20*time.Second, func() { panic("no answer to " + body) })
		defer late.Stop()
		code := local(t, s, http.MethodPost, "/threads/"+thread+"/runs/wait", body).Code
		assert.Less(t, code, http.StatusInternalServerError)
		assert.Equal(t, http.StatusNoContent, local(t, s, http.MethodDelete, "/threads/"+thread, "").Code)
	})
}
