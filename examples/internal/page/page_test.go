package page_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/examples/internal/page"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
)

func helper(t *testing.T, replies ...llmtest.Reply) *graph.Graph {
	t.Helper()
	set, err := tools.NewSet(tools.New("order", "Orders cups.", func(_ context.Context, in struct {
		Cups int `json:"cups"`
	},
	) (int, error) {
		return in.Cups, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	g, err := agent.New("helper", llmtest.NewScript(replies...), set, agent.Options{
		Tools: tools.Options{Approval: tools.Approval{Rule: tools.Named("order")}},
		Graph: graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})},
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestMount(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	page.Mount(mux, page.Options{Title: "Cups", Graph: helper(t)})
	server := httptest.NewServer(mux)
	defer server.Close()
	for path, want := range map[string]struct{ kind, text string }{
		"/":          {"text/html", `<main>`},
		"/page.css":  {"text/css", ":root"},
		"/page.js":   {"javascript", "async function"},
		"/graph.js":  {"javascript", "export function draw"},
		"/page.json": {"application/json", `"name":"tools"`},
	} {
		r, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || r.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d, %v", path, r.StatusCode, err)
		}
		if kind := r.Header.Get("Content-Type"); !strings.Contains(kind, want.kind) || !strings.Contains(string(body), want.text) {
			t.Errorf("%s is %s and has no %q", path, kind, want.text)
		}
		if !strings.Contains(r.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s may load anything", path)
		}
	}
	r, err := http.Get(server.URL + "/other")
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusNotFound {
		t.Errorf("/other is %d, want 404", r.StatusCode)
	}
}

func TestThreadWithAQuestion(t *testing.T) {
	t.Parallel()
	g := helper(t, llmtest.Call("order", `{"cups":2}`), llmtest.Say("Ordered."))
	thread := g.Thread("t")
	snap, err := thread.Invoke(t.Context(), agent.Messages.Put(llm.User("two cups", llm.Image("image/png", []byte("png")))))
	if err != nil {
		t.Fatal(err)
	}
	p := page.Of("t", "Cups", snap, agent.Messages.Get(snap))
	if len(p.Messages) != 2 || p.Messages[0].Images[0] != "data:image/png;base64,cG5n" || p.Messages[1].Calls[0].Answered {
		t.Errorf("the messages are %+v", p.Messages)
	}
	if len(p.Waits) != 1 || p.Waits[0].Kind != agent.ChunkApproval || p.Waits[0].Question.Tool != "order" || p.Unfinished {
		t.Fatalf("the questions are %+v, unfinished %t", p.Waits, p.Unfinished)
	}
	snap, err = thread.Invoke(t.Context(), agent.Approval.Answer(p.Waits[0].Pause.ID, p.Waits[0].Question.Approve()))
	if err != nil {
		t.Fatal(err)
	}
	p = page.Of("t", "Cups", snap, agent.Messages.Get(snap))
	if c := p.Messages[1].Calls[0]; !c.Answered || c.Answer != "2" || c.Failed || len(p.Waits) != 0 || p.Unfinished {
		t.Errorf("the thread is %+v", p)
	}
}

func TestThreadWithoutARun(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(page.Of("t", "", nil, nil))
	if want := `{"id":"t","title":"","messages":[],"waits":[],"unfinished":false}`; err != nil || string(data) != want {
		t.Errorf("got %s, %v, want %s", data, err, want)
	}
}

func TestThreadThatBrokeOff(t *testing.T) {
	t.Parallel()
	g := helper(t, llmtest.Fail(llm.ErrOverloaded))
	_, _ = g.Thread("t").Invoke(t.Context(), agent.Messages.Put(llm.User("hi"))) // it fails, as it is meant to
	snap, err := g.Thread("t").Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p := page.Of("t", "", snap, agent.Messages.Get(snap)); !p.Unfinished || len(p.Waits) != 0 {
		t.Errorf("the thread is %+v, want it unfinished", p)
	}
}
