package kai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
	"github.com/weft-go/weft/examples/designer/internal/catalogue"
	"github.com/weft-go/weft/examples/designer/internal/studio"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/agentmemory"
	"github.com/weft-go/weft/memory/extract"
	"github.com/weft-go/weft/server"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

const (
	recalled = 20              // maximum number of facts in a prompt
	budget   = 1000            // maximum number of their tokens
	patience = 2 * time.Second // timeout of a recall
)

// Parts configures a [Platform].
type Parts struct {
	Agents    Configs
	Catalogue *catalogue.Catalogue
	Studio    *studio.DB
	// Model selects the model of an agent.
	Model       func(Config) (llm.Model, error)
	Checkpoints checkpoint.Store
	Facts       *memory.Memory
	Learner     *extract.Learner
	// Documents, if not nil, stores the state of each conversation as one document after a run.
	Documents *supacheckpoint.Agents
	// Workspace is the workspace of the users of a server.
	Workspace string
	Logger    *slog.Logger
}

// A Platform runs agents. It is safe for use by any number of goroutines.
type Platform struct {
	Parts
	tools *tools.Set
	kit   *agentmemory.Kit
}

// New returns a platform.
func New(p Parts) (*Platform, error) {
	p.Logger = cmp.Or(p.Logger, slog.New(slog.DiscardHandler))
	kit, err := agentmemory.New(agentmemory.Options{Learner: p.Learner, Logger: p.Logger})
	if err != nil {
		return nil, err
	}
	set, err := (&desk{p.Catalogue, p.Studio}).tools()
	if err != nil {
		return nil, err
	}
	return &Platform{p, set, kit}, p.Agents.check(set)
}

// A Turn has the message of a user to an agent, with the workspace and the conversation.
type Turn struct {
	User, Workspace string
	Agent           string
	// Conversation is an id that the caller chooses. An empty id begins a new conversation.
	Conversation string
	Input        string
}

func (t Turn) scope() memory.Scope {
	return memory.Scope{Workspace: t.Workspace, User: t.User, Agent: t.Agent}
}

// Execute runs a turn and returns its result. The turn may have ended, or wait for approval. onChunk,
// if not nil, is called with each chunk.
func (p *Platform) Execute(ctx context.Context, t Turn, onChunk func(Chunk)) (*Result, error) {
	return last(p.Stream(ctx, t), onChunk)
}

// Last returns the result of a turn that [Platform.Answer] or [Platform.Resume] continues.
func Last(chunks iter.Seq2[Chunk, error]) (*Result, error) { return last(chunks, nil) }

// Stream runs a turn and yields its chunks. Leaving the loop ends the run; [Platform.Resume] then
// continues the turn.
func (p *Platform) Stream(ctx context.Context, t Turn) iter.Seq2[Chunk, error] {
	return p.run(ctx, &t, func(ctx context.Context, c Config) (state.Update, error) {
		return input(p.prompt(ctx, c, t.scope()), t.Input), nil
	})
}

// Answer answers an open question of a conversation and continues the turn.
func (p *Platform) Answer(ctx context.Context, t Turn, question string, d tools.Decision) iter.Seq2[Chunk, error] {
	return p.run(ctx, &t, func(context.Context, Config) (state.Update, error) {
		return state.Update{agent.Approval.Answer(question, d)}, nil
	})
}

// Resume continues a turn whose run failed or was stopped.
func (p *Platform) Resume(ctx context.Context, t Turn) iter.Seq2[Chunk, error] {
	return p.run(ctx, &t, func(context.Context, Config) (state.Update, error) { return nil, nil })
}

// run prepares a run with [Platform.begin], yields its chunks, and stores the document of the conversation.
func (p *Platform) run(ctx context.Context, t *Turn, writes func(context.Context, Config) (state.Update, error)) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		ctx := agentmemory.For(ctx, t.scope())
		g, in, err := p.begin(ctx, t, writes)
		if err != nil {
			yield(Chunk{}, err)
			return
		}
		for c, err := range Chunks(g.Thread(t.thread()).Stream(ctx, in...)) {
			if c.Snapshot != nil {
				c.Result = p.result(*t, c.Snapshot)
				p.keep(ctx, *t, c.Snapshot)
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// begin prepares a run. It makes the input with writes, sets t.Conversation (to a new id for a new conversation),
// records the conversation in Studio, and returns the agent's graph and the input.
func (p *Platform) begin(ctx context.Context, t *Turn, writes func(context.Context, Config) (state.Update, error)) (*graph.Graph, state.Update, error) {
	config, err := p.config(t.Agent)
	if err != nil {
		return nil, nil, err
	}
	in, err := writes(ctx, config)
	if err != nil {
		return nil, nil, err
	}
	t.Conversation = strings.TrimPrefix(t.thread(), t.Agent+"-")
	title := []rune(t.Input)
	c := studio.Conversation{ID: t.Conversation, User: t.User, Agent: t.Agent, Title: string(title[:min(60, len(title))])}
	if err := p.Studio.Begin(ctx, c); err != nil {
		return nil, nil, err
	}
	g, err := p.Graph(t.Agent)
	return g, in, err
}

// thread returns the id of the thread: the agent's id, a dash, and the conversation's id or a new UUID.
func (t Turn) thread() string { return supacheckpoint.ThreadID(t.Agent, t.Conversation) }

func (p *Platform) config(id string) (Config, error) {
	config, ok := p.Agents[id]
	if !ok {
		return config, fmt.Errorf("%w: %q; there are %s", ErrUnknownAgent, id, strings.Join(p.Agents.IDs(), ", "))
	}
	return config, nil
}

// Graph returns the graph of an agent with its model, or [ErrUnknownAgent].
func (p *Platform) Graph(id string) (*graph.Graph, error) {
	config, err := p.config(id)
	if err != nil {
		return nil, err
	}
	model, err := p.Model(config)
	if err != nil {
		return nil, err
	}
	return CreateAgentGraph(model, p.tools.Select(tools.Query{Names: config.Tools}), Options{
		MaxIterations: config.MaxIterations, Critical: config.Critical, Kit: p.kit,
		Prompt: func(ctx context.Context) string {
			scope, _ := tools.BoundFrom[memory.Scope](ctx)
			return p.prompt(ctx, config, scope)
		},
		Graph: graph.Options{Checkpoints: p.Checkpoints, Middleware: []graph.Middleware{p.scoped(id)}},
	})
}

// Graphs returns the graphs of all agents by id, for a server.
func (p *Platform) Graphs() (map[string]*graph.Graph, error) {
	all := map[string]*graph.Graph{}
	for _, id := range p.Agents.IDs() {
		g, err := p.Graph(id)
		if err != nil {
			return nil, fmt.Errorf("agent %s: %w", id, err)
		}
		all[id] = g
	}
	return all, nil
}

// Tools returns the tools of the platform.
func (p *Platform) Tools() []tools.Tool { return p.tools.Tools() }

// scoped binds the memory scope of the user in a run of the server. [Platform.run] binds the scope of its own runs.
func (p *Platform) scoped(agent string) graph.Middleware {
	return func(next graph.NodeFunc) graph.NodeFunc {
		return func(ctx context.Context, s state.View) (state.Update, error) {
			if _, ok := tools.BoundFrom[memory.Scope](ctx); !ok {
				scope := Turn{User: server.UserID(ctx), Workspace: p.Workspace, Agent: agent}.scope()
				ctx = context.WithValue(agentmemory.For(ctx, scope), serverKey{}, true)
			}
			return next(ctx, s)
		}
	}
}

type serverKey struct{}

// ofServer reports whether a node is in a run of the server.
func ofServer(ctx context.Context) bool { return ctx.Value(serverKey{}) != nil }

// prompt returns an agent's prompt with the newest facts about the user in this workspace, learned by any
// agent. If the recall fails or takes too long, prompt returns the agent's prompt alone.
func (p *Platform) prompt(ctx context.Context, c Config, s memory.Scope) string {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	facts, err := p.Facts.Recall(ctx, memory.Question{Reach: memory.Reach{Scope: s, AnyAgent: true}, Limit: recalled, MaxTokens: budget})
	if err != nil {
		p.Logger.WarnContext(ctx, "a turn goes on without what is known", "error", err)
		return c.Prompt
	}
	if len(facts) == 0 {
		return c.Prompt
	}
	return c.Prompt + "\n\n" + agentmemory.FormatFacts(facts)
}

// keep stores the document of a conversation. The thread is already stored, so keep only logs an error.
func (p *Platform) keep(ctx context.Context, t Turn, s *graph.Snapshot) {
	if p.Documents == nil {
		return
	}
	data, err := document(s)
	if err == nil {
		err = p.Documents.Put(ctx, t.thread(), data)
	}
	if err != nil {
		p.Logger.WarnContext(ctx, "the document of a conversation was not kept", "thread", t.thread(), "error", err)
	}
}

// last returns the result of a run.
func last(chunks iter.Seq2[Chunk, error], onChunk func(Chunk)) (r *Result, err error) {
	for c, err := range chunks {
		if onChunk != nil {
			onChunk(c)
		}
		if err != nil {
			return nil, err
		}
		r = cmp.Or(c.Result, r)
	}
	if r == nil {
		return nil, errors.New("the run ended without a result")
	}
	return r, nil
}
