package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weft-go/weft/llm"
)

// A recordedRequest is the content of a request. Requests with the same content get the same
// replies.
type recordedRequest struct {
	Messages    []llm.Message   `json:"messages"`
	Tools       []llm.ToolSpec  `json:"tools,omitempty"`
	ToolMode    llm.ToolMode    `json:"tool_mode,omitempty"`
	ToolName    string          `json:"tool_name,omitempty"`
	Temperature *float64        `json:"temperature,omitempty"`
	TopP        *float64        `json:"top_p,omitempty"`
	Seed        *int64          `json:"seed,omitempty"`
	MaxTokens   int             `json:"max_tokens,omitempty"`
	Stop        []string        `json:"stop,omitempty"`
	FormatType  llm.FormatType  `json:"format,omitempty"`
	FormatName  string          `json:"format_name,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
	Effort      llm.Effort      `json:"reasoning_effort,omitempty"`
	Budget      int             `json:"reasoning_budget,omitempty"`
}

func newRecordedRequest(r llm.Request) recordedRequest {
	r = r.Clone()
	ids := map[string]string{}
	known := func(id string) string {
		if id != "" && ids[id] == "" {
			ids[id] = fmt.Sprintf("call_%d", len(ids)+1)
		}
		return ids[id]
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		m.ID, m.Metadata, m.Usage, m.StopReason = "", nil, nil, ""
		m.ToolCallID = known(m.ToolCallID)
		for j := range m.Parts {
			m.Parts[j].Metadata = nil
		}
		for j := range m.ToolCalls {
			m.ToolCalls[j].ID, m.ToolCalls[j].Metadata = known(m.ToolCalls[j].ID), nil
		}
	}
	return recordedRequest{
		Messages: r.Messages, Tools: r.Tools, ToolMode: r.ToolChoice.Mode, ToolName: r.ToolChoice.Name,
		Temperature: r.Temperature, TopP: r.TopP, Seed: r.Seed, MaxTokens: r.MaxTokens, Stop: r.Stop,
		FormatType: r.Format.Type, FormatName: r.Format.Name, Schema: r.Format.Schema,
		Effort: r.Reasoning.Effort, Budget: r.Reasoning.Budget,
	}
}

// text returns the request as indented JSON with sorted keys.
func (r recordedRequest) text() string {
	data, err := json.Marshal(r)
	if err != nil {
		return err.Error() // a schema that is not JSON
	}
	values := json.NewDecoder(bytes.NewReader(data))
	values.UseNumber()
	var value any
	if err := values.Decode(&value); err != nil {
		return err.Error()
	}
	var b bytes.Buffer
	lines := json.NewEncoder(&b)
	lines.SetEscapeHTML(false)
	lines.SetIndent("", "  ")
	if err := lines.Encode(value); err != nil {
		return err.Error()
	}
	return b.String()
}

// maxLines is the largest number of lines that an error shows of each side of a difference.
const maxLines = 12

// difference shows how a request differs from the recorded request that has most in common with
// it. The caller holds the lock.
func (r *Recording) difference(asked string) string {
	if len(r.exchanges) == 0 {
		return "the recording is empty"
	}
	to := strings.Split(strings.TrimSpace(asked), "\n")
	best, common := []string(nil), -1
	for _, e := range r.exchanges {
		from := strings.Split(strings.TrimSpace(e.Request.text()), "\n")
		if begin, end := shared(from, to); begin+end > common {
			best, common = from, begin+end
		}
	}
	begin, end := shared(best, to)
	var b strings.Builder
	b.WriteString("the nearest recorded request (-) and this one (+):\n")
	for _, line := range best[max(begin-2, 0):begin] {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	show(&b, "-", best[begin:len(best)-end])
	show(&b, "+", to[begin:len(to)-end])
	return strings.TrimRight(b.String(), "\n")
}

func show(b *strings.Builder, sign string, lines []string) {
	for i, line := range lines {
		if i == maxLines {
			fmt.Fprintf(b, "%s … and %d more lines\n", sign, len(lines)-maxLines)
			return
		}
		fmt.Fprintf(b, "%s %s\n", sign, line)
	}
}

// shared returns the number of equal lines at the beginning and at the end of two texts.
func shared(a, b []string) (begin, end int) {
	for begin < min(len(a), len(b)) && a[begin] == b[begin] {
		begin++
	}
	for end < min(len(a), len(b))-begin && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	return begin, end
}
