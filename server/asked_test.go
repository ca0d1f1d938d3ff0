package server_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
)

func TestAuthorizeSeesWhatARunOrAnUpdateAsksFor(t *testing.T) {
	t.Parallel()
	const thread = "4b0b7a2e-8b0c-4f0e-9a59-3c2d1c8d2f10"
	const run, state = "/threads/" + thread + "/runs/wait", "/threads/" + thread + "/state"
	const at = "1f0b0000-0000-6000-8000-000000000000"
	type access = server.Access
	for name, c := range map[string]struct {
		path, body string
		want       server.Access
	}{
		"an input":                           {run, `{"assistant_id":"review","input":{"draft":"milk"}}`, access{}},
		"a goto":                             {run, `{"assistant_id":"review","command":{"goto":["publish",{"node":"rewrite","input":{}},"__end__"]}}`, access{Goto: []string{"publish", "rewrite"}}},
		"the end":                            {run, `{"assistant_id":"review","command":{"goto":"__end__"}}`, access{}},
		"an answer":                          {run, `{"assistant_id":"review","command":{"resume":"yes","update":{"draft":"milk"}}}`, access{Resume: true, Update: []string{"draft"}}},
		"pairs":                              {run, `{"assistant_id":"review","command":{"update":[["log",["a"]],["draft","b"]]}}`, access{Update: []string{"draft", "log"}}},
		"a checkpoint":                       {run, `{"assistant_id":"review","input":null,"checkpoint_id":"` + at + `"}`, access{Checkpoint: at}},
		"a run without a thread":             {"/runs/wait", `{"assistant_id":"review","command":{"goto":"publish"}}`, access{Goto: []string{"publish"}}},
		"an answer by the thread's protocol": {"/threads/" + thread + "/commands", `{"id":1,"method":"input.respond","params":{"interrupt_id":"QUESTION","response":"yes","goto":"publish"}}`, access{Resume: true, Goto: []string{"publish"}}},
		"an update":                          {state, `{"values":{"draft":"b"},"as_node":"review"}`, access{AsNode: []string{"review"}, Update: []string{"draft"}}},
		"an update as input":                 {state, `{"values":{"draft":"b"},"as_node":"__input__"}`, access{AsNode: []string{"__start__"}, Update: []string{"draft"}}},
		"supersteps":                         {"/threads", `{"graph_id":"review","supersteps":[{"updates":[{"values":{"draft":"b"},"as_node":"review"}]}]}`, access{AsNode: []string{"review"}, Update: []string{"draft"}}},
		"a cron":                             {"/runs/crons", `{"assistant_id":"review","schedule":"0 0 1 1 *","command":{"goto":"publish"}}`, access{Goto: []string{"publish"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var got []server.Access
			watching := false
			s, err := server.New(server.Options{
				Graphs: map[string]*graph.Graph{"review": reviewGraph(t)}, Runs: memruns.New(),
				Authorize: func(_ context.Context, a server.Access) (server.Filter, error) {
					mu.Lock()
					defer mu.Unlock()
					if watching && (a.Resource == server.ResourceThreads || a.Resource == server.ResourceCrons) {
						got = append(got, server.Access{Goto: a.Goto, Resume: a.Resume, Checkpoint: a.Checkpoint, AsNode: a.AsNode, Update: a.Update})
					}
					return server.Filter{}, nil
				},
			})
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
			_, paused := waitFor(t, s, thread, pausedInput)
			_, id, _ := strings.Cut(paused, `"id":"`)
			id, _, _ = strings.Cut(id, `"`)
			mu.Lock()
			watching = true
			mu.Unlock()
			local(t, s, http.MethodPost, c.path, strings.ReplaceAll(c.body, "QUESTION", id))
			mu.Lock()
			defer mu.Unlock()
			assert.Contains(t, got, c.want)
			for _, a := range got {
				if a.Goto != nil || a.Resume || a.Checkpoint != "" || a.AsNode != nil || a.Update != nil {
					assert.Equal(t, c.want, a)
				}
			}
		})
	}
}
