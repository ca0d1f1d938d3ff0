package llm_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
)

var question = llm.Request{Messages: []llm.Message{llm.User("Is it going to rain?")}}

func ExampleAs() {
	type forecast struct {
		Rain   bool     `json:"rain"`
		Chance int      `json:"chance" jsonschema:"in per cent"`
		Sure   *float64 `json:"sure"`
	}
	// The first answer does not fit. As tells the model the problem, and asks once more.
	model := llmtest.NewScript(
		llmtest.Call("answer", `{"rain":true,"chance":"high"}`),
		llmtest.Call("answer", `{"rain":true,"chance":80}`),
	)
	answer, _, err := llm.As[forecast](context.Background(), model, question)
	if err != nil {
		panic(err)
	}
	fmt.Println(answer.Rain, answer.Chance)
	told := model.Requests()[1].Messages
	fmt.Println(told[len(told)-1])
	// Output:
	// true 80
	// tool: This does not fit: chance: want an integer, got the string "high". Call the tool again with the whole answer.
}

func ExampleOneOf() {
	type search struct {
		Query string `json:"query"`
	}
	type report struct {
		Text string `json:"text"`
	}
	type step struct {
		_      llm.OneOf
		Search *search `json:"search" jsonschema:"look for more sources"`
		Report *report `json:"report" jsonschema:"the sources are sufficient"`
	}
	// The first answer is invalid, because it has both fields.
	model := llmtest.NewScript(
		llmtest.Call("answer", `{"search":{"query":"rain"},"report":{"text":"?"}}`),
		llmtest.Call("answer", `{"search":{"query":"rain"}}`),
	)
	next, _, err := llm.As[step](context.Background(), model, question)
	if err != nil {
		panic(err)
	}
	switch {
	case next.Search != nil:
		fmt.Println("search:", next.Search.Query)
	case next.Report != nil:
		fmt.Println("report:", next.Report.Text)
	}
	told := model.Requests()[1].Messages
	fmt.Println(told[len(told)-1])
	// Output:
	// search: rain
	// tool: This does not fit: the answer: want an object with exactly one of the fields search, report, got the fields report, search. Call the tool again with the whole answer.
}

func ExampleRetry() {
	busy := &llm.Error{Kind: llm.ErrOverloaded, Provider: "example", Status: 529}
	flaky := llmtest.NewScript(llmtest.Fail(busy), llmtest.Fail(busy), llmtest.Say("No."))
	model := llm.Retry(flaky, llm.RetryPolicy{Initial: time.Millisecond})
	reply, err := llm.Generate(context.Background(), model, question)
	if err != nil {
		panic(err)
	}
	fmt.Println(reply.Text(), len(flaky.Requests()))
	// Output: No. 3
}

func ExampleFallback() {
	small := llmtest.NewScript(llmtest.Fail(&llm.Error{Kind: llm.ErrContextTooLong}))
	large := llmtest.NewScript(llmtest.Say("No."))
	reply, err := llm.Generate(context.Background(), llm.Fallback(small, large), question)
	if err != nil {
		panic(err)
	}
	fmt.Println(reply.Text())
	for _, failed := range reply.PassedOver() {
		fmt.Println(failed.Model, "failed:", failed.Error)
	}
	// Output:
	// No.
	// model 1 of 2 failed: llm: context too long
}

// If every model fails, the error joins the errors of all models.
func ExampleModelError() {
	small := llmtest.NewScript(llmtest.Fail(&llm.Error{Kind: llm.ErrAuth, Provider: "small"}))
	large := llmtest.NewScript(llmtest.Fail(&llm.Error{Kind: llm.ErrOverloaded, Provider: "large"}))
	_, err := llm.Generate(context.Background(), llm.Fallback(small, large), question)
	fmt.Println(err)
	first, _ := errors.AsType[*llm.ModelError](err)
	fmt.Println(first.Model, errors.Is(first, llm.ErrAuth))
	// Output:
	// llm: fallback: model 1 of 2: llm: small: not allowed
	// llm: fallback: model 2 of 2: llm: large: provider overloaded
	// model 1 of 2 true
}

// A model that sends nothing for 20 milliseconds fails. Retry asks it again, and Fallback then asks the next one.
func ExampleIdleTimeout() {
	silent := llm.ModelFunc(func(ctx context.Context, _ llm.Request) iter.Seq2[llm.Chunk, error] {
		return func(yield func(llm.Chunk, error) bool) {
			<-ctx.Done() // the provider has accepted the request, and sends nothing
			yield(llm.Chunk{}, ctx.Err())
		}
	})
	model := llm.Retry(llm.IdleTimeout(silent, 20*time.Millisecond), llm.RetryPolicy{Attempts: 2, Initial: time.Millisecond})
	other := llmtest.NewScript(llmtest.Say("No."))
	reply, err := llm.Generate(context.Background(), llm.Fallback(model, other), question)
	if err != nil {
		panic(err)
	}
	fmt.Println(reply.Text())
	fmt.Println(reply.PassedOver()[0].Error)
	// Output:
	// No.
	// llm: attempt 2: llm: connection failed: the model sent nothing for 20ms
}

// Retry is around Limit, so the limit applies to every attempt. With Whole, Retry also repeats a
// request whose reply breaks off: the caller gets no chunk before the reply is complete.
func ExampleLimit() {
	var model llm.Model = llmtest.Echo{}
	model = llm.Limit(model, llm.Limits{Concurrent: 8, PerMinute: 500, Burst: 20})
	model = llm.Retry(model, llm.RetryPolicy{Attempts: 5, Whole: true})
	reply, err := llm.Generate(context.Background(), model, question)
	if err != nil {
		panic(err)
	}
	fmt.Println(reply.Text())
	// Output: Is it going to rain?
}

func ExampleTrace() {
	model := llmtest.NewScript(llmtest.Say("No.").Costing(llm.Usage{Input: 9, Output: 2}))
	traced := llm.Trace(model, llm.Hooks{
		Start: func(ctx context.Context, r llm.Request) context.Context {
			fmt.Println("start:", len(r.Messages), "message")
			return ctx // or a context with a span
		},
		End: func(_ context.Context, e llm.Exchange) {
			fmt.Println("end:", e.Reply.StopReason, e.Usage().Total, e.Err)
		},
	})
	if _, err := llm.Generate(context.Background(), traced, question); err != nil {
		panic(err)
	}
	// Output:
	// start: 1 message
	// end: end 11 <nil>
}

func ExampleLog() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "duration" || a.Key == "first_chunk" {
			return slog.Attr{}
		}
		return a
	}}))
	model := llm.Log(llmtest.NewScript(llmtest.Say("No.").Costing(llm.Usage{Input: 9, Output: 2})), "m-1", logger)
	if _, err := llm.Generate(context.Background(), model, question); err != nil {
		panic(err)
	}
	// Output: level=INFO msg="model answered" model=m-1 messages=1 chunks=2 stop_reason=end input_tokens=9 output_tokens=2
}

func ExampleClassify() {
	err := llm.Classify(llm.Error{
		Provider: "openai", Status: 429,
		Message: "Rate limit reached. Please try again in 1.2s.",
	})
	fmt.Println(errors.Is(err, llm.ErrRateLimit), err.Retryable(), err.RetryAfter)
	fmt.Println(err)
	// Output:
	// true true 1.2s
	// llm: openai: rate limit (status 429): Rate limit reached. Please try again in 1.2s.
}

func ExampleInvalidCall() {
	model := llmtest.NewScript(llmtest.Call("weather", `{"city": Athens}`), llmtest.Call("weather", `{"city":"Athens"}`))
	r := question
	for range 2 {
		reply, err := llm.Generate(context.Background(), model, r)
		if err != nil {
			panic(err)
		}
		call := reply.ToolCalls[0]
		if call.Invalid == "" {
			fmt.Println("calls", call.Name, call.Text())
			return
		}
		// The call is stored and answered like any other, but never executed.
		fmt.Println("wrote", call.Text())
		why := "The arguments are not JSON: " + call.Invalid
		r.Messages = append(r.Messages, reply, llm.ToolError(call, why))
	}
	// Output:
	// wrote {"city": Athens}
	// calls weather {"city":"Athens"}
}

// A message can have a text and images.
func ExampleImage() {
	m := llm.User("What is this?", llm.Image("image/png", []byte("\x89PNG")), llm.ImageURL("https://example.com/a.png"))
	var types []string
	for _, p := range m.Parts {
		types = append(types, string(p.Type))
	}
	fmt.Println(strings.Join(types, " "))
	// Output: text image image
}

// An adapter converts the stop reason of its provider.
func ExampleParseStopReason() {
	fmt.Println(llm.ParseStopReason("max_tokens"), llm.ParseStopReason("SAFETY"))
	// Output: length content_filter
}
