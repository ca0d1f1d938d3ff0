package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

// A Result is what a tool returns that has more to give than a text or a value.
// The function of [New] returns it as its Out, that of [Raw] always.
type Result struct {
	// Text is what the model reads first. Optional.
	Text string
	// Parts are what it sees after the text, such as images.
	Parts []llm.Part
	// Failed says that the call did not do what was asked. The model is told
	// so, and reads Text and Parts as what went wrong.
	Failed bool
	// Metadata is kept with the message. The model does not see it.
	Metadata map[string]json.RawMessage
	// Update is what the graph does with the result: writes to its channels,
	// graph.Goto and graph.Send within the routes of the node, graph.ToParent.
	// It is for tools that a [Node] or a [CallNode] calls.
	Update state.Update
}

// message returns the message that answers a call with the result.
func (r Result) message(call llm.ToolCall) llm.Message {
	m := llm.ToolResult(call, r.Text)
	if r.Failed {
		m.Status = llm.StatusError
	}
	m.Parts = append(m.Parts, r.Parts...)
	m.Metadata = r.Metadata
	return m.Clone()
}

// resultOf makes a result of what a function returned.
func resultOf(out any) (Result, error) {
	switch out := out.(type) {
	case Result:
		return out, nil
	case string:
		return Result{Text: out}, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return Result{}, fmt.Errorf("the result can not be written as JSON: %w", err)
	}
	return Result{Text: strings.TrimSuffix(b.String(), "\n")}, nil
}
