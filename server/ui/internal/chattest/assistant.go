package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/tools"
)

// An invoice is a tool result for which the application has its own card.
type invoice struct {
	Number   json.Number `json:"number"`
	Customer string      `json:"customer"`
	Total    float64     `json:"total"`
}

// A file is a tool result that a person can download.
type file struct {
	Name string `json:"name"`
	Type string `json:"type"`
	Size int    `json:"size"`
	URL  string `json:"url"`
}

// newAssistant returns an agent that describes the parts of a message, and makes invoices, letters and pictures.
func newAssistant(store checkpoint.Store) (*graph.Graph, []tools.Tool, error) {
	list := []tools.Tool{
		tools.New("make_invoice", "Makes an invoice.", func(_ context.Context, in struct {
			Customer string `json:"customer"`
		},
		) (invoice, error) {
			return invoice{"9007199254740993", in.Customer, 1290.5}, nil
		}).Annotate(tools.Annotations{Title: "Make an invoice", Result: "invoice"}),
		tools.New("write_letter", "Writes a letter.", func(context.Context, struct{}) (file, error) {
			return file{"letter.txt", "text/plain", len(letter), "/api/letter.txt"}, nil
		}).Annotate(tools.Annotations{Title: "Write a letter", Result: "file"}),
		tools.New("draw_picture", "Draws a picture.", func(context.Context, struct{}) (map[string]string, error) {
			return map[string]string{"url": "/api/picture.png", "alt": "A grey field"}, nil
		}).Annotate(tools.Annotations{Title: "Draw a picture", Result: "image"}),
	}
	set, err := tools.NewSet(list...)
	if err != nil {
		return nil, nil, err
	}
	g, err := agent.New("bureau", llm.ModelFunc(answer), set, agent.Options{Graph: graph.Options{Checkpoints: store}})
	return g, list, err
}

// answer calls a tool if the last message asks for it, and otherwise describes the parts of this message.
func answer(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	last := r.Messages[len(r.Messages)-1]
	switch {
	case last.Role == llm.RoleTool:
		return llmtest.NewScript(llmtest.Say("Here it is.")).Stream(ctx, r)
	case strings.Contains(last.Text(), "picture"):
		return llmtest.NewScript(llmtest.Call("draw_picture", `{}`)).Stream(ctx, r)
	case strings.Contains(last.Text(), "invoice"):
		return llmtest.NewScript(llmtest.Call("make_invoice", `{"customer":"<b>Meyer</b> & Sons"}`)).Stream(ctx, r)
	}
	if strings.Contains(last.Text(), "slow") {
		return llmtest.NewScript(llmtest.Reply{Message: llm.Assistant(strings.Repeat("one word after the other ", 100)), Pace: 50 * time.Millisecond}).Stream(ctx, r)
	}
	if strings.Contains(last.Text(), "letter") {
		return llmtest.NewScript(llmtest.Call("write_letter", `{}`)).Stream(ctx, r)
	}
	var parts []string
	for _, p := range last.Parts {
		switch p.Type {
		case llm.PartText:
			parts = append(parts, fmt.Sprintf("%d characters of text", len([]rune(p.Text))))
		case llm.PartImage:
			parts = append(parts, fmt.Sprintf("an image of the type %s with %d bytes", p.MIMEType, len(p.Data)))
		default:
			parts = append(parts, "a part of the type "+string(p.Type))
		}
	}
	return llmtest.NewScript(llmtest.Say("I got "+strings.Join(parts, " and ")+".")).Stream(ctx, r)
}
