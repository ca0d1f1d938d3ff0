package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/server/mcpserver"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// A desk serves an agent whose only tool is destructive, and a graph that asks for a number of cups.
type desk struct {
	url  string
	mu   sync.Mutex
	sent []string
}

func (d *desk) ran() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]string{}, d.sent...)
}

// hidden is a character that reverses the direction of the text after it.
const hidden = "\u202e"

func newDesk(t *testing.T, o mcpserver.Options, prompt any) *desk {
	t.Helper()
	d := &desk{}
	send := tools.New("send", "Sends a message.", func(_ context.Context, in struct {
		Text string `json:"text"`
	},
	) (string, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.sent = append(d.sent, in.Text)
		return "sent", nil
	}).Annotate(tools.Annotations{Destructive: true})
	set, err := tools.NewSet(send)
	require.NoError(t, err)
	model := llm.ModelFunc(func(_ context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
		last := r.Messages[len(r.Messages)-1]
		if last.Role == llm.RoleTool {
			return llm.Reply(llm.Assistant("The tool says: " + last.Text()))
		}
		call := llm.ToolCall{ID: "call_1", Name: "send", Arguments: []byte(`{"text":"pay ` + hidden + `100"}`)}
		return llm.Reply(llm.Message{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{call}})
	})
	store := memcheckpoint.New(memcheckpoint.Options{})
	bot, err := agent.New("clerk", model, set, agent.Options{
		Tools: tools.Options{Approval: tools.Approval{Rule: tools.Destructive()}}, Graph: graph.Options{Checkpoints: store},
	})
	require.NoError(t, err)

	cups := state.Last[int]("cups")
	b := graph.New("tea", cups)
	b.Node("ask", func(ctx context.Context, _ state.View) (state.Update, error) {
		n, err := graph.NewInterrupt[any, int]("cups").Wait(ctx, prompt)
		return state.Update{cups.Put(n)}, err
	})
	b.Edge(graph.Start, "ask")
	tea, err := b.Compile(graph.Options{Checkpoints: store})
	require.NoError(t, err)

	s, err := server.New(server.Options{Graphs: map[string]*graph.Graph{"clerk": bot, "tea": tea}, Runs: memruns.New()})
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcpserver.New(s, o))
	mux.Handle("/", s)
	web := httptest.NewServer(mux)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		assert.NoError(t, s.Close(context.Background()))
	})
	d.url = web.URL
	return d
}

// A person fills in the forms of a client in order. Without further answers, it declines.
type person struct {
	mu      sync.Mutex
	forms   []mcp.ElicitParams
	answers []map[string]any
}

func (p *person) options() *mcp.ClientOptions {
	return &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.forms = append(p.forms, *r.Params)
		if len(p.answers) == 0 {
			return &mcp.ElicitResult{Action: "decline"}, nil
		}
		answer := p.answers[0]
		p.answers = p.answers[1:]
		return &mcp.ElicitResult{Action: "accept", Content: answer}, nil
	}}
}

func TestAnApprovalIsPutToThePersonAsText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer map[string]any
		says   string
		ran    int
	}{
		"approve":               {map[string]any{"answer": "approve"}, "The tool says: sent", 1},
		"reject":                {map[string]any{"answer": "reject"}, "a person rejected this call", 0},
		"reject with a reason":  {map[string]any{"answer": "reject", "reason": "not today"}, "a person rejected this call: not today", 0},
		"approve with a reason": {map[string]any{"answer": "approve", "reason": ""}, "The tool says: sent", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, p := newDesk(t, mcpserver.Options{}, nil), &person{answers: []map[string]any{c.answer}}
			s := connect(t, d.url, "", p.options())
			assert.Contains(t, text(t, call(t, s, "clerk", map[string]any{"message": "pay"})), c.says)
			assert.Len(t, d.ran(), c.ran)
			require.Len(t, p.forms, 1)
			assert.Equal(t, "send: Sends a message.\narguments: {\"text\":\"pay \\u202e100\"}", p.forms[0].Message)
			form := p.forms[0].RequestedSchema.(map[string]any)
			assert.Equal(t, []any{"approve", "reject"}, form["properties"].(map[string]any)["answer"].(map[string]any)["enum"])
		})
	}
}

// waiting returns the thread of a waiting call, and the id of its only question.
func waiting(t *testing.T, r *mcp.CallToolResult) (thread, id string) {
	t.Helper()
	if r.IsError {
		require.Fail(t, text(t, r))
	}
	waits := r.StructuredContent.(map[string]any)
	questions := waits["questions"].([]any)
	require.Len(t, questions, 1)
	return waits["thread_id"].(string), questions[0].(map[string]any)["id"].(string)
}

// The model of a client gets only the result of the tool and the tool "answer", and cannot approve a call.
func TestTheModelOfAClientCannotApprove(t *testing.T) {
	t.Parallel()
	d := newDesk(t, mcpserver.Options{}, nil)
	s := connect(t, d.url, "", nil)
	r := call(t, s, "clerk", map[string]any{"message": "pay"})
	thread, id := waiting(t, r)
	all, err := json.Marshal(r)
	require.NoError(t, err)
	hash := hashOf(t, d.url, thread)
	assert.NotContains(t, string(all), hash)
	assert.NotContains(t, text(t, r), "Call the tool")
	assert.Contains(t, text(t, r), "A person answers it")
	assert.Contains(t, text(t, r), `pay \u202e100`)

	for _, answer := range []any{"approve", map[string]any{"verdict": "approve", "hash": hash}, map[string]any{id: map[string]any{"verdict": "approve", "hash": hash}}} {
		for _, question := range []string{id, ""} {
			r := call(t, s, "answer", map[string]any{"thread_id": thread, "question_id": question, "answer": answer})
			assert.True(t, r.IsError)
			assert.Contains(t, text(t, r), "only a person can answer it")
		}
	}
	assert.Empty(t, d.ran())

	// A person answers in another client.
	body := fmt.Sprintf(`{"assistant_id":"clerk","command":{"resume":{%q:{"verdict":"approve","hash":%q}}}}`, id, hash)
	resp, err := http.Post(d.url+"/threads/"+thread+"/runs/wait", "application/json", strings.NewReader(body))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.Len(t, d.ran(), 1)
}

// hashOf returns the hash of the approval that a thread waits for.
func hashOf(t *testing.T, url, thread string) string {
	t.Helper()
	resp, err := http.Get(url + "/threads/" + thread)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	var found struct {
		Interrupts map[string][]struct {
			Value tools.Question `json:"value"`
		} `json:"interrupts"`
	}
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&found))
	for _, open := range found.Interrupts {
		require.NotEmpty(t, open[0].Value.Hash)
		return open[0].Value.Hash
	}
	require.Fail(t, "the thread has no question")
	return ""
}

func TestAnswerPutsAnApprovalToThePersonAgain(t *testing.T) {
	t.Parallel()
	d, p := newDesk(t, mcpserver.Options{}, nil), &person{}
	s := connect(t, d.url, "", p.options())
	r := call(t, s, "clerk", map[string]any{"message": "pay"})
	thread, id := waiting(t, r)
	assert.Contains(t, text(t, r), "to ask the person again")

	r = call(t, s, "answer", map[string]any{"thread_id": thread, "question_id": id, "answer": "approve"})
	waiting(t, r)
	assert.Empty(t, d.ran(), "the person has declined twice")

	p.answers = []map[string]any{{"answer": "approve"}}
	r = call(t, s, "answer", map[string]any{"thread_id": thread, "answer": "reject"})
	assert.Equal(t, "The tool says: sent", text(t, r), "the person decides, and not the model")
	assert.Len(t, d.ran(), 1)
	assert.Len(t, p.forms, 3)
}

func TestAServiceMayLetTheModelApprove(t *testing.T) {
	t.Parallel()
	for word, ran := range map[string]int{"approve": 1, "reject": 0} {
		d := newDesk(t, mcpserver.Options{Answer: mcpserver.AnswerApprovals}, nil)
		s := connect(t, d.url, "", nil)
		r := call(t, s, "clerk", map[string]any{"message": "pay"})
		thread, id := waiting(t, r)
		assert.Contains(t, text(t, r), `the answer "approve" or "reject"`)
		r = call(t, s, "answer", map[string]any{"thread_id": thread, "question_id": id, "answer": word})
		assert.Contains(t, text(t, r), "The tool says: ")
		assert.Len(t, d.ran(), ran)
		if ran == 0 {
			assert.Contains(t, text(t, r), "the client rejected this call")
		}
	}
}

// The model cannot name another decision-maker than the client.
func TestADecisionOfTheModelIsTheClients(t *testing.T) {
	t.Parallel()
	d := newDesk(t, mcpserver.Options{Answer: mcpserver.AnswerApprovals}, nil)
	s := connect(t, d.url, "", nil)
	thread, id := waiting(t, call(t, s, "clerk", map[string]any{"message": "pay"}))
	decision := map[string]any{"verdict": "reject", "hash": hashOf(t, d.url, thread), "by": "the boss", "reason": "no"}
	r := call(t, s, "answer", map[string]any{"thread_id": thread, "question_id": id, "answer": decision})
	assert.Contains(t, text(t, r), "the client rejected this call: no")
}

// The value of a graph's question may contain an approval.
func TestTheModelDoesNotGetTheHashOfAnApprovalInside(t *testing.T) {
	t.Parallel()
	prompt := map[string]any{"risk": "high", "call": map[string]any{"tool": "send", "hash": "h-123", "schema": map[string]any{"const": "h-123"}}}
	for answers, secret := range map[mcpserver.Answers]bool{mcpserver.AnswerQuestions: true, mcpserver.AnswerApprovals: false} {
		d := newDesk(t, mcpserver.Options{Answer: answers}, prompt)
		r := call(t, connect(t, d.url, "", nil), "tea", nil)
		all, err := json.Marshal(r)
		require.NoError(t, err)
		assert.Contains(t, text(t, r), `"risk":"high"`)
		assert.Equal(t, secret, !strings.Contains(string(all), "h-123"), "%s", all)
		assert.NotContains(t, text(t, r), `"approve" or "reject"`)
	}
}

// A form supports only a choice of texts. A choice of numbers becomes a field for a number if the question has a schema
// with this type, and otherwise a field for a text.
func TestAChoiceOfNumbersIsAFieldForANumber(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prompt map[string]any
		want   map[string]any
	}{
		"numbers of a schema": {map[string]any{"schema": map[string]any{"type": "integer", "enum": []any{1.0, 2.0, 3.0}}}, map[string]any{"type": "integer", "title": "Answer"}},
		"options of numbers":  {map[string]any{"options": []any{1.0, 2.0}}, map[string]any{"type": "string", "title": "Answer"}},
		"options of texts":    {map[string]any{"options": []any{"1", "2"}}, map[string]any{"type": "string", "title": "Answer", "enum": []any{"1", "2"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, p := newDesk(t, mcpserver.Options{}, c.prompt), &person{}
			call(t, connect(t, d.url, "", p.options()), "tea", nil)
			require.Len(t, p.forms, 1)
			assert.Equal(t, c.want, p.forms[0].RequestedSchema.(map[string]any)["properties"].(map[string]any)["answer"])
		})
	}
}

// If a number is refused as a text and as a number, the person sees both reasons.
func TestARefusedNumberTellsBothReasonsAndCountsOnce(t *testing.T) {
	t.Parallel()
	prompt := map[string]any{"question": "How many cups?", "schema": map[string]any{"not": map[string]any{"const": 0.0}}}
	d, p := newDesk(t, mcpserver.Options{}, prompt), &person{}
	for range 6 {
		p.answers = append(p.answers, map[string]any{"answer": "0"})
	}
	waiting(t, call(t, connect(t, d.url, "", p.options()), "tea", nil))
	require.Len(t, p.forms, 5)
	for _, f := range p.forms[1:] {
		assert.Regexp(t, `(?s)not accepted: .*string.*\nAs a number: .*not`, f.Message)
	}
}

func TestAServiceMayRemoveAnswer(t *testing.T) {
	t.Parallel()
	d := newDesk(t, mcpserver.Options{Answer: mcpserver.AnswerNothing}, "How many cups?")
	s := connect(t, d.url, "", nil)
	list, err := s.ListTools(t.Context(), nil)
	require.NoError(t, err)
	assert.Len(t, list.Tools, 2, "the graphs")
	r := call(t, s, "tea", nil)
	waiting(t, r)
	assert.Contains(t, text(t, r), "A person answers it")
}

// If an answer does not fit, the person is asked again, and the thread of the call is not deleted meanwhile.
func TestAnAnswerThatDoesNotFitIsAskedAgain(t *testing.T) {
	t.Parallel()
	type answers = []map[string]any
	cups := map[string]any{"question": "How many cups?", "schema": map[string]any{"type": "integer", "minimum": 1.0}}
	for name, c := range map[string]struct {
		prompt  any
		answers answers
		want    string
		forms   int
	}{
		"a number in a text":            {"How many cups?", answers{{"answer": "3"}}, `{"cups":3}`, 1},
		"a word, then a number":         {"How many cups?", answers{{"answer": "many"}, {"answer": "3"}}, `{"cups":3}`, 2},
		"a field for a number":          {cups, answers{{"answer": 3}}, `{"cups":3}`, 1},
		"a number that does not fit":    {cups, answers{{"answer": 0}, {"answer": 2}}, `{"cups":2}`, 2},
		"null is no number":             {"How many cups?", answers{{"answer": "null"}, {"answer": "2"}}, `{"cups":2}`, 2},
		"a quoted number is a text":     {"How many cups?", answers{{"answer": `"3"`}, {"answer": "2"}}, `{"cups":2}`, 2},
		"words without an end":          {"How many cups?", answers{{"answer": "a"}, {"answer": "b"}, {"answer": "c"}, {"answer": "d"}, {"answer": "e"}, {"answer": "f"}}, "", 5},
		"a word, and the person leaves": {"How many cups?", answers{{"answer": "many"}}, "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, p := newDesk(t, mcpserver.Options{}, c.prompt), &person{answers: c.answers}
			s := connect(t, d.url, "", p.options())
			r := call(t, s, "tea", nil)
			require.Len(t, p.forms, c.forms)
			for i, f := range p.forms {
				assert.Equal(t, i > 0, strings.HasPrefix(f.Message, "The answer was not accepted: "), f.Message)
				assert.Contains(t, f.Message, "How many cups?")
			}
			if c.want != "" {
				assert.JSONEq(t, c.want, text(t, r))
				return
			}
			thread, id := waiting(t, r)
			wrong := call(t, s, "answer", map[string]any{"thread_id": thread, "question_id": id, "answer": "lots"})
			assert.True(t, wrong.IsError, "the model is told, and not the person")
			assert.Len(t, p.forms, c.forms)
			right := call(t, s, "answer", map[string]any{"thread_id": thread, "question_id": id, "answer": 4})
			assert.JSONEq(t, `{"cups":4}`, text(t, right))
		})
	}
}
