package llmtest_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
)

func ask(text string) llm.Request {
	return llm.Request{Messages: []llm.Message{llm.User(text)}}
}

func TestScriptPlaysInOrder(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	partly := llmtest.Reply{Message: llm.Assistant("half an answer"), Err: down}
	paid := llm.Assistant("done")
	paid.ID, paid.Usage = "m1", &llm.Usage{Input: 1, Output: 1, Total: 2}
	script := llmtest.NewScript(
		llmtest.Say("first"), llmtest.Call("add", `{"a":1,"b":2}`), llmtest.Fail(down), partly,
		llmtest.Calls(llm.ToolCall{ID: "x", Name: "add"}, llm.ToolCall{Name: "sub"}), llmtest.Reply{Message: paid},
	)
	want := []string{"first []", `[call_1 add {"a":1,"b":2}]`, "error down", "error down", "[x add {} call_2 sub {}]", "done []", "error"}
	for i, want := range want {
		assert.Equal(t, max(0, 6-i), script.Remaining(), "before request %d", i)
		assert.Contains(t, describe(llm.Generate(t.Context(), script, ask(fmt.Sprint(i)))), want, "request %d", i)
	}
	_, err := llm.Generate(t.Context(), script, ask("more"))
	require.ErrorIs(t, err, llmtest.ErrNoReply)
	require.ErrorContains(t, err, "script of 6 replies: request 8")
	requests := script.Requests()
	require.Len(t, requests, 8)
	assert.Equal(t, "3", requests[3].Messages[0].Text())
}

func describe(m llm.Message, err error) string {
	if err != nil {
		return "error " + err.Error()
	}
	var calls []string
	for _, c := range m.ToolCalls {
		calls = append(calls, c.ID, c.Name, string(c.Arguments))
	}
	return fmt.Sprint(m.Text(), " ", calls)
}

func TestScriptStreamsInPieces(t *testing.T) {
	t.Parallel()
	say := llm.Assistant("Grüße ☀️ and more", llm.ToolCall{Name: "add", Arguments: []byte(`{"a":"Grüße"}`)})
	script := llmtest.NewScript(llmtest.Reply{Message: say})
	count := map[llm.ChunkKind]int{}
	var text, arguments string
	for chunk, err := range script.Stream(t.Context(), ask("hi")) {
		require.NoError(t, err)
		count[chunk.Kind]++
		text += chunk.Text
		arguments += chunk.ToolCall.Arguments
	}
	want := map[llm.ChunkKind]int{llm.ChunkText: 4, llm.ChunkToolCall: 3, llm.ChunkEnd: 1}
	assert.Equal(t, want, count)
	assert.Equal(t, say.Text(), text)
	assert.Equal(t, `{"a":"Grüße"}`, arguments) //nolint:testifylint // the same bytes, not only the same JSON
}

func TestScriptInterleavesCalls(t *testing.T) {
	t.Parallel()
	reply := llmtest.Calls(llm.ToolCall{Name: "add", Arguments: []byte(`{"a":1,"b":22}`)}, llm.ToolCall{Name: "sub", Arguments: []byte(`{"c":3}`)})
	reply.Interleave = true
	reply = reply.Thinking("They want two results.").Costing(llm.Usage{Input: 1, Output: 2})
	script := llmtest.NewScript(reply, reply)
	var order []int
	for chunk, err := range script.Stream(t.Context(), ask("hi")) {
		require.NoError(t, err)
		if chunk.Kind == llm.ChunkToolCall {
			order = append(order, chunk.ToolCall.Index)
		}
	}
	assert.Equal(t, []int{0, 1, 0, 1, 0}, order, "the calls of the pieces")
	got, err := llm.Generate(t.Context(), script, ask("hi"))
	require.NoError(t, err)
	assert.Equal(t, `{"a":1,"b":22}`, got.ToolCalls[0].Text())
	assert.Equal(t, `{"c":3}`, got.ToolCalls[1].Text())
	assert.Equal(t, int64(3), got.Usage.Total)
	assert.Equal(t, llm.PartReasoning, got.Parts[0].Type)
}

func TestScriptTakesItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reply := llmtest.Say("a long answer").After(time.Second)
		reply.Pace = 2 * time.Second
		late := llmtest.Fail(errors.New("down")).After(time.Minute)
		script := llmtest.NewScript(reply, late, reply)
		begin := time.Now()
		_, err := llm.Generate(t.Context(), script, ask("hi"))
		require.NoError(t, err)
		assert.Equal(t, 7*time.Second, time.Since(begin), "the time of three pieces and the end")
		for _, wait := range []time.Duration{time.Second, 2 * time.Second} {
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			begin = time.Now()
			_, err := llm.Generate(ctx, script, ask("hi"))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, wait, time.Since(begin))
			cancel()
		}
	})
}

func TestScriptPlaysChunks(t *testing.T) {
	t.Parallel()
	odd := llmtest.Reply{Chunks: []llm.Chunk{{Kind: llm.ChunkText, Text: "a"}, {Kind: llm.ChunkText, MessageID: "1", Text: "b"}, {Kind: llm.ChunkEnd}}}
	broken := llmtest.Reply{Chunks: odd.Chunks[:2], Err: errors.New("down")}
	script := llmtest.NewScript(odd, broken, odd, llmtest.Reply{Message: llm.User("hm")})
	assert.Equal(t, "ab []", describe(llm.Generate(t.Context(), script, ask("hi"))))
	assert.Equal(t, "error down", describe(llm.Generate(t.Context(), script, ask("hi"))))
	readOne(t, script)
	_, err := llm.Generate(t.Context(), script, ask("hi"))
	require.ErrorIs(t, err, llm.ErrInvalid, "a reply of the user")
}

// readOne reads the first chunk of a reply and leaves the stream.
func readOne(t *testing.T, m llm.Model) {
	t.Helper()
	for _, err := range m.Stream(t.Context(), ask("hi")) {
		require.NoError(t, err)
		break
	}
}

func TestScriptPlaysBrokenArguments(t *testing.T) {
	t.Parallel()
	script := llmtest.NewScript(llmtest.Call("add", `{"a":`))
	got, err := llm.Generate(t.Context(), script, ask("hi"))
	require.NoError(t, err)
	call := got.ToolCalls[0]
	assert.NotEmpty(t, call.Invalid)
	assert.Equal(t, `{"a":`, call.Text())
	assert.Equal(t, "call_1", call.ID)
}

func TestScriptStreamsSignaturesLast(t *testing.T) {
	t.Parallel()
	m := llm.Assistant("so")
	m.Parts = append([]llm.Part{{Type: llm.PartReasoning, Text: "a long thought", Signature: "s"}}, m.Parts...)
	got, err := llm.Generate(t.Context(), llmtest.NewScript(llmtest.Reply{Message: m}), ask("hi"))
	require.NoError(t, err)
	assert.Equal(t, m.Parts, got.Parts)
}

func TestScriptBreaksOff(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	script := llmtest.NewScript(llmtest.Reply{Message: llm.Assistant("half an answer"), Err: down})
	var text string
	var last error
	for chunk, err := range script.Stream(t.Context(), ask("hi")) {
		text += chunk.Text
		last = err
	}
	assert.Equal(t, "half an answer", text)
	assert.ErrorIs(t, last, down)
}

func TestScriptHonoursItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pieces := 0
	for _, err := range llmtest.NewScript(llmtest.Say("a long answer")).Stream(ctx, ask("hi")) {
		if err != nil {
			require.ErrorIs(t, err, context.Canceled)
			continue
		}
		pieces++
		cancel()
	}
	assert.Equal(t, 1, pieces, "the pieces, of which none may follow the end of the context")
}

func TestScriptLeftEarlyHasPlayed(t *testing.T) {
	t.Parallel()
	script := llmtest.NewScript(llmtest.Say("a long answer"), llmtest.Say("b"))
	readOne(t, script)
	assert.Equal(t, "b []", describe(llm.Generate(t.Context(), script, ask("hi"))))
}

func TestScriptKeepsItsOwnCopies(t *testing.T) {
	t.Parallel()
	reply := llm.Assistant("", llm.ToolCall{ID: "1", Name: "f", Arguments: []byte(`{}`)})
	script := llmtest.NewScript(llmtest.Reply{Message: reply})
	request := ask("hi")
	_, err := llm.Generate(t.Context(), script, request)
	require.NoError(t, err)
	request.Messages[0].Parts[0].Text = "changed"
	script.Requests()[0].Messages[0].Parts[0].Text = "changed"
	assert.Equal(t, "hi", script.Requests()[0].Messages[0].Text())
}

func TestScriptIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	const n = 50
	replies := make([]llmtest.Reply, n)
	for i := range replies {
		replies[i] = llmtest.Say(fmt.Sprintf("reply %d", i))
	}
	script := llmtest.NewScript(replies...)
	said := make([]string, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { said[i] = describe(llm.Generate(t.Context(), script, ask("hi"))) })
	}
	wg.Wait()
	seen := map[string]bool{}
	for _, s := range said {
		seen[s] = true
	}
	assert.Len(t, seen, n, "different replies")
	assert.Zero(t, script.Remaining())
	assert.Len(t, script.Requests(), n)
}

func TestEcho(t *testing.T) {
	t.Parallel()
	r := llm.Request{Messages: []llm.Message{llm.User("first"), llm.User("second"), llm.Assistant("third")}}
	assert.Equal(t, "second []", describe(llm.Generate(t.Context(), llmtest.Echo{}, r)))
	r.Messages = r.Messages[2:]
	assert.Contains(t, describe(llm.Generate(t.Context(), llmtest.Echo{}, r)), "no user message")
}

func ExampleScript() {
	model := llmtest.NewScript(
		llmtest.Call("weather", `{"city":"Athens"}`),
		llmtest.Say("It is sunny in Athens."),
	)
	for range 3 {
		reply, err := llm.Generate(context.Background(), model, ask("How is the weather in Athens?"))
		if err != nil {
			fmt.Println(err)
			continue
		}
		for _, call := range reply.ToolCalls {
			fmt.Println("calls", call.Name, string(call.Arguments))
		}
		fmt.Printf("says %q\n", reply.Text())
	}
	// Output:
	// calls weather {"city":"Athens"}
	// says ""
	// says "It is sunny in Athens."
	// llmtest: script of 2 replies: request 3: no reply left
}

func ExampleEcho() {
	reply, err := llm.Generate(context.Background(), llmtest.Echo{}, ask("Is anybody there?"))
	if err != nil {
		panic(err)
	}
	fmt.Println(reply.Text())
	// Output: Is anybody there?
}
