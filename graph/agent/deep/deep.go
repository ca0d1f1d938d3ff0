package deep

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/graph/agent/middleware"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// Options configures [New]. The zero value is valid.
type Options struct {
	// System is the system prompt. Parts about the to-do list, the files and the skills follow.
	System string
	// Tools are additional tools of the agent.
	Tools []tools.Tool
	// Files are the files of the agent and its sub-agents. Nil means [State].
	Files Files
	// SubAgents do tasks for the agent. The agent calls each of them as a tool.
	SubAgents []SubAgent
	// Skills are the folders of skills, such as /skills; see [Skills].
	Skills []string
	// Runner, if not nil, runs commands that a person approves; see [Commands]. With a Runner, the
	// default of Agent.Tools.Timeout is 10 minutes.
	Runner Runner
	// MaxTokens is the number of tokens above which the conversation is summarised for the model.
	// Zero means 100,000.
	MaxTokens int
	// Agent has further options. Agent.System follows the system prompt of this package, and
	// Agent.Use follows its middleware. Zero means 100 for Agent.MaxTurns, and 512 KiB for
	// Agent.Tools.MaxText. Agent.Tools applies to the sub-agents too, except for the approval rule.
	Agent agent.Options
}

// A SubAgent does tasks for the agent, each in a conversation of its own. It has the tools for
// files and shares the files of the agent.
type SubAgent struct {
	// Name is the name of the tool and of the node. Description tells the model which tasks the
	// sub-agent can do.
	Name, Description string
	// System is the system prompt.
	System string
	// Model is the model. Nil means the model of the agent.
	Model llm.Model
	// Tools are the tools of the sub-agent, besides the tools for files.
	Tools []tools.Tool
	// Use is added to the middleware of the sub-agent.
	Use []agent.Middleware
}

const defaultTurns = 100

// New returns an agent for long work. It plans with a to-do list (middleware.TodoList), has files
// ([FileTools]), moves long results of tools to files ([MoveResults]), gives tasks to sub-agents,
// and summarises long conversations. Destructive tools need the approval of a person, in the agent
// and in its sub-agents; see [agent.Approval]. The result is an ordinary graph.
func New(name string, model llm.Model, o Options) (*graph.Graph, error) {
	if model == nil {
		return nil, fmt.Errorf("deep: agent %q: the model is nil; pass a model", name)
	}
	if o.Files == nil {
		o.Files = State()
	}
	if o.MaxTokens == 0 {
		o.MaxTokens = defaultTokens
	}
	var errs []error
	for _, dir := range o.Skills {
		if _, err := clean(dir); err != nil {
			return nil, fmt.Errorf("deep: agent %q: Options.Skills: %w", name, err)
		}
	}
	use := append([]agent.Middleware{middleware.TodoList()}, o.shared(model)...)
	if len(o.Skills) > 0 {
		use = append(use, Skills(o.Files, o.Skills...))
	}
	if o.Runner != nil {
		use = append(use, Commands(o.Runner, AskFirst))
	}
	for _, s := range o.SubAgents {
		g, err := o.subAgent(model, s)
		if err != nil {
			errs = append(errs, fmt.Errorf("deep: agent %q: sub-agent %q: %w", name, s.Name, err))
			continue
		}
		use = append(use, agent.AsTool(agent.SubAgent{Agent: g, Description: s.Description, Private: []state.Handle{middleware.Todos}}))
	}
	a := o.defaults()
	a.System = join(o.System, a.System)
	a.Use = append(use, a.Use...)
	set, err := tools.NewSet(o.Tools...)
	if err = errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	return agent.New(name, model, set, a)
}

const (
	defaultTokens = 100_000
	// maxResult is the longest result of a tool, in bytes. In JSON, the result can be six times as
	// long, and it must still fit into a file that is stored as a value of a memory.
	maxResult = 512 << 10
)

// shared returns the middleware that the agent and its sub-agents have.
func (o Options) shared(model llm.Model) []agent.Middleware {
	history := middleware.History{Pruning: llm.Pruning{MaxTokens: o.MaxTokens}, Summarise: llm.SummariseWith(model)}
	return []agent.Middleware{
		FileTools(o.Files), MoveResults(o.Files, Results{}), middleware.Shorten(history), middleware.Approve(tools.Destructive()),
	}
}

// defaults returns the options of package agent with the defaults of this package.
func (o Options) defaults() agent.Options {
	a := o.Agent
	if a.MaxTurns == 0 {
		a.MaxTurns = defaultTurns
	}
	if a.Tools.Timeout == 0 && o.Runner != nil {
		a.Tools.Timeout = 10 * time.Minute // the Runner ends commands earlier
	}
	if a.Tools.MaxText == 0 {
		a.Tools.MaxText = maxResult // long results are moved to files
	}
	return a
}

func (o Options) subAgent(model llm.Model, s SubAgent) (*graph.Graph, error) {
	if s.Model != nil {
		model = s.Model
	}
	set, err := tools.NewSet(s.Tools...)
	if err != nil {
		return nil, err
	}
	a := o.defaults()
	a.System, a.Use = s.System, slices.Concat(o.shared(model), s.Use)
	a.Answer, a.Messages, a.Channels, a.Graph = agent.Structure{}, nil, nil, graph.Options{}
	a.Tools.Approval.Rule = tools.Rule{} // the rule may name tools that the sub-agent does not have
	return agent.New(s.Name, model, set, a)
}

// join joins parts of a prompt.
func join(parts ...string) (all string) {
	for _, p := range parts {
		if all != "" && p != "" {
			all += "\n\n"
		}
		all += p
	}
	return all
}
