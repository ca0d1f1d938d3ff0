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
		r.wrong("failed: %v", err)
		return
	}
	r.saw("%q", reply.Text())
	if !strings.Contains(strings.ToLower(reply.Text()), "paris") {
		r.wrong("it does not say Paris")
	}
	if reply.StopReason != llm.StopEnd {
		r.wrong("it stopped by %q, want %q", reply.StopReason, llm.StopEnd)
	}
	if reply.Usage == nil {
		r.wrong("the server told no usage")
	}
}

func streaming(ctx context.Context, m llm.Model, r *report) {
	var reply llm.Message
	var said strings.Builder
	chunks := 0
	for c, err := range llm.Stream(ctx, m, question("Count from one to ten in words, separated by commas."), &reply) {
		if err != nil {
			r.wrong("failed: %v", err)
			return
		}
		if c.Kind == llm.ChunkText {
			said.WriteString(c.Text)
			chunks++
		}
	}
	r.saw("%d chunks: %q", chunks, reply.Text())
	switch {
	case chunks == 0:
		r.wrong("it said nothing")
	case chunks == 1:
		r.wrong("it came in one chunk: the server does not stream")
	}
	if said.String() != reply.Text() {
		r.wrong("the chunks are not the reply")
	}
	if !strings.Contains(strings.ToLower(reply.Text()), "seven") {
		r.wrong("it does not count to ten")
	}
}

// A shop knows what no model can: how many of a thing there are.
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

// visit lets an agent answer with the shop's help. It returns false when there
// was no answer at all.
func (s *shop) visit(ctx context.Context, m llm.Model, text string, r *report) (said string, ok bool) {
	set, err := tools.NewSet(tools.New("stock", "Tells how many widgets of one colour are in stock.", s.stock))
	if err != nil {
		r.wrong("failed: %v", err)
		return "", false
	}
	a, err := agent.New("live", m, set, agent.Options{System: "You are a shop assistant. Look numbers up, never guess."})
	if err != nil {
		r.wrong("failed: %v", err)
		return "", false
	}
	end, err := a.Invoke(ctx, agent.Messages.Put(llm.User(text)))
	if err != nil {
		r.wrong("failed: %v", err)
		return "", false
	}
	for _, message := range agent.Messages.Get(end) {
		for _, call := range message.ToolCalls {
			if call.Invalid != "" {
				r.wrong("it called %s with arguments that are not JSON: %s", call.Name, line(call.Text()))
			}
		}
		if message.Status == llm.StatusError {
			r.wrong("a call failed: %s", line(message.Text()))
		}
	}
	last, _ := agent.Messages.Last(end)
	r.saw("asked %v, said %q", s.asked, last.Text())
	return strings.NewReplacer(",", "", ".", "", " ", "").Replace(last.Text()), true
}

func oneTool(ctx context.Context, m llm.Model, r *report) {
	var s shop
	if said, ok := s.visit(ctx, m, "How many blue widgets are in stock?", r); ok {
		s.check(r, said, "blue", "4817")
	}
}

func twoTools(ctx context.Context, m llm.Model, r *report) {
	var s shop
	if said, ok := s.visit(ctx, m, "How many blue and how many green widgets are in stock?", r); ok {
		s.check(r, said, "blue", "4817")
		s.check(r, said, "green", "2963")
	}
}

// check finds out whether the model has asked for a colour and told the answer.
func (s *shop) check(r *report, said, colour, number string) {
	asked := false
	for _, got := range s.asked {
		asked = asked || strings.EqualFold(got, colour)
	}
	switch {
	case !asked:
		r.wrong("it never looked up %s", colour)
	case !strings.Contains(said, number):
		r.wrong("its answer does not have the %s widgets that the tool told of", number)
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
		r.wrong("failed: %v", err)
		return
	}
	r.saw("%+v", got)
	if !strings.Contains(got.Name, "Lis") || got.Country != "Portugal" {
		r.wrong("that is not Lisbon in Portugal")
	}
}
