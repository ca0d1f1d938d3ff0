package llmtest_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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
		if left := max(0, 6-i); script.Remaining() != left {
			t.Errorf("before request %d: %d remain, want %d", i, script.Remaining(), left)
		}
		if got := describe(llm.Generate(t.Context(), script, ask(fmt.Sprint(i)))); !strings.Contains(got, want) {
			t.Errorf("request %d: got %q, want %q", i, got, want)
		}
	}
	_, err := llm.Generate(t.Context(), script, ask("more"))
	if !errors.Is(err, llmtest.ErrNoReply) || !strings.Contains(err.Error(), "script of 6 replies: request 8") {
		t.Errorf("got %v, want an ErrNoReply that says how many there were", err)
	}
	requests := script.Requests()
	if len(requests) != 8 || requests[3].Messages[0].Text() != "3" {
		t.Errorf("recorded %+v", requests)
	}
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
		if err != nil {
			t.Fatal(err)
		}
		count[chunk.Kind]++
		text += chunk.Text
		arguments += chunk.ToolCall.Arguments
	}
	want := map[llm.ChunkKind]int{llm.ChunkText: 4, llm.ChunkToolCall: 3, llm.ChunkEnd: 1}
	if !reflect.DeepEqual(count, want) || text != say.Text() || arguments != `{"a":"Grüße"}` {
		t.Errorf("got %v, %q and %q", count, text, arguments)
	}
}

func TestScriptInterleavesCalls(t *testing.T) {
	t.Parallel()
	reply := llmtest.Calls(llm.ToolCall{Name: "add", Arguments: []byte(`{"a":1,"b":22}`)}, llm.ToolCall{Name: "sub", Arguments: []byte(`{"c":3}`)})
	reply.Interleave = true
	reply = reply.Thinking("They want two results.").Costing(llm.Usage{Input: 1, Output: 2})
	script := llmtest.NewScript(reply, reply)
	var order []int
	for chunk, err := range script.Stream(t.Context(), ask("hi")) {
		if err != nil {
			t.Fatal(err)
		}
		if chunk.Kind == llm.ChunkToolCall {
			order = append(order, chunk.ToolCall.Index)
		}
	}
	if want := []int{0, 1, 0, 1, 0}; !reflect.DeepEqual(order, want) {
		t.Errorf("pieces of the calls %v, want %v", order, want)
	}
	got, err := llm.Generate(t.Context(), script, ask("hi"))
	if err != nil {
		t.Fatal(err)
	}
	if string(got.ToolCalls[0].Arguments) != `{"a":1,"b":22}` || string(got.ToolCalls[1].Arguments) != `{"c":3}` {
		t.Errorf("got %v", got)
	}
	if got.Usage.Total != 3 || got.Parts[0].Type != llm.PartReasoning {
		t.Errorf("got %+v", got)
	}
}

func TestScriptTakesItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reply := llmtest.Say("a long answer").After(time.Second)
		reply.Pace = 2 * time.Second
		late := llmtest.Fail(errors.New("down")).After(time.Minute)
		script := llmtest.NewScript(reply, late, reply)
		begin := time.Now()
		if _, err := llm.Generate(t.Context(), script, ask("hi")); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took != 7*time.Second { // three pieces and the end
			t.Errorf("took %v, want 7s", took)
		}
		for _, wait := range []time.Duration{time.Second, 2 * time.Second} {
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			begin = time.Now()
			_, err := llm.Generate(ctx, script, ask("hi"))
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != wait {
				t.Errorf("got %v after %v, want to be too late after %v", err, time.Since(begin), wait)
			}
			cancel()
		}
	})
}

func TestScriptPlaysChunks(t *testing.T) {
	t.Parallel()
	odd := llmtest.Reply{Chunks: []llm.Chunk{{Kind: llm.ChunkText, Text: "a"}, {Kind: llm.ChunkText, MessageID: "1", Text: "b"}}}
	broken := llmtest.Reply{Chunks: odd.Chunks, Err: errors.New("down")}
	script := llmtest.NewScript(odd, broken, odd, llmtest.Reply{Message: llm.User("hm")})
	if got := describe(llm.Generate(t.Context(), script, ask("hi"))); got != "ab []" {
		t.Errorf("got %q, want ab", got)
	}
	if got := describe(llm.Generate(t.Context(), script, ask("hi"))); got != "error down" {
		t.Errorf("got %q, want the error", got)
	}
	for _, err := range script.Stream(t.Context(), ask("hi")) {
		if err != nil {
			t.Error(err)
		}
		break
	}
	if _, err := llm.Generate(t.Context(), script, ask("hi")); !errors.Is(err, llm.ErrInvalid) {
		t.Errorf("got %v for a reply of the user", err)
	}
}

func TestScriptPlaysBrokenArguments(t *testing.T) {
	t.Parallel()
	script := llmtest.NewScript(llmtest.Call("add", `{"a":`))
	got, err := llm.Generate(t.Context(), script, ask("hi"))
	if err != nil {
		t.Fatal(err)
	}
	if call := got.ToolCalls[0]; call.Invalid == "" || call.Text() != `{"a":` || call.ID != "call_1" {
		t.Errorf("got %+v", call)
	}
}

func TestScriptStreamsSignaturesLast(t *testing.T) {
	t.Parallel()
	m := llm.Assistant("so")
	m.Parts = append([]llm.Part{{Type: llm.PartReasoning, Text: "a long thought", Signature: "s"}}, m.Parts...)
	got, err := llm.Generate(t.Context(), llmtest.NewScript(llmtest.Reply{Message: m}), ask("hi"))
	if err != nil || !reflect.DeepEqual(got.Parts, m.Parts) {
		t.Errorf("got %+v and %v", got.Parts, err)
	}
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
	if text != "half an answer" || !errors.Is(last, down) {
		t.Errorf("got %q and %v", text, last)
	}
}

func TestScriptHonoursItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pieces := 0
	for _, err := range llmtest.NewScript(llmtest.Say("a long answer")).Stream(ctx, ask("hi")) {
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			continue
		}
		pieces++
		cancel()
	}
	if pieces != 1 {
		t.Errorf("got %d pieces after the context was done, want none", pieces-1)
	}
}

func TestScriptLeftEarlyHasPlayed(t *testing.T) {
	t.Parallel()
	script := llmtest.NewScript(llmtest.Say("a long answer"), llmtest.Say("b"))
	for _, err := range script.Stream(t.Context(), ask("hi")) {
		if err != nil {
			t.Error(err)
		}
		break
	}
	if got := describe(llm.Generate(t.Context(), script, ask("hi"))); got != "b []" {
		t.Errorf("got %q, want the second reply", got)
	}
}

func TestScriptKeepsItsOwnCopies(t *testing.T) {
	t.Parallel()
	reply := llm.Assistant("", llm.ToolCall{ID: "1", Name: "f", Arguments: []byte(`{}`)})
	script := llmtest.NewScript(llmtest.Reply{Message: reply})
	request := ask("hi")
	if _, err := llm.Generate(t.Context(), script, request); err != nil {
		t.Fatal(err)
	}
	request.Messages[0].Parts[0].Text = "changed"
	script.Requests()[0].Messages[0].Parts[0].Text = "changed"
	if got := script.Requests()[0].Messages[0].Text(); got != "hi" {
		t.Errorf("recorded %q, want hi", got)
	}
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
	if len(seen) != n || script.Remaining() != 0 || len(script.Requests()) != n {
		t.Errorf("%d different replies, %d left, %d requests", len(seen), script.Remaining(), len(script.Requests()))
	}
}

func TestEcho(t *testing.T) {
	t.Parallel()
	r := llm.Request{Messages: []llm.Message{llm.User("first"), llm.User("second"), llm.Assistant("third")}}
	if got := describe(llm.Generate(t.Context(), llmtest.Echo{}, r)); got != "second []" {
		t.Errorf("got %q, want second", got)
	}
	r.Messages = r.Messages[2:]
	if got := describe(llm.Generate(t.Context(), llmtest.Echo{}, r)); !strings.Contains(got, "no user message") {
		t.Errorf("got %q, want an error", got)
	}
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
