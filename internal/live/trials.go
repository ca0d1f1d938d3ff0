package main

import (
	"context"
	"strings"
	"sync"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

var trials = []trial{
	{"plain answer", plainAnswer},
	{"streaming", streaming},
	{"tool", oneTool},
	{"two tools", twoTools},
	{"structured", structured},
}

func question(text string) llm.Request {
	zero := 0.0
	return llm.Request{Messages: []llm.Message{llm.User(text)}, Temperature: &zero, MaxTokens: 2000}
}

func plainAnswer(ctx context.Context, m llm.Model, r *report) {
	reply, err := llm.Generate(ctx, m, question("What is the capital of France? Answer with one word."))
	if err != nil {
		r.fail("failed: %v", err)
		return
	}
	r.saw("%q", reply.Text())
	if !strings.Contains(strings.ToLower(reply.Text()), "paris") {
		r.fail("the answer does not contain Paris")
	}
	if reply.StopReason != llm.StopEnd {
		r.fail("the stop reason is %q, want %q", reply.StopReason, llm.StopEnd)
	}
	if reply.Usage == nil {
		r.fail("the server reported no token usage")
	}
}

func streaming(ctx context.Context, m llm.Model, r *report) {
	var reply llm.Message
	var answer strings.Builder
	chunks := 0
	for c, err := range llm.Stream(ctx, m, question("Count from one to ten in words, separated by commas."), &reply) {
		if err != nil {
			r.fail("failed: %v", err)
			return
		}
		if c.Kind == llm.ChunkText {
			answer.WriteString(c.Text)
			chunks++
		}
	}
	r.saw("%d chunks: %q", chunks, reply.Text())
	switch {
	case chunks == 0:
		r.fail("the answer is empty")
	case chunks == 1:
		r.fail("the answer came in one chunk: the server does not stream")
	}
	if answer.String() != reply.Text() {
		r.fail("the chunks differ from the reply")
	}
	if !strings.Contains(strings.ToLower(reply.Text()), "seven") {
		r.fail("the answer does not count to ten")
	}
}

// A shop has a tool whose results a model cannot guess.
type shop struct {
	mu    sync.Mutex
	asked []string
}

type item struct {
	Colour string `json:"colour" jsonschema:"one word, such as red"`
}

func (s *shop) stock(_ context.Context, i item) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, i.Colour)
	switch strings.ToLower(i.Colour) {
	case "blue":
		return "4817 blue widgets are in stock.", nil
	case "green":
		return "2963 green widgets are in stock.", nil
	}
	return "No widgets of that colour are sold.", nil
}

// ask asks an agent that has the tool of the shop. It returns the answer without punctuation
// and spaces. It reports false if there was no answer.
func (s *shop) ask(ctx context.Context, m llm.Model, text string, r *report) (answer string, ok bool) {
	set, err := tools.NewSet(tools.New("stock", "Returns the number of widgets of one colour in stock.", s.stock))
	if err != nil {
		r.fail("failed: %v", err)
		return "", false
	}
	a, err := agent.New("live", m, set, agent.Options{System: "You are a shop assistant. Look numbers up, never guess."})
	if err != nil {
		r.fail("failed: %v", err)
		return "", false
	}
	end, err := a.Invoke(ctx, agent.Messages.Put(llm.User(text)))
	if err != nil {
		r.fail("failed: %v", err)
		return "", false
	}
	for _, message := range agent.Messages.Get(end) {
		for _, call := range message.ToolCalls {
			if call.Invalid != "" {
				r.fail("a call of %s has arguments that are not JSON: %s", call.Name, line(call.Text()))
			}
		}
		if message.Status == llm.StatusError {
			r.fail("a tool call failed: %s", line(message.Text()))
		}
	}
	last, _ := agent.Messages.Last(end)
	r.saw("asked for %v, answered %q", s.asked, last.Text())
	return strings.NewReplacer(",", "", ".", "", " ", "").Replace(last.Text()), true
}

func oneTool(ctx context.Context, m llm.Model, r *report) {
	var s shop
	if answer, ok := s.ask(ctx, m, "How many blue widgets are in stock?", r); ok {
		s.check(r, answer, "blue", "4817")
	}
}

func twoTools(ctx context.Context, m llm.Model, r *report) {
	var s shop
	if answer, ok := s.ask(ctx, m, "How many blue and how many green widgets are in stock?", r); ok {
		s.check(r, answer, "blue", "4817")
		s.check(r, answer, "green", "2963")
	}
}

// check records a fault unless the model called the tool with the colour and answered with
// the number.
func (s *shop) check(r *report, answer, colour, number string) {
	asked := false
	for _, got := range s.asked {
		asked = asked || strings.EqualFold(got, colour)
	}
	switch {
	case !asked:
		r.fail("the model never asked the tool for %s", colour)
	case !strings.Contains(answer, number):
		r.fail("the answer does not contain %s, which the tool returned", number)
	}
}

func structured(ctx context.Context, m llm.Model, r *report) {
	type city struct {
		Name    string `json:"name"`
		Country string `json:"country"`
		Coastal bool   `json:"coastal" jsonschema:"whether it lies by the sea"`
	}
	got, _, err := llm.As[city](ctx, m, question("Describe the city of Lisbon."))
	if err != nil {
		r.fail("failed: %v", err)
		return
	}
	r.saw("%+v", got)
	if !strings.Contains(got.Name, "Lis") || got.Country != "Portugal" {
		r.fail("the answer is not Lisbon in Portugal")
	}
}
