package analyst

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/examples/csvanalyst/internal/csvtools"
	"github.com/weft-go/weft/examples/csvanalyst/internal/records"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/graph/draw"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

func nothing(context.Context, state.View) (state.Update, error) { return nil, nil }

func TestTopology(t *testing.T) {
	t.Parallel()
	k := onSQLite(t, llmtest.Echo{})
	edges := map[string]string{}
	for _, e := range k.Graph().Describe().Edges {
		if e.Kind != draw.StaticEdge || edges[e.From] != "" {
			t.Errorf("there is an edge %+v", e)
		}
		edges[e.From] = e.To
	}
	want := map[string]string{graph.Start: "loadCsvMetadata", "loadCsvMetadata": "agent", "agent": "saveMessage", "saveMessage": graph.End}
	if !reflect.DeepEqual(edges, want) {
		t.Errorf("the edges are %v, want %v", edges, want)
	}
}

// One compiled graph serves many sessions at the same time, and many turns of each session.
func TestOneGraphForManyRuns(t *testing.T) {
	t.Parallel()
	k := onSQLite(t, llmtest.Echo{})
	var all sync.WaitGroup
	for i := range 8 {
		id := k.session()
		all.Go(func() {
			for j := range 3 {
				text := fmt.Sprintf("%d/%d", i, j)
				if got := strings.Join(k.say(id, text), ""); got != text {
					t.Errorf("session %d answered %q to %q", i, got, text)
				}
			}
		})
	}
	all.Wait()
}

func TestLoadCsvMetadataKeepsCSVFiles(t *testing.T) {
	onEach(t, func(t *testing.T, open func(llm.Model) *kit) {
		k := open(llmtest.Echo{})
		id := k.session("sales.csv", sales)
		for _, r := range []records.Resource{
			{ID: id + "1", MIMEType: "application/csv", OriginalName: "one"},
			{ID: id + "2", MIMEType: "application/octet-stream", OriginalName: "TWO.CsV"},
			{ID: id + "3", MIMEType: "image/png", OriginalName: "three.png"},
			{ID: id + "4", MIMEType: "text/plain", OriginalName: "four.csv.txt"},
		} {
			r.SessionID, r.StoredPath = id, "files/none"
			if err := k.records.CreateResource(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		k.session("other.csv", sales) // of another session
		k.say(id, "hi")
		snap, err := k.Graph().Thread(id).Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		names := []string{}
		for _, r := range csvMetadata.Get(snap) {
			names = append(names, r.OriginalName)
		}
		if want := []string{"sales.csv", "one", "TWO.CsV"}; !reflect.DeepEqual(names, want) {
			t.Errorf("the files are %q, want %q", names, want)
		}
	})
}

func TestOneUnreadableFileDoesNotFailTheRest(t *testing.T) {
	t.Parallel()
	var prompt string
	k := onSQLite(t, turns(func(r llm.Request) llm.Message {
		prompt = r.Messages[0].Text()
		return llm.Assistant("ok")
	}))
	id := k.session("good.csv", sales)
	broken := k.add(id, "broken.csv", sales)
	if err := os.WriteFile(filepath.Join(k.folder, broken.StoredPath+".db"), []byte("no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	k.say(id, "hi")
	snap, err := k.Graph().Thread(id).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := csvMetadata.Get(snap)
	if len(all) != 2 || *all[0].RowCount != 3 || !reflect.DeepEqual(all[0].Columns, []string{"city", "amount"}) {
		t.Fatalf("the files are %+v", all)
	}
	if all[1].OriginalName != "broken.csv" || all[1].Columns != nil || all[1].RowCount != nil {
		t.Errorf("the broken file is %+v", all[1])
	}
	if !strings.Contains(prompt, "cannot be read") {
		t.Errorf("the model is told %q", prompt)
	}
}

func TestSystemPrompt(t *testing.T) {
	t.Parallel()
	rows := int64(3)
	prompt := buildSystemPrompt([]csvResource{
		{ID: "r1", OriginalName: "sales.csv", StoredPath: "files/r1.csv", Columns: []string{"city"}, RowCount: &rows, Notes: []string{"2 rows have fewer cells"}},
		{ID: "r2", OriginalName: "b.csv", StoredPath: "files/r2.csv"},
		{ID: "r3", OriginalName: "B.csv", StoredPath: "files/r3.csv"}, // the name of another file, if case is ignored
	})
	const begin = "You are a helpful AI assistant that can analyze CSV files and images. "
	if !strings.HasPrefix(prompt, begin) || !strings.HasPrefix(buildSystemPrompt(nil), begin) {
		t.Errorf("the prompt begins %.80q", prompt)
	}
	at := 0
	for _, part := range []string{`"resourceId":"sales.csv"`, `"name":"sales.csv"`, `"rowCount":3`, "2 rows have fewer cells", `"resourceId":"r2"`, `"resourceId":"r3"`, "Guidance", "aggregateCsvData", "compareCsvData"} {
		i := strings.Index(prompt[at:], part)
		if i < 0 {
			t.Fatalf("%q is missing, or not in its place, in %s", part, prompt)
		}
		at += i
	}
	if strings.Contains(prompt, "files/r1.csv") {
		t.Error("the model is told where files are stored")
	}
}

func TestImagesAreSentToTheModel(t *testing.T) {
	t.Parallel()
	model := llmtest.NewScript(llmtest.Say("a cat"), llmtest.Say("black"))
	k := onSQLite(t, model)
	id := k.session()
	k.say(id, "what is this?", records.Image{Data: []byte("png"), MIMEType: "image/png", OriginalName: "cat.png"})
	k.say(id, "which colour?")
	for i, r := range model.Requests() {
		if len(r.Messages) != 2+2*i {
			t.Fatalf("request %d has %d messages", i, len(r.Messages))
		}
		parts := r.Messages[1].Parts
		if len(parts) != 2 || parts[0].Text != "what is this?" || parts[1].Type != llm.PartImage || parts[1].MIMEType != "image/png" || string(parts[1].Data) != "png" {
			t.Errorf("request %d begins with %+v", i, parts)
		}
	}
	if last := model.Requests()[1].Messages; last[2].Text() != "a cat" || last[3].Text() != "which colour?" {
		t.Errorf("the conversation is %v", last)
	}
	metadata, err := k.records.Messages(t.Context(), id)
	if err != nil || len(metadata[0].Images) != 1 || metadata[0].Images[0].OriginalName != "cat.png" || metadata[1].Images != nil {
		t.Errorf("stored are %+v, %v", metadata, err)
	}
}

func TestImagesOfAnOldMessageAreLeftOut(t *testing.T) {
	t.Parallel()
	model := llmtest.NewScript(llmtest.Say("1"), llmtest.Say("2"), llmtest.Say("3"))
	k := onSQLite(t, model)
	id := k.session()
	large := records.Image{Data: make([]byte, historyImages*3/4), MIMEType: "image/png"}
	k.say(id, "old", large)
	k.say(id, "new", large)
	k.say(id, "now")
	r := model.Requests()[2]
	if len(r.Messages[1].Parts) != 1 || len(r.Messages[3].Parts) != 2 {
		t.Errorf("the old message has %d parts and the new one %d, want 1 and 2", len(r.Messages[1].Parts), len(r.Messages[3].Parts))
	}
}

func TestRequestOfTheAgent(t *testing.T) {
	t.Parallel()
	model := llmtest.NewScript(llmtest.Say("ok"))
	k := onSQLite(t, model)
	k.say(k.session(), "hi")
	r := model.Requests()[0]
	if r.Temperature == nil || *r.Temperature != 0 || len(r.Tools) != 7 {
		t.Errorf("the temperature is %v, and there are %d tools; want 0 and 7", r.Temperature, len(r.Tools))
	}
}

// If the model never stops calling tools, the graph asks it five times, and then calls no
// further tool.
func TestFiveTurnsAtMost(t *testing.T) {
	t.Parallel()
	asked, last := 0, llm.ToolChoice{}
	k := onSQLite(t, turns(func(r llm.Request) llm.Message {
		asked++
		last = r.ToolChoice
		return llm.Assistant(fmt.Sprintf("try %d", asked), llm.ToolCall{ID: fmt.Sprint("c", asked), Name: "loadCsvData", Arguments: json.RawMessage(`{"resourceId":"sales.csv"}`)})
	}))
	id := k.session("sales.csv", sales)
	calls := 0
	for _, c := range k.chunks(id, "hi") {
		if c.Kind == agent.ChunkToolFinished {
			calls++
		}
	}
	if asked != 5 || calls != 4 || last.Mode != llm.ToolsNone {
		t.Errorf("the model was asked %d times, the last with %q, and %d tools were called; want 5, none and 4", asked, last.Mode, calls)
	}
	wantStored(t, k, id, "user: hi", "assistant: try 1\n\ntry 2\n\ntry 3\n\ntry 4\n\ntry 5")
}

func TestFiveTurnsWithoutAWord(t *testing.T) {
	t.Parallel()
	n := 0
	k := onSQLite(t, turns(func(llm.Request) llm.Message {
		n++
		return llm.Assistant("", llm.ToolCall{ID: fmt.Sprint("c", n), Name: "loadCsvData", Arguments: json.RawMessage(`{"resourceId":"sales.csv"}`)})
	}))
	id := k.session("sales.csv", sales)
	const want = "I did not come to an answer in 5 steps."
	if got := strings.Join(k.say(id, "hi"), ""); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	wantStored(t, k, id, "user: hi", "assistant: "+want)
}

func TestAgentAppendsQuestionAndAnswer(t *testing.T) {
	t.Parallel()
	k := onSQLite(t, llmtest.NewScript(llmtest.Call("aggregateCsvData", `{"resourceId":"sales.csv","aggregates":[{"function":"count"}]}`), llmtest.Say("3"), llmtest.Say("yes")))
	id := k.session("sales.csv", sales)
	k.say(id, "how many?")
	k.say(id, "sure?")
	snap, err := k.Graph().Thread(id).Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []message{{Role: "user", Content: "how many?"}, {Role: "assistant", Content: "3"}, {Role: "user", Content: "sure?"}, {Role: "assistant", Content: "yes"}}
	if got := messages.Get(snap); !reflect.DeepEqual(got, want) {
		t.Errorf("the messages are %+v, want %+v", got, want)
	}
}

func TestSaveMessage(t *testing.T) {
	onEach(t, func(t *testing.T, open func(llm.Model) *kit) {
		k := open(llmtest.Echo{})
		id, other := k.session(), k.session()
		for _, m := range []records.Message{{SessionID: id, Role: "assistant", Content: "old"}, {SessionID: id, Role: "user", Content: "new"}, {SessionID: other, Role: "user", Content: "q"}} {
			if _, err := k.records.CreateMessage(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		before, err := k.records.Session(t.Context(), "ann", id)
		if err != nil {
			t.Fatal(err)
		}
		save := func(list ...message) {
			t.Helper()
			b := graph.New("save", sessionID, messages)
			a := &analyst{records: k.records}
			b.Node("saveMessage", a.saveMessage)
			b.Edge(graph.Start, "saveMessage")
			b.Edge("saveMessage", graph.End)
			g, err := b.Compile(graph.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for e, err := range g.Stream(t.Context(), sessionID.Put(&id), messages.Put(&list)) {
				if err != nil {
					t.Fatal(err)
				}
				if done, ok := e.(graph.TaskFinished); ok && len(done.Update) != 0 {
					t.Errorf("it changes the state: %v", done.Update)
				}
			}
		}
		image := []records.Image{{Data: []byte("x"), MIMEType: "image/png"}}
		save(message{Role: "user", Content: "too old"}, message{Role: "user", Content: "q", Images: image}, message{Role: "assistant", Content: "old"})
		save(message{Role: "user", Content: "q"}, message{Role: "assistant", Content: "new"})
		wantStored(t, k, id, "assistant: old", "user: new", "user: q", "assistant: new")
		rows, err := k.records.Messages(t.Context(), id)
		if err != nil || len(rows[2].Images) != 1 || rows[3].Images != nil {
			t.Errorf("the images are %+v, %v", rows, err)
		}
		after, err := k.records.Session(t.Context(), "ann", id)
		if err != nil || !after.UpdatedAt.After(before.UpdatedAt) {
			t.Errorf("the session was changed at %v, %v, and before at %v", after.UpdatedAt, err, before.UpdatedAt)
		}
	})
}

// The public API of the SDK is enough to add a tool, a node, a channel and a prompt.
func TestExtensions(t *testing.T) {
	t.Parallel()
	language := state.Optional[string]("language")
	shout := tools.New("shout", "Says a text loudly.", func(_ context.Context, in struct{ Text string }) (string, error) {
		return strings.ToUpper(in.Text), nil
	})
	seven, err := csvtools.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	own, err := tools.NewSet(shout)
	if err != nil {
		t.Fatal(err)
	}
	set, err := seven.Merge(own)
	if err != nil {
		t.Fatal(err)
	}
	model := llmtest.NewScript(llmtest.Call("shout", `{"Text":"ja"}`), llmtest.Say("JA"))
	a := &analyst{model: model, tools: set}
	b := graph.New("mine", sessionID, messages, csvMetadata, currentQuery, currentQueryImages, said, language)
	b.Node("detect", func(context.Context, state.View) (state.Update, error) {
		return state.Update{language.Put(new("de")), csvMetadata.Put(&[]csvResource{})}, nil
	})
	b.Node("agent", a.agent)
	b.Edge(graph.Start, "detect")
	b.Edge("detect", "agent")
	b.Edge("agent", graph.End)
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		t.Fatal(err)
	}
	snap, err := g.Thread("t").Invoke(t.Context(), sessionID.Put(new("s")), currentQuery.Put(new("wirklich?")))
	if err != nil || language.Get(snap) != "de" || messages.Get(snap)[1].Content != "JA" {
		t.Fatalf("got %v, %v", snap, err)
	}
	if told := model.Requests()[1].Messages; told[len(told)-1].Text() != "JA" {
		t.Errorf("the tool said %v", told[len(told)-1])
	}
}

// If the process ends in the middle of the node, the next run does not repeat the stored model calls and tool
// calls.
func TestTheAgentGoesOnWhereItWas(t *testing.T) {
	onEach(t, func(t *testing.T, open func(llm.Model) *kit) {
		crash := errors.New("the power is gone")
		model := llmtest.NewScript(
			llmtest.Call("aggregateCsvData", `{"resourceId":"sales.csv","aggregates":[{"function":"sum","column":"amount"}]}`),
			llmtest.Fail(crash),
			llmtest.Say("It is 7."),
		)
		k := open(model)
		id := k.session("sales.csv", sales)
		var failed error
		for _, err := range k.StreamAgent(t.Context(), Turn{User: "ann", Session: id, Text: "the sum?"}) {
			failed = err
		}
		if !errors.Is(failed, crash) {
			t.Fatalf("the run ended with %v", failed)
		}
		wantStored(t, k, id, "user: the sum?")
		called := 0
		for c, err := range k.Resume(t.Context(), "ann", id) {
			if err != nil {
				t.Fatal(err)
			}
			if c.Kind == agent.ChunkToolStarted {
				called++
			}
		}
		if called != 0 || len(model.Requests()) != 3 {
			t.Errorf("%d tools were called again, and the model was asked %d times", called, len(model.Requests()))
		}
		if told := model.Requests()[2].Messages; !strings.Contains(told[len(told)-1].Text(), `"rows":[[7]]`) {
			t.Errorf("the model is told %v", told[len(told)-1])
		}
		wantStored(t, k, id, "user: the sum?", "assistant: It is 7.")
	})
}
