// Package offline is a model that needs no key and no network, and an extractor beside it:
// rules that look at the words of a message, choose a tool, and answer with what the tool
// returned. It understands nothing and knows nothing: all that it says about the user or the
// documents comes from the tools. It is there so that the example runs anywhere, and speaks
// to the agent exactly as a language model would: it sees the prompt, the messages and the
// tools' answers, and nothing else.
package offline

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/examples/internal/rules"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory/agentmemory"
)

// Model is the offline model. Pace is how long it waits before each word of an answer; zero
// means not at all. It may be used by any number of goroutines.
type Model struct{ Pace time.Duration }

var _ llm.Model = Model{}

// Stream answers the last message of the user.
func (m Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	return rules.Model{Reply: reply, Pace: m.Pace}.Stream(ctx, r)
}

// A step is a tool call that was made for the message, and its answer.
type step struct {
	call   llm.ToolCall
	answer string
	failed bool
}

// A talk is what the request says.
type talk struct {
	message string
	tools   []string
	steps   []step
	last    bool // no tool may be called
}

func read(r llm.Request) talk {
	t := talk{last: r.ToolChoice.Mode == llm.ToolsNone}
	for _, spec := range r.Tools {
		t.tools = append(t.tools, spec.Name)
	}
	calls := map[string]llm.ToolCall{}
	for _, m := range r.Messages {
		switch m.Role {
		case llm.RoleUser:
			t.message, t.steps = strings.Join(strings.Fields(m.Text()), " "), nil
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

// has says whether there is a tool that was not called yet.
func (t talk) has(tool string) bool {
	called := slices.ContainsFunc(t.steps, func(s step) bool { return s.call.Name == tool })
	return slices.Contains(t.tools, tool) && !called && !t.last
}

// reply is the next message: a tool call, or the answer.
func reply(r llm.Request) llm.Message {
	t := read(r)
	if words, all, ok := topic(t.message); ok && slices.Contains(t.tools, forgetTool) && !t.last {
		return t.forget(words, all)
	}
	if words := declined(t.message); words != "" && slices.Contains(t.tools, agentmemory.StoreTool) {
		text := fmt.Sprintf("I keep no fact of this message, because it says %q. What I know already stays: say \"forget\" with words of it to remove it. "+
			"The conversation has the message until it is deleted.", words)
		if strings.HasSuffix(t.message, "?") {
			text += " If you asked something, ask it in another message."
		}
		return llm.Assistant(text)
	}
	if len(t.steps) > 0 {
		if text := t.answer(t.steps[len(t.steps)-1]); text != "" {
			return llm.Assistant(text)
		}
	}
	if tool, arguments := t.choose(); tool != "" {
		return t.call(tool, arguments)
	}
	return llm.Assistant(t.without())
}

// forgetTool is the name of the application's tool.
const forgetTool = "forget_memory"

// forget looks at what is known, has the facts deleted that have the words, and says which they were.
func (t talk) forget(words []string, all bool) llm.Message {
	if len(words) == 0 && !all {
		return llm.Assistant("I forgot nothing: say what to forget, such as \"forget my address\" or \"forget everything\".")
	}
	if len(t.steps) == 0 {
		return t.call(agentmemory.RecallTool, map[string]any{"query": "", "limit": 50})
	}
	last := t.steps[len(t.steps)-1]
	switch {
	case last.failed && strings.Contains(last.answer, "rejected"):
		return llm.Assistant("Nothing was forgotten.")
	case last.failed:
		return llm.Assistant("Nothing was forgotten: " + last.answer)
	}
	if last.call.Name == forgetTool {
		return llm.Assistant(forgotten(last.answer))
	}
	known := facts(last.answer)
	switch some := about(words, known, alike); {
	case len(known) == 0:
		return llm.Assistant("There is nothing to forget: I remember nothing about you.")
	case all:
		return t.call(forgetTool, map[string]any{"everything": true})
	case len(some) > 0:
		var texts []string
		for _, f := range some {
			texts = append(texts, f.Content)
		}
		return t.call(forgetTool, map[string]any{"facts": texts})
	}
	return llm.Assistant(fmt.Sprintf("I forgot nothing: nothing that I remember has the words %q. I remember:%s\n\nSay \"forget\" with words of one of these.",
		strings.Join(words, " "), dated(known)))
}

// forgotten says what the tool has deleted, and what stays.
func forgotten(answer string) string {
	var out struct {
		Forgotten []string `json:"forgotten"`
		More      int      `json:"more"`
		Stays     string   `json:"stays"`
	}
	if err := json.Unmarshal([]byte(answer), &out); err != nil {
		return answer
	}
	text := "I forgot:"
	if len(out.Forgotten) == 0 {
		text = "This was forgotten already."
	}
	for _, fact := range out.Forgotten {
		text += "\n- " + toYou(fact)
	}
	if out.More > 0 {
		text += fmt.Sprintf("\n\n%d more facts were forgotten.", out.More)
	}
	return text + "\n\n" + out.Stays
}

func (t talk) call(tool string, arguments map[string]any) llm.Message {
	data, err := json.Marshal(arguments)
	if err != nil {
		return llm.Assistant("I can not write the call of " + tool + ".")
	}
	return llm.Assistant("", llm.ToolCall{ID: fmt.Sprintf("call_%d", len(t.steps)+1), Name: tool, Arguments: data})
}

// choose picks a tool by the words of the message.
func (t talk) choose() (string, map[string]any) {
	fact, _, toStore := toRemember(t.message)
	switch {
	case toStore && t.has(agentmemory.StoreTool):
		return agentmemory.StoreTool, map[string]any{"content": fact, "evidence": fact}
	case toStore, !asks.MatchString(t.message):
		return "", nil
	case ofDocuments.MatchString(t.message) && t.has(agentmemory.SearchTool):
		return agentmemory.SearchTool, map[string]any{"query": t.message}
	case ofAccount.MatchString(t.message) && t.has(agentmemory.ContextTool):
		return agentmemory.ContextTool, map[string]any{}
	case (ofAll.MatchString(t.message) || t.unordered()) && slices.Contains(t.tools, agentmemory.RecallTool):
		return agentmemory.RecallTool, map[string]any{"query": "", "limit": 50}
	case t.has(agentmemory.RecallTool):
		query := t.message
		if ofHome.MatchString(query) {
			query += " moved"
		}
		return agentmemory.RecallTool, map[string]any{"query": query}
	case t.has(agentmemory.SearchTool):
		return agentmemory.SearchTool, map[string]any{"query": t.message}
	}
	return "", nil
}

// answer says what a tool returned, and nothing if it found nothing and another may.
func (t talk) answer(s step) string {
	if s.failed {
		return "That did not work: " + s.answer
	}
	switch s.call.Name {
	case agentmemory.StoreTool:
		fact, rest, _ := toRemember(t.message)
		text := "I will remember that " + toYou(fact) + "."
		if strings.Contains(s.answer, "already") {
			text = "I knew that already: " + toYou(fact) + "."
		}
		if rest != "" {
			text += " Ask the rest in another message: " + rest
		}
		return text
	case agentmemory.ContextTool:
		return s.answer
	case agentmemory.RecallTool:
		switch list := t.recalled(); {
		case t.unordered():
			return ""
		case t.has(agentmemory.SearchTool) && !ofAll.MatchString(t.message) && (len(list) == 0 || t.isVague()):
			return ""
		case len(list) > 0:
			return t.told(list)
		}
		return "I remember nothing about this."
	case agentmemory.SearchTool:
		return t.withFacts(quote(t.message, s.answer))
	}
	return s.answer
}

// withFacts puts the facts that were recalled before a quotation.
func (t talk) withFacts(quotation string) string {
	list := t.recalled()
	switch {
	case len(list) == 0:
		return quotation
	case quotation == NoPassage:
		return t.told(list)
	}
	return t.told(list) + "\n\nIn the documents:\n\n" + quotation
}

// without answers where no tool fits.
func (t talk) without() string {
	const honest = "Rules answer here, and no language model (set a key in the environment to choose one): "
	if len(t.tools) == 0 {
		return fmt.Sprintf("You said: %q. %sI have no memory and no documents here, so there is nothing that I can look up.", cut(t.message), honest)
	}
	if _, _, toStore := toRemember(t.message); toStore || asks.MatchString(t.message) {
		return "I have nothing to do that with. " + honest + "I can only use the tools that I am given."
	}
	return fmt.Sprintf("You said: %q. %stell me to remember or to forget something, ask what I know about you, or ask something that the documents answer.", cut(t.message), honest)
}

const maxEcho = 200

func cut(text string) string {
	if runes := []rune(text); len(runes) > maxEcho {
		return string(runes[:maxEcho]) + "…"
	}
	return text
}
