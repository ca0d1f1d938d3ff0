package howto_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

var update = flag.Bool("update", false, "write the frames of the server into testdata")

// teaHouse serves a graph. Its model greets. Then, as the order says, the graph brews tea, asks,
// fails or waits.
func teaHouse(t *testing.T) string {
	t.Helper()
	order, cups := state.Last[string]("order"), state.Last[int]("cups")
	ask := graph.NewInterrupt[string, int]("cups")
	b := graph.New("tea", order, cups, agent.Messages)
	b.Node("greet", func(ctx context.Context, s state.View) (state.Update, error) {
		graph.Emit(ctx, map[string]string{"step": "greeting"})
		reply, err := agent.Ask(ctx, llmtest.NewScript(llmtest.Say("Good day.")), llm.Request{Messages: []llm.Message{llm.User(order.Get(s))}})
		return state.Update{agent.Messages.Put(reply)}, err
	})
	b.Node("brew", func(ctx context.Context, s state.View) (state.Update, error) {
		n, err := 1, error(nil)
		switch order.Get(s) {
		case "some tea":
			n, err = ask.Wait(ctx, "How many cups?")
		case "coffee":
			err = errors.New("there is no coffee")
		case "slow tea":
			graph.Emit(ctx, map[string]string{"step": "the kettle heats"})
			<-ctx.Done()
			err = ctx.Err()
		}
		return state.Update{cups.Put(n)}, err
	})
	b.Edge(graph.Start, "greet")
	b.Edge("greet", "brew")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	s, err := server.New(server.Options{Graphs: map[string]*graph.Graph{"tea": g}, Runs: memruns.New()})
	require.NoError(t, err)
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		web.Close()
		assert.NoError(t, s.Close(context.Background()))
	})
	return web.URL
}

// A frame is one event of a stream, as text.
type frame string

func (f frame) field(name string) string {
	for line := range strings.Lines(string(f)) {
		if value, ok := strings.CutPrefix(line, name+": "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// stream sends a request, and calls each with each frame until the stream ends. It returns the
// frames and the path of the run.
func stream(t *testing.T, method, url, body, last string, each func(frame)) (frames []frame, run string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	run = strings.TrimSuffix(resp.Header.Get("Content-Location"), "/stream")
	lines := bufio.NewReader(resp.Body)
	var text strings.Builder
	for {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			assert.Empty(t, text.String(), "the stream ends within a frame")
			return frames, run
		}
		require.NoError(t, err)
		if text.WriteString(line); line == "\n" {
			f := frame(text.String())
			text.Reset()
			frames = append(frames, f)
			if each != nil {
				each(f)
			}
		}
	}
}

var (
	uuids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	hexes = regexp.MustCompile(`"id":"[0-9a-f]{32}"`)
)

// shown returns frames as the guide shows them: a letter stands for each id, and the metadata of a
// message has only the node.
func shown(t *testing.T, frames []frame) string {
	t.Helper()
	var b strings.Builder
	for _, f := range frames {
		text := string(f)
		if f.field("event") == "messages" {
			var pair [2]json.RawMessage
			require.NoError(t, json.Unmarshal([]byte(f.field("data")), &pair))
			var about struct {
				Node string `json:"langgraph_node"`
			}
			require.NoError(t, json.Unmarshal(pair[1], &about))
			text = strings.Replace(text, string(pair[1]), fmt.Sprintf(`{"langgraph_node":%q}`, about.Node), 1)
		}
		b.WriteString(text)
	}
	text := hexes.ReplaceAllString(b.String(), `"id":"QUESTION"`)
	var ids []string
	return uuids.ReplaceAllStringFunc(text, func(id string) string {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
		return "ID-" + string(rune('A'+slices.Index(ids, id)))
	})
}

// golden compares a text with a file that the guide quotes.
func golden(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	text = strings.TrimSpace(text) + "\n"
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), text, "go test ./examples/howto -update writes %s", file)
}

// This test compares the frames of the server with the files that docs/howto/frames.md quotes.
func TestTheGuideHasTheFramesOfTheServer(t *testing.T) {
	t.Parallel()
	house := teaHouse(t)
	thread := func(t *testing.T) string {
		t.Helper()
		var created struct {
			ID string `json:"thread_id"`
		}
		post(house+"/threads", `{}`, &created)
		return house + "/threads/" + created.ID
	}
	body := func(order, modes string) string {
		return `{"assistant_id": "tea", "stream_resumable": true, "stream_mode": [` + modes + `], "input": {"order": "` + order + `"}}`
	}
	t.Run("done, and read again", func(t *testing.T) {
		t.Parallel()
		all, run := stream(t, http.MethodPost, thread(t)+"/runs/stream", body("tea", `"values", "messages-tuple", "custom"`), "", nil)
		golden(t, "frames_done", shown(t, all))
		at := len(all) - 3
		rest, _ := stream(t, http.MethodGet, house+run+"/stream", "", all[at].field("id"), nil)
		assert.Equal(t, all[at+1:], rest)
		again, _ := stream(t, http.MethodGet, house+run+"/stream", "", "-1", nil)
		assert.Equal(t, all, again)
		golden(t, "frames_rest", "Last-Event-ID: "+all[at].field("id")+"\n\n"+shown(t, rest))
	})
	t.Run("question", func(t *testing.T) {
		t.Parallel()
		at := thread(t) + "/runs/stream"
		asked, _ := stream(t, http.MethodPost, at, body("some tea", `"updates"`), "", nil)
		golden(t, "frames_question", shown(t, asked))
		answered, _ := stream(t, http.MethodPost, at, `{"assistant_id": "tea", "stream_mode": "updates", "command": {"resume": 3}}`, "", nil)
		golden(t, "frames_answer", shown(t, answered))
	})
	t.Run("error", func(t *testing.T) {
		t.Parallel()
		failed, _ := stream(t, http.MethodPost, thread(t)+"/runs/stream", body("coffee", `"updates"`), "", nil)
		golden(t, "frames_error", shown(t, failed))
	})
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		at := thread(t)
		frames, _ := stream(t, http.MethodPost, at+"/runs/stream", body("slow tea", `"custom"`), "", func(f frame) {
			var begun struct {
				Run string `json:"run_id"`
			}
			if assert.NoError(t, json.Unmarshal([]byte(f.field("data")), &begun)) && begun.Run != "" {
				at += "/runs/" + begun.Run
			}
			if strings.Contains(string(f), "kettle") {
				resp, err := http.Post(at+"/cancel?wait=false", "", nil)
				if assert.NoError(t, err) {
					_ = resp.Body.Close()
				}
			}
		})
		golden(t, "frames_cancelled", shown(t, frames))
		resp, err := http.Get(at)
		require.NoError(t, err)
		defer func() { _ = resp.Body.Close() }()
		var run struct{ Status string }
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&run))
		assert.Equal(t, "interrupted", run.Status)
	})
}
