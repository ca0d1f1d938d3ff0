// Package offline is a model that needs no key and no network. It cuts a question into tokens (token.go), reads
// them with a small grammar from left to right (question.go, condition.go), chooses a tool (call.go) and writes an
// answer from its result (answer.go). It refuses a question with a token that does not fit, so it ignores no word
// except fillers (lexicon.go). Like a language model, it sees the prompt, the messages and the results of tools,
// and nothing else.
package offline

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/examples/csvanalyst/internal/csvdb"
	"github.com/weft-go/weft/examples/internal/rules"
	"github.com/weft-go/weft/llm"
)

// Model is the offline model. Pace is the wait before each word of an answer. Zero means
// no wait. A Model is safe for concurrent use.
type Model struct{ Pace time.Duration }

var _ llm.Model = Model{}

// Stream answers the last message of the user.
func (m Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	return rules.Model{Reply: reply, Pace: m.Pace}.Stream(ctx, r)
}

// A step is a tool call for the last message of the user, and its result.
type step struct {
	call   llm.ToolCall
	answer string
	failed bool
}

// A talk is the conversation in a request.
type talk struct {
	files  []file
	asked  []string // by the user; the last one needs an answer
	images int
	steps  []step
}

func read(messages []llm.Message) talk {
	var t talk
	calls := map[string]llm.ToolCall{}
	for _, m := range messages {
		switch m.Role {
		case llm.RoleSystem:
			t.files = append(t.files, filesOf(m.Text())...)
		case llm.RoleUser:
			t.asked, t.images, t.steps = append(t.asked, m.Text()), 0, nil
			for _, p := range m.Parts {
				if p.Type == llm.PartImage {
					t.images++
				}
			}
		case llm.RoleAssistant:
			for _, c := range m.ToolCalls {
				calls[c.ID] = c
			}
		case llm.RoleTool:
			t.steps = append(t.steps, step{calls[m.ToolCallID], m.Text(), m.Status == llm.StatusError})
		}
	}
	return t
}

// filesOf reads the lines of the prompt that describe files.
func filesOf(prompt string) (out []file) {
	for line := range strings.Lines(prompt) {
		var f file
		if json.NewDecoder(strings.NewReader(line)).Decode(&f) != nil || f.ID == "" {
			continue
		}
		for i := range f.Columns {
			c := &f.Columns[i]
			named := slices.Equal(stems(c.Name), stems(f.bareName()))
			c.rows = named && c.Unique && (c.Type == csvdb.Integer || c.Type == csvdb.Text)
		}
		out = append(out, f)
	}
	return out
}

// reply returns the next message: tool calls as long as the model needs results, and then the answer.
func reply(r llm.Request) llm.Message {
	t := read(r.Messages)
	if len(t.asked) == 0 {
		return llm.Assistant("Ask a question about a file. " + about)
	}
	calls, text := t.next()
	if len(calls) == 0 || r.ToolChoice.Mode == llm.ToolsNone {
		if text == "" {
			text = "I have no turn left to look this up in. Ask for less at once."
		}
		return llm.Assistant(text)
	}
	out := make([]llm.ToolCall, len(calls))
	for i, c := range calls {
		arguments, err := json.Marshal(c.arguments)
		if err != nil {
			return llm.Assistant("I cannot write the call of " + c.tool + ".")
		}
		out[i] = llm.ToolCall{ID: fmt.Sprintf("call_%d", len(t.steps)+i+1), Name: c.tool, Arguments: arguments}
	}
	return llm.Assistant("", out...)
}
