package modeltest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/weft-go/weft/internal/suitetest"
	"github.com/weft-go/weft/llm"
)

// A Scene is a behaviour of a provider that [Run] needs. A test of a model plays it with a
// server that stands in for the provider.
type Scene string

// The scenes.
const (
	Text  Scene = "text"  // streams "Hello, " and "world." and is complete: 12 tokens read, 5 written
	Calls Scene = "calls" // calls the tool "weather" with {"city":"Athens"}, and again with {"city":"Oslo"}
	Cut   Scene = "cut"   // streams "Hello, ", and then the connection ends
	Stop  Scene = "stop"  // streams "Hello, " and "world.", and stops with the word "surprise"
	Hang  Scene = "hang"  // streams "Hello, ", and then nothing until the request ends
)

// Run checks that a model keeps the rules of [llm.Model] and [llm.Chunk], and that it yields text
// before the reply is complete. The function returns the model, connected to a provider that plays
// the scene for each request. Run does not check what the model sends to the provider.
func Run(t *testing.T, newModel func(*testing.T, Scene) llm.Model) {
	for _, test := range []struct {
		scene Scene
		check func(testing.TB, llm.Model)
	}{
		{Text, checkText},
		{Calls, checkCalls},
		{Cut, checkCut},
		{Stop, checkStop},
		{Hang, checkHang},
	} {
		t.Run(string(test.scene), func(t *testing.T) { check(t, test.scene, newModel, test.check) })
	}
}

// sceneLimit is the maximum time of a scene.
const sceneLimit = time.Minute

// check plays a scene. A model that panics, or that waits for ever, fails the test.
func check[T testing.TB](t T, s Scene, newModel func(T, Scene) llm.Model, fn func(testing.TB, llm.Model)) {
	t.Helper()
	suitetest.Run(t, "a model keeps the rules of llm.Model in the scene "+string(s), sceneLimit, func() {
		fn(t, suitetest.Opened(t, "model", newModel(t, s)))
	})
}

func hello() llm.Request {
	schema := []byte(`{"type":"object","properties":{"city":{"type":"string"}}}`)
	return llm.Request{
		Messages: []llm.Message{llm.System("Be brief."), llm.User("Hello")},
		Tools:    []llm.ToolSpec{{Name: "weather", Description: "Tells the weather.", Schema: schema}},
	}
}

func generate(t testing.TB, m llm.Model) llm.Message {
	t.Helper()
	reply, err := llm.Generate(t.Context(), m, hello())
	if err != nil {
		t.Fatalf("the reply failed: %v", err)
	}
	return reply
}

func checkText(t testing.TB, m llm.Model) {
	t.Helper()
	reply := generate(t, m)
	if got := reply.Text(); got != "Hello, world." {
		t.Errorf("the text is %q, want the pieces in order", got)
	}
	if reply.StopReason != llm.StopEnd {
		t.Errorf("the stop reason is %q, want %q", reply.StopReason, llm.StopEnd)
	}
	if want := (llm.Usage{Input: 12, Output: 5, Total: 17}); reply.Usage == nil || *reply.Usage != want {
		t.Errorf("the usage is %+v, want %+v", reply.Usage, want)
	}
	if len(reply.ToolCalls) > 0 {
		t.Errorf("the reply calls tools: %v", reply.ToolCalls)
	}
}

func checkCalls(t testing.TB, m llm.Model) {
	t.Helper()
	reply := generate(t, m)
	if reply.StopReason != llm.StopToolCalls {
		t.Errorf("the stop reason is %q, want %q", reply.StopReason, llm.StopToolCalls)
	}
	want := []string{`{"city":"Athens"}`, `{"city":"Oslo"}`}
	if len(reply.ToolCalls) != len(want) {
		t.Fatalf("got %d calls, want %d: each call needs an index of its own", len(reply.ToolCalls), len(want))
	}
	for i, call := range reply.ToolCalls {
		if call.Name != "weather" || call.Text() != want[i] {
			t.Errorf("call %d is %s%s, want weather%s", i, call.Name, call.Text(), want[i])
		}
	}
}

func checkCut(t testing.TB, m llm.Model) {
	t.Helper()
	_, err := llm.Generate(t.Context(), m, hello())
	switch {
	case err == nil:
		t.Error("a reply that broke off is no error: send ChunkEnd only after the provider's own end")
	case !llm.Retryable(err):
		t.Errorf("a reply that broke off is not retryable: use llm.Classify: %v", err)
	}
}

func checkStop(t testing.TB, m llm.Model) {
	t.Helper()
	switch reply := generate(t, m); reply.StopReason { // llm.Stream returns an error for an unknown stop reason
	case "", llm.StopEnd:
	default:
		t.Errorf("the stop reason is %q, want %q or none for an unknown word", reply.StopReason, llm.StopEnd)
	}
}

func checkHang(t testing.TB, m llm.Model) {
	t.Helper()
	if err := cancelAtText(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	for _, err := range m.Stream(t.Context(), hello()) {
		if err != nil {
			t.Errorf("the stream failed before its first chunk: %v", err)
		}
		break // a model that calls yield again panics
	}
}

// textWait is the maximum time to the first text of a model.
const textWait = 10 * time.Second

// cancelAtText cancels a request at its first text. It returns an error if there is no text, or if the stream
// does not end with the error of the context.
func cancelAtText(ctx context.Context, m llm.Model) error {
	ctx, cancel := context.WithTimeout(ctx, textWait)
	defer cancel()
	var last error
	text := false
	for chunk, err := range m.Stream(ctx, hello()) {
		if last = err; err == nil && chunk.Text != "" {
			text = true
			cancel() // the model must end now
		}
	}
	switch {
	case !text:
		return fmt.Errorf("no text before the end of the request after %v: yield each piece of text when it arrives; the last error is %s", textWait, fmt.Sprint(last))
	case !errors.Is(last, context.Canceled):
		return fmt.Errorf("the error of a cancelled request is %s, want the error of the context", fmt.Sprint(last))
	}
	return nil
}
