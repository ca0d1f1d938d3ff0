package middleware

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

// Retry asks the model again if it fails; see [llm.Retry].
func Retry(p llm.RetryPolicy) agent.Middleware {
	return withModel("retry", func(m llm.Model) llm.Model { return llm.Retry(m, p) })
}

// Fallback asks other models, in order, if the model fails; see [llm.Fallback].
func Fallback(models ...llm.Model) agent.Middleware {
	if i := slices.Index(models, nil); i >= 0 {
		return agent.Middleware{Name: "fallback", Err: fmt.Errorf("model %d is nil; pass a model", i+1)}
	}
	return withModel("fallback", func(m llm.Model) llm.Model { return llm.Fallback(append([]llm.Model{m}, models...)...) })
}

// withModel returns a middleware that wraps the model of each call.
func withModel(name string, wrap func(llm.Model) llm.Model) agent.Middleware {
	return agent.Middleware{Name: name, WrapModel: func(ctx context.Context, c agent.ModelCall, next agent.ModelFunc) (agent.Reply, error) {
		return next(ctx, c.Wrap(wrap))
	}}
}

// CachePrompt lets the provider cache the beginning of each request: the tools, the system prompt
// and the conversation so far. For Anthropic it marks the system prompt and the last message for
// the time ttl; zero means the provider's default. For OpenAI it sets the cache key to the name of
// the agent. Put it last in Options.Use, since it makes the system prompt a message.
func CachePrompt(ttl time.Duration) agent.Middleware {
	return agent.Middleware{Name: "cache prompt", WrapModel: func(ctx context.Context, c agent.ModelCall, next agent.ModelFunc) (agent.Reply, error) {
		messages := slices.Clone(c.Request.Messages)
		if last := len(messages) - 1; last >= 0 {
			messages[last] = messages[last].Cache(ttl)
		}
		if c.System != "" {
			messages, c.System = append([]llm.Message{llm.System(c.System).Cache(ttl)}, messages...), ""
		}
		c.Request.Messages = messages
		if c.Request.CacheKey == "" {
			c.Request.CacheKey = c.Agent
		}
		return next(ctx, c)
	}}
}

// A Selection configures [SelectTools].
type Selection struct {
	// Model chooses the tools. It can be smaller than the model of the agent.
	Model llm.Model
	// Max is the maximum number of chosen tools. Zero means 10. If the agent has at most Max tools
	// besides Always, all tools are offered and the model is not asked.
	Max int
	// Always has the names of tools that are in every request, in addition to the chosen ones.
	Always []string
}

// A selected has the tools that were chosen for one message of the user.
type selected struct {
	For   string   `json:"for"` // the id of the message
	Tools []string `json:"tools"`
}

var selections = state.Map[string, selected]("agent_selected_tools").Internal()

// SelectTools lets a model choose the tools that fit the user's message, so that requests stay
// small although the agent has many tools. It asks once for each message of the user and stores
// the choice. Unknown tool names are ignored. The usage of this model is added to the usage of the
// agent.
func SelectTools(s Selection) agent.Middleware {
	if s.Model == nil {
		return agent.Middleware{Name: "select tools", Err: errors.New("Selection.Model is nil; set the model that chooses the tools")}
	}
	if s.Max <= 0 {
		s.Max = 10
	}
	return agent.Middleware{
		Name: "select tools", Channels: []state.Handle{selections},
		WrapModel: func(ctx context.Context, c agent.ModelCall, next agent.ModelFunc) (agent.Reply, error) {
			offered := slices.DeleteFunc(slices.Clone(c.Request.Tools), func(t llm.ToolSpec) bool { return slices.Contains(s.Always, t.Name) })
			if len(offered) <= s.Max {
				return next(ctx, c)
			}
			question := lastUser(c.Request.Messages)
			chosen, known := selections.Get(c.State)[c.Agent]
			var update state.Update
			if !known || chosen.For != question.ID {
				names, usage, err := s.ask(ctx, question, offered)
				if err != nil {
					return agent.Reply{}, fmt.Errorf("choosing the tools: %w", err)
				}
				chosen = selected{question.ID, names}
				update = state.Update{selections.Put(map[string]selected{c.Agent: chosen}), agent.Usage.Put(usage)}
			}
			c.Request.Tools = slices.DeleteFunc(slices.Clone(c.Request.Tools), func(t llm.ToolSpec) bool {
				return !slices.Contains(s.Always, t.Name) && !slices.Contains(chosen.Tools, t.Name)
			})
			reply, err := next(ctx, c)
			reply.Update = append(update, reply.Update...)
			return reply, err
		},
	}
}

func (s *Selection) ask(ctx context.Context, question llm.Message, offered []llm.ToolSpec) ([]string, llm.Usage, error) {
	var list strings.Builder
	for _, t := range offered {
		fmt.Fprintf(&list, "%s: %s\n", t.Name, t.Description)
	}
	prompt := fmt.Sprintf("Choose at most %d tools that may help to answer the user's message, the most useful first. The tools:\n\n%s", s.Max, list.String())
	answer, usage, err := llm.As[struct {
		Tools []string `json:"tools" jsonschema:"names of tools"`
	}](ctx, s.Model, llm.Request{Messages: []llm.Message{llm.System(prompt), llm.User(question.Text())}})
	return answer.Tools[:min(len(answer.Tools), s.Max)], usage, err
}

// lastUser returns the last message that the user wrote. If all messages of the user are relayed, it
// returns the last of them.
func lastUser(messages []llm.Message) llm.Message {
	for _, m := range slices.Backward(messages) {
		if m.Role == llm.RoleUser && !m.Relayed() {
			return m
		}
	}
	for _, m := range slices.Backward(messages) {
		if m.Role == llm.RoleUser {
			return m
		}
	}
	return llm.Message{}
}
