package llmtest_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

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
