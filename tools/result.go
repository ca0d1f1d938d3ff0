package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

// A Result is the result of a tool. It can have more than a text or a value. A function of
// [New] may return a Result as Out. A function of [Raw] always returns one.
type Result struct {
	// Text is the text that the model reads first. It may be empty.
	Text string
	// Parts follow the text, for example images.
	Parts []llm.Part
	// Failed reports that the tool failed. The model is told so, and Text and Parts then
	// describe the error.
	Failed bool
	// Metadata is stored with the message. The model does not see it.
	Metadata map[string]json.RawMessage
	// Update has writes for the graph: to its channels, graph.Goto and graph.Send to
	// destinations of the node, and graph.ToParent. The nodes that call tools apply them, such
	// as a [Node] or a [CallNode]. [Set.Call] and [Set.CallAll] return [ErrWrites].
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

// resultOf converts the value that a function returned.
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
		return Result{}, fmt.Errorf("the result cannot be encoded as JSON: %w", err)
	}
	return Result{Text: strings.TrimSuffix(b.String(), "\n")}, nil
}
