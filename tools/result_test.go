package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

func resulting(r tools.Result) tools.Tool {
	return tools.New("tool", "Does something.", func(context.Context, struct{}) (tools.Result, error) { return r, nil })
}

func call(t *testing.T, tool tools.Tool, o tools.Options) llm.Message {
	t.Helper()
	return mustCall(t, mustSet(t, tool), llm.ToolCall{ID: "call_1", Name: "tool"}, o)
}

func TestResultParts(t *testing.T) {
	t.Parallel()
	image := llm.Image("image/png", []byte{1, 2, 3})
	r := tools.Result{Text: "look:", Parts: []llm.Part{image, llm.Text("so")}, Metadata: map[string]json.RawMessage{"k": json.RawMessage(`1`)}}
	answer := call(t, resulting(r), tools.Options{})
	assert.Equal(t, []llm.Part{llm.Text("look:"), image, llm.Text("so")}, answer.Parts)
	assert.Equal(t, llm.StatusSuccess, answer.Status)
	assert.Equal(t, "1", string(answer.Metadata["k"]))
	answer.Parts[1].Data[0] = 9
	assert.Equal(t, byte(1), image.Data[0], "the answer shares the tool's bytes")
	answer = call(t, resulting(tools.Result{Text: "no", Failed: true}), tools.Options{})
	assert.Equal(t, llm.StatusError, answer.Status)
	assert.Equal(t, "no", answer.Text())
	bad := tools.Result{Parts: []llm.Part{{Type: llm.PartImage}}}
	answer = call(t, resulting(bad), tools.Options{})
	assert.Equal(t, llm.StatusError, answer.Status)
	assert.True(t, strings.HasPrefix(answer.Text(), "the result is not a valid message: "))
	_, err := mustSet(t, resulting(bad)).Call(t.Context(), llm.ToolCall{ID: "1", Name: "tool"}, tools.Options{OnError: tools.ReturnErrors})
	assert.Error(t, err)
}

func TestResultsAreCut(t *testing.T) {
	t.Parallel()
	data := func(n int) llm.Part { return llm.Image("image/png", make([]byte, n)) }
	tests := []struct {
		name   string
		result tools.Result
		o      tools.Options
		want   string
		parts  int // the number of parts with data
	}{
		{"short", tools.Result{Text: "short"}, tools.Options{MaxText: 5}, "short", 0},
		{"long", tools.Result{Text: "longer"}, tools.Options{MaxText: 5}, "longe\n[cut off: these are the first 5 of 6 bytes; ask for less]", 0},
		{"within a character", tools.Result{Text: "ääää"}, tools.Options{MaxText: 5}, "ää\n[cut off: these are the first 4 of 8 bytes; ask for less]", 0},
		{"no room", tools.Result{Text: "ä"}, tools.Options{MaxText: 1}, "\n[cut off: these are the first 0 of 2 bytes; ask for less]", 0},
		{"by default", tools.Result{Text: strings.Repeat("x", 65537)}, tools.Options{}, strings.Repeat("x", 65536) + "\n[cut off: these are the first 65536 of 65537 bytes; ask for less]", 0},
		{"no limit", tools.Result{Text: strings.Repeat("x", 100000)}, tools.Options{MaxText: -1}, strings.Repeat("x", 100000), 0},
		{"several texts", tools.Result{Text: "abc", Parts: []llm.Part{llm.Text("def"), llm.Text("g")}}, tools.Options{MaxText: 5}, "abcde\n[cut off: these are the first 2 of 3 bytes; ask for less]\n[left out: 1 more]", 0},
		{"exactly", tools.Result{Text: "abc", Parts: []llm.Part{llm.Text("de")}}, tools.Options{MaxText: 5}, "abcde", 0},
		{"not UTF-8", tools.Result{Text: "a\xff", Parts: []llm.Part{{Type: llm.PartText, Text: "\xfe"}}}, tools.Options{MaxText: -1}, "a\ufffd\ufffd", 0},
		{"data", tools.Result{Parts: []llm.Part{data(2), data(2), data(1)}}, tools.Options{MaxData: 3}, "[left out: image/png of 2 bytes is too large]", 2},
		{"data as a URL", tools.Result{Parts: []llm.Part{{Type: llm.PartImage, URL: "data:image/png;base64,AAAA"}}}, tools.Options{MaxData: 3}, "[left out: a part of 26 bytes is too large]", 0},
		{"a long name", tools.Result{Parts: []llm.Part{llm.File(strings.Repeat("n", 200), "application/pdf", make([]byte, 3))}}, tools.Options{MaxData: 3}, "[left out: " + strings.Repeat("n", 100) + "… of 3 bytes is too large]", 0},
		{"many that are too large", tools.Result{Parts: slices.Repeat([]llm.Part{data(2)}, 500)}, tools.Options{MaxData: 1}, strings.Repeat("[left out: image/png of 2 bytes is too large]", 10) + "\n[left out: 490 more]", 0},
		{"many texts", tools.Result{Parts: slices.Repeat([]llm.Part{llm.Text("x")}, 5000)}, tools.Options{MaxText: 3}, "xxx\n[cut off: these are the first 0 of 1 bytes; ask for less]\n[left out: 4996 more]", 0},
		{"many parts", tools.Result{Parts: slices.Repeat([]llm.Part{data(1)}, 5000)}, tools.Options{}, "\n[left out: 4000 more]", 1000},
		{"a file", tools.Result{Parts: []llm.Part{llm.File("a.pdf", "application/pdf", make([]byte, 9))}}, tools.Options{MaxData: 3}, "[left out: a.pdf of 9 bytes is too large]", 0},
		{"data by default", tools.Result{Parts: []llm.Part{data(8 << 20), data(1)}}, tools.Options{}, "[left out: image/png of 1 bytes is too large]", 1},
		{"data without limit", tools.Result{Parts: []llm.Part{data(8 << 20), data(1)}}, tools.Options{MaxData: -1}, "", 2},
		{"clean", tools.Result{Text: "key=secret"}, tools.Options{MaxText: 8, Clean: func(c llm.ToolCall, s string) string {
			return strings.ReplaceAll(s, "secret", c.Name+"\xff")
		}}, "key=tool\n[cut off: these are the first 8 of 11 bytes; ask for less]", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			answer := call(t, resulting(test.result), test.o)
			n := 0
			for _, p := range answer.Parts {
				if p.Data != nil {
					n++
				}
			}
			assert.Equal(t, test.want, answer.Text())
			assert.Equal(t, test.parts, n)
			assert.True(t, utf8.ValidString(answer.Text()))
		})
	}
	answer := call(t, tools.New("tool", "Fails.", func(context.Context, struct{}) (string, error) { return "", errors.New("a long story") }), tools.Options{MaxText: 6})
	assert.True(t, strings.HasPrefix(answer.Text(), "a long\n[cut off"))
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	hidden := "ok\u200b\u202e\U000e0041\U000e0042\x00\x1b[31m\u2066\ufeff\u00ad\ufe0f \t\r\näλ漢🙂"
	got, want := tools.Printable(hidden), "ok[31m \t\r\näλ漢🙂"
	assert.Equal(t, want, got)
	assert.False(t, strings.ContainsRune(call(t, resulting(tools.Result{Text: hidden}), tools.Options{Clean: func(_ llm.ToolCall, s string) string { return tools.Printable(s) }}).Text(), '\U000e0041'))
}

func TestInvalidCallsAreAnswered(t *testing.T) {
	t.Parallel()
	var ran []int
	set := mustSet(t, counting(&ran))
	broken := llm.InvalidCall("call_1", "tool", `{"n":1`, "unexpected end of JSON input")
	for _, o := range []tools.Options{{}, {OnError: tools.ReturnErrors}} {
		answer := mustCall(t, set, broken, o)
		assert.Equal(t, "the arguments for tool are not JSON: unexpected end of JSON input; call it again with a JSON object", answer.Text())
		assert.Equal(t, llm.StatusError, answer.Status)
		assert.Equal(t, "call_1", answer.ToolCallID)
	}
	view := viewOf(t, messages.Put(llm.Assistant("", broken, numbered(2, "tool"), llm.InvalidCall("call_3", "tol", `x`, "no"), llm.InvalidCall("call_4", tools.InvokeTool, `x`, "no"))))
	update, err := tools.Node(set, messages, tools.Options{})(t.Context(), view)
	require.NoError(t, err)
	require.Len(t, update, 1)
	assert.Len(t, ran, 1)
	assert.True(t, strings.HasPrefix(metaCallInvalid(t, set).Text(), "the arguments for invoke_tool are not JSON: no"))
}

func metaCallInvalid(t *testing.T, set *tools.Set) llm.Message {
	t.Helper()
	return mustCall(t, set.Meta(), llm.InvalidCall("call_4", tools.InvokeTool, `x`, "no"), tools.Options{})
}

// jump is a signal, like the signal of graph.Goto.
type jump string

func (j jump) Signal() string { return "goto " + string(j) }

func TestWrites(t *testing.T) {
	t.Parallel()
	cart := state.Append[string]("cart")
	schema, err := statecore.NewSchema[state.Handle](messages, oneCall, cart)
	require.NoError(t, err)
	set := mustSet(t, tools.New("buy", "Buys.", func(_ context.Context, in number) (tools.Result, error) {
		return tools.Result{Text: "bought", Update: state.Update{cart.Put(fmt.Sprint(in.N)), {Write: statecore.SignalWrite(jump("checkout"))}}}, nil
	}))
	one, two := numbered(1, "buy"), numbered(2, "buy")
	view := after(t, schema, schema.Empty(), []state.Write{messages.Put(llm.Assistant("", two, one)), oneCall.Put(one)})
	for name, want := range map[string]struct {
		node func(context.Context, state.View) (state.Update, error)
		cart string
	}{
		"Node":     {tools.Node(set, messages, tools.Options{}), "[2 1]"},
		"CallNode": {tools.CallNode(set, oneCall, messages, tools.Options{Once: new(onceStore).once}), "[1]"},
	} {
		update, err := want.node(t.Context(), view)
		require.NoError(t, err)
		last := update[len(update)-1].Signal()
		require.NotNil(t, last, name)
		assert.Equal(t, "goto checkout", last.Signal(), name)
		assert.Equal(t, want.cart, fmt.Sprint(cart.Get(after(t, schema, view, update))), name)
	}
	remembering := tools.Options{Once: new(onceStore).once}
	_, err = set.Run(t.Context(), one, remembering)
	assert.ErrorIs(t, err, tools.ErrWrites)
	_, err = set.Call(t.Context(), one, tools.Options{})
	assert.ErrorIs(t, err, tools.ErrWrites)
	answers, err := set.CallAll(t.Context(), []llm.ToolCall{one, numbered(2, "none")}, tools.Options{})
	require.ErrorIs(t, err, tools.ErrWrites)
	assert.Nil(t, answers)
	out, err := set.Run(t.Context(), one, tools.Options{})
	require.NoError(t, err)
	require.Len(t, out.Update, 2)
	assert.Equal(t, "bought", out.Message.Text())
}

func TestEvents(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []string
	o := tools.Options{MaxParallel: 1, Emit: func(_ context.Context, event any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := event.(type) {
		case tools.CallStarted:
			got = append(got, "started "+e.Call.ID+" "+string(e.Call.Arguments))
		case tools.CallFinished:
			got = append(got, "finished "+e.Call.ID+" "+e.Answer.Text())
		case tools.Progress:
			got = append(got, fmt.Sprintf("progress %s %s %v/%v %s", e.CallID, e.Tool, e.Done, e.Total, e.Message))
		}
	}}
	work := doing("work", func(ctx context.Context, n int) (string, error) {
		tools.Report(ctx, tools.Progress{CallID: "forged", Done: 1, Total: 2, Message: "half"})
		if n == 2 {
			return "", errors.New("failed")
		}
		return "done", nil
	})
	set := mustSet(t, work)
	calls := []llm.ToolCall{{ID: "1", Name: "work", Arguments: json.RawMessage(`{ "n": 1.0 }`)}, numbered(2, "work"), numbered(3, "none")}
	_, err := set.CallAll(t.Context(), calls, o)
	require.NoError(t, err)
	want := []string{
		`started 1 {"n":1}`, "progress 1 work 1/2 half", "finished 1 done",
		`started call_2 {"n":2}`, "progress call_2 work 1/2 half", "finished call_2 failed",
		`finished call_3 there is no tool "none"; the tools are work`,
	}
	assert.Equal(t, want, got)
	tools.Report(t.Context(), tools.Progress{}) // outside of a tool, Report does nothing
	_, err = set.Call(t.Context(), numbered(1, "work"), tools.Options{})
	assert.NoError(t, err)
}

// TestRefusalsAreCut proves that the answer to an invalid call is cut off and cleaned like
// a result, because the model wrote most of it.
func TestRefusalsAreCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", 1<<20)
	set := mustSet(t, doubling())
	o := tools.Options{MaxText: 200, Clean: func(_ llm.ToolCall, text string) string { return tools.Printable(text) }}
	for name, call := range map[string]llm.ToolCall{
		"a name":    {ID: "1", Name: "\u202e" + long},
		"a key":     {ID: "1", Name: "double", Arguments: json.RawMessage(`{"` + "\u202e" + long + `":1}`)},
		"no object": llm.InvalidCall("1", "double", "{", "\u202e"+long),
	} {
		answer, err := set.Call(t.Context(), call, o)
		require.NoError(t, err, name)
		assert.Equal(t, llm.StatusError, answer.Status, name)
		assert.LessOrEqual(t, len(answer.Text()), 300, name)
		assert.NotContains(t, answer.Text(), "\u202e", name)
	}
}
