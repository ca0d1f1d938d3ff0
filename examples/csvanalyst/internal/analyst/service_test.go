package analyst

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"strings"
	"testing"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/examples/csvanalyst/internal/csvdb"
	"github.com/weft-go/weft/examples/csvanalyst/internal/records"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
)

func TestUnknownSessionWritesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, open func(llm.Model) *kit) {
		model := llmtest.NewScript(llmtest.Say("never"))
		k := open(model)
		mine := k.session()
		for _, turn := range []Turn{{User: "ann", Session: "none", Text: "hi"}, {User: "bob", Session: mine, Text: "hi"}} {
			var got error
			for text, err := range k.StreamAgent(t.Context(), turn) {
				if got = err; text != "" {
					t.Errorf("it said %q", text)
				}
			}
			if !errors.Is(got, records.ErrNotFound) {
				t.Errorf("%+v: got %v, want not found", turn, got)
			}
			if _, err := k.Graph().Thread(turn.Session).Snapshot(t.Context()); !errors.Is(err, checkpoint.ErrNotFound) {
				t.Errorf("there is a thread: %v", err)
			}
		}
		wantStored(t, k, mine)
		wantStored(t, k, "none")
		if model.Remaining() != 1 {
			t.Error("the model was asked")
		}
	})
}

func TestUserMessageIsStoredBeforeTheGraphStarts(t *testing.T) {
	onEach(t, func(t *testing.T, open func(llm.Model) *kit) {
		var k *kit
		var id string
		var during, heard [][]string
		k = open(turns(func(r llm.Request) llm.Message {
			during = append(during, k.stored(id))
			said := []string{}
			for _, m := range r.Messages[1:] {
				said = append(said, string(m.Role)+": "+m.Text())
			}
			heard = append(heard, said)
			return llm.Assistant("answer to " + r.Messages[len(r.Messages)-1].Text())
		}))
		id = k.session()
		first := ""
		for c, err := range k.Run(t.Context(), Turn{User: "ann", Session: id, Text: "one"}) {
			if err != nil {
				t.Fatal(err)
			}
			if first == "" {
				first = string(c.Kind)
				wantStored(t, k, id, "user: one")
			}
		}
		k.say(id, "two")
		want := [][]string{{"user: one"}, {"user: one", "assistant: answer to one", "user: two"}}
		if !reflect.DeepEqual(during, want) {
			t.Errorf("while the model was asked there were %q, want %q", during, want)
		}
		if !reflect.DeepEqual(heard, want) {
			t.Errorf("the model heard %q, want %q", heard, want)
		}
		wantStored(t, k, id, "user: one", "assistant: answer to one", "user: two", "assistant: answer to two")
	})
}

// mixed is a model that streams the given chunks, one reply for each call.
func mixed(replies ...[]llm.Chunk) llm.Model {
	n := -1
	return llm.ModelFunc(func(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
		n++
		return func(yield func(llm.Chunk, error) bool) {
			for _, c := range replies[n] {
				if !yield(c, nil) {
					return
				}
			}
		}
	})
}

func text(s string) llm.Chunk { return llm.Chunk{Kind: llm.ChunkText, Text: s} }

func TestPiecesMakeTheAnswer(t *testing.T) {
	t.Parallel()
	call := llm.Chunk{Kind: llm.ChunkToolCall, ToolCall: llm.ToolCallDelta{ID: "c1", Name: "loadCsvData", Arguments: `{"resourceId":"sales.csv"}`}}
	end := llm.Chunk{Kind: llm.ChunkEnd}
	tests := []struct {
		name   string
		model  llm.Model
		pieces int // at least
		want   string
	}{
		{"streamed", llmtest.NewScript(llmtest.Say("There are three rows. Änd more…")), 3, "There are three rows. Änd more…"},
		{"at once", turns(func(llm.Request) llm.Message { return llm.Assistant("There are three rows.") }), 1, "There are three rows."},
		{"before and after a tool", mixed([]llm.Chunk{text("Let "), text("me look."), call, end}, []llm.Chunk{text("Th"), text("ree."), end}), 4, "Let me look.\n\nThree."},
		{"within a character", mixed([]llm.Chunk{text("Z\xc3"), text("\xbcrich"), end}), 2, "Zürich"},
		{"spaces", mixed([]llm.Chunk{text(" \n a"), text("b \n"), end}), 2, " \n ab \n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k := onSQLite(t, tt.model)
			id := k.session("sales.csv", sales)
			pieces := k.say(id, "hi")
			if got := strings.Join(pieces, ""); got != tt.want || len(pieces) < tt.pieces {
				t.Errorf("got %q, want %q in %d pieces at least", pieces, tt.want, tt.pieces)
			}
			wantStored(t, k, id, "user: hi", "assistant: "+tt.want)
		})
	}
}

// If a run has streamed its answer but not stored it, the resumed run streams the whole answer.
func TestTailOfARunThatGoesOn(t *testing.T) {
	t.Parallel()
	k := onSQLite(t, llmtest.NewScript(llmtest.Say("one two three")))
	id := k.session()
	ctx, cancel := context.WithCancel(t.Context())
	for c, err := range k.Run(ctx, Turn{User: "ann", Session: id, Text: "hi"}) {
		if err != nil {
			break
		}
		if c.Kind == agent.ChunkNodeStarted && c.Node == "saveMessage" {
			cancel() // the answer is in the state, and not in the table
		}
	}
	cancel()
	var said strings.Builder
	for c, err := range k.Resume(t.Context(), "ann", id) {
		if err != nil {
			t.Fatal(err)
		}
		said.WriteString(c.Text)
	}
	if said.String() != "one two three" {
		t.Errorf("it said %q", said.String())
	}
	wantStored(t, k, id, "user: hi", "assistant: one two three")
}

// A client of StreamAgent gets the text of the model and nothing else.
func TestOnlyTokensReachTheClient(t *testing.T) {
	t.Parallel()
	k := onSQLite(t, llmtest.NewScript(
		llmtest.Call("loadCsvData", `{"resourceId":"sales.csv"}`).Thinking("secretly"),
		llmtest.Say("three rows"),
	))
	id := k.session("sales.csv", sales)
	if got := strings.Join(k.say(id, "hi"), "|"); strings.ReplaceAll(got, "|", "") != "three rows" {
		t.Errorf("the client got %q", got)
	}
}

func TestBusySession(t *testing.T) {
	onEach(t, func(t *testing.T, open func(llm.Model) *kit) {
		k := open(llmtest.NewScript(llmtest.Say("first")))
		id := k.session()
		var second error
		for c, err := range k.Run(t.Context(), Turn{User: "ann", Session: id, Text: "one"}) {
			if err != nil {
				t.Fatal(err)
			}
			if c.Kind == agent.ChunkNodeStarted && c.Node == "agent" {
				for _, err := range k.StreamAgent(t.Context(), Turn{User: "ann", Session: id, Text: "two"}) {
					second = err
				}
			}
		}
		if !errors.Is(second, checkpoint.ErrConflict) {
			t.Errorf("the second run ended with %v, want a conflict", second)
		}
		wantStored(t, k, id, "user: one", "assistant: first")
	})
}

// If a model names the file of another session, the tool answers that the session has no such file.
func TestAnotherSessionsFile(t *testing.T) {
	t.Parallel()
	var told string
	k := onSQLite(t, turns(func(r llm.Request) llm.Message {
		if last := r.Messages[len(r.Messages)-1]; last.Role == llm.RoleTool {
			told = last.Text()
			return llm.Assistant("ok")
		}
		return llm.Assistant("", llm.ToolCall{ID: "c1", Name: "loadCsvData", Arguments: []byte(`{"resourceId":"` + r.Messages[len(r.Messages)-1].Text() + `"}`)})
	}))
	secret := k.session("secret.csv", sales)
	mine := k.session("mine.csv", sales)
	all, err := k.records.Resources(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{all[0].ID, "secret.csv", "../../etc/passwd", all[0].StoredPath} {
		if k.say(mine, name); !strings.Contains(told, "no such file in this session") {
			t.Errorf("%s: the model is told %q", name, told)
		}
	}
	if k.say(mine, "mine.csv"); !strings.Contains(told, "Athens") {
		t.Errorf("of its own file the model is told %q", told)
	}
}

func TestRecordThatLeadsOut(t *testing.T) {
	t.Parallel()
	k := onSQLite(t, llmtest.Echo{})
	id := k.session()
	r := records.Resource{ID: "r", SessionID: id, MIMEType: "text/csv", OriginalName: "r.csv", StoredPath: "../../../etc/passwd"}
	if err := k.records.CreateResource(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if _, err := k.files.Database(t.Context(), id, "r"); err == nil || !strings.Contains(err.Error(), "leads out") {
		t.Errorf("got %v", err)
	}
}

func TestFileThatIsNone(t *testing.T) {
	t.Parallel()
	k := onSQLite(t, llmtest.Echo{})
	id := k.session()
	if _, err := k.files.Add(t.Context(), id, "x.csv", strings.NewReader("%PDF-1.7")); !errors.Is(err, csvdb.ErrNotCSV) {
		t.Errorf("got %v", err)
	}
	if all, err := k.records.Resources(t.Context(), id); err != nil || len(all) != 0 {
		t.Errorf("there are %v, %v", all, err)
	}
}
