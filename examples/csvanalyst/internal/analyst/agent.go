package analyst

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/weft-go/weft/examples/csvanalyst/internal/csvtools"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

const (
	// maxTurns is the maximum number of requests to the model for one answer.
	maxTurns = 5
	// toolTime is the time limit of a tool call: a file may have a gigabyte.
	toolTime = 2 * time.Minute
)

// docs:begin agent
// agent asks the model, calls the tools that the model requests, and asks again. It stores each reply and each tool
// result at once: if the process is killed, the next one resumes after them.
func (a *analyst) agent(ctx context.Context, s state.View) (state.Update, error) {
	options := tools.Options{Timeout: toolTime, Emit: graph.Emit, Once: graph.Once[llm.Message], Bind: tools.Bindings{
		tools.Bind(func(_ context.Context, s state.View) (csvtools.SessionID, error) {
			return csvtools.SessionID(sessionID.Get(s)), nil
		}),
	}}
	ctx, err := options.Bind.Apply(ctx, s)
	if err != nil {
		return nil, err
	}
	query := message{llm.RoleUser, currentQuery.Get(s), currentQueryImages.Get(s)}
	history := append(messages.Get(s), query)
	r := llm.Request{Messages: conversation(csvMetadata.Get(s), history), Tools: a.tools.Specs(), Temperature: new(0.0)}
	var texts []string
	var shown []llm.Message
	for turn := 1; turn <= maxTurns; turn++ {
		graph.Emit(ctx, agent.Turn{Agent: "agent", Number: turn, Most: maxTurns})
		if turn == maxTurns {
			r.ToolChoice = llm.ToolChoice{Mode: llm.ToolsNone}
		}
		reply, err := graph.Once(ctx, fmt.Sprint("reply ", turn), func(ctx context.Context) (llm.Message, error) {
			return agent.Ask(ctx, a.model, r)
		})
		if err != nil {
			return nil, err
		}
		if text := reply.Text(); text != "" {
			texts = append(texts, text)
		}
		if len(reply.ToolCalls) == 0 || turn == maxTurns {
			reply.ToolCalls = nil
			shown = append(shown, reply)
			break
		}
		answers, err := a.tools.CallAll(ctx, reply.ToolCalls, options)
		if err != nil {
			return nil, err
		}
		for i := range answers {
			answers[i].ID = reply.ID + " " + answers[i].ToolCallID // the same if the node runs again
			graph.Emit(ctx, answers[i])
		}
		r.Messages = append(append(r.Messages, reply), answers...)
		shown = append(append(shown, reply), answers...)
	}
	if len(texts) == 0 {
		texts = []string{fmt.Sprintf("I did not come to an answer in %d steps.", maxTurns)}
		shown = append(shown, llm.Assistant(texts[0]))
	}
	history = append(history, message{Role: llm.RoleAssistant, Content: strings.Join(texts, paragraph)})
	return state.Update{messages.Put(&history), said.Put(&shown)}, nil
}

// docs:end

// paragraph separates the text of the model before a tool call from the text after it.
const paragraph = "\n\n"

// conversation returns the messages for the model: the prompt, and the history with its images.
func conversation(files []csvResource, history []message) []llm.Message {
	out := []llm.Message{llm.System(buildSystemPrompt(files))}
	for _, m := range history {
		said := llm.Message{Role: m.Role}
		if m.Content != "" {
			said.Parts = append(said.Parts, llm.Text(m.Content))
		}
		for _, image := range m.Images {
			said.Parts = append(said.Parts, llm.Image(image.MIMEType, image.Data))
		}
		out = append(out, said)
	}
	return out
}
