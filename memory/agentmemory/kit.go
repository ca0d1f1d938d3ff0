package agentmemory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/extract"
	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// Options configures [New]. The zero value adds nothing to an agent.
type Options struct {
	// Facts are recalled into the prompt, and used by the tools store_memory and
	// recall_memory.
	Facts *memory.Memory
	// Learner learns each turn after its answer.
	Learner *extract.Learner
	// Knowledge is searched by the tool search_knowledge_base.
	Knowledge *knowledge.Base
	// Search limits the results of search_knowledge_base, and Documents filters the documents. The
	// scope and the text come from the run. A MaxTokens of zero means 2,000.
	Search    memory.Question
	Documents knowledge.Filter
	// Profiles is the memory with the user contexts, which the tool get_user_context reads; see
	// [LoadContext].
	Profiles *memory.Memory
	// Scope returns the scope of a run from its context or its state, for example from a channel with
	// the customer. Neither the model nor a client may write this channel: declare it with [state.Channel.Internal]. Nil means the scope that
	// [For] set. An error that wraps [tools.ErrUnbound] means that this run has no memory.
	Scope func(ctx context.Context, s state.View) (memory.Scope, error)
	// Forget adds the tool forget_memory. It removes a fact that the user asks to forget, with its
	// history and the facts that it replaced. They cannot be restored, so the tool is
	// [tools.Annotations].Destructive. Stored conversations keep the words. The model must quote the user,
	// and may misread the quote: to ask a person first, set an Approval with [tools.Destructive].
	Forget bool
	// Recall limits the facts that are recalled, and Only filters them. The scope and the text come
	// from the run. A Limit of zero means 8, and a MaxTokens of zero means 1,000.
	Recall memory.Question
	Only   memory.FactFilter
	// Unverified adds facts of [extract.Lowest] trust to the prompt and to the results of
	// recall_memory. They are marked as unverified. Without it the model does not see them.
	Unverified bool
	// Shared permits scopes without a user, whose facts all users of the scope share. Without it, a
	// run in such a scope fails with [extract.ErrNoUser].
	Shared bool
	// Verifier checks the facts of store_memory. It checks neither the facts that they replace nor the
	// facts that forget_memory removes. It may take up to 30 s. A fact that it rejects is not stored. If it
	// is nil, a fact needs only a verbatim quote of the user, and the model may misread the quote.
	Verifier extract.Verifier
	// Confirm is called before store_memory stores a fact, if the model has read other words than
	// the user's in this turn: a file of the user, words of another agent, or the result of a tool
	// other than store_memory, forget_memory and, without Unverified, recall_memory. It may wait for
	// an interrupt:
	//
	//	var Keep = graph.NewInterrupt[string, bool]("keep_fact")
	//
	//	func(ctx context.Context, f memory.Fact) (bool, error) {
	//		return Keep.WaitKey(ctx, f.Content, f.Content)
	//	}
	//
	// Without Confirm and Verifier, such a fact is stored with [extract.Lowest] trust, until
	// the user repeats it.
	Confirm func(ctx context.Context, f memory.Fact) (bool, error)
	// Patience limits how long a turn waits for recalled facts or for a tool. Then the turn
	// continues without them. Until a late call returns, all other calls in its scope fail at once.
	// Zero means 2 s.
	Patience time.Duration
	// NoPrompt leaves the prompt unchanged: the model must use recall_memory.
	NoPrompt bool
	// Messages is the channel of the conversation in a graph of your own. Nil means
	// [agent.Messages]. [Kit.Middleware] uses the channel of its agent.
	Messages *state.KeyedChannel[llm.Message]
	// Logger logs each failure of memory, and each turn without a scope. Nil means no log.
	Logger *slog.Logger
}

// tools reports whether the kit has tools.
func (o *Options) tools() bool { return o.Facts != nil || o.Knowledge != nil || o.Profiles != nil }

// A Kit adds memory to agents. It is safe for concurrent use.
type Kit struct {
	options Options
	log     *slog.Logger
	stuck   stuck
}

const (
	defaultRecalled = 8
	defaultTokens   = 1000
	defaultFound    = 2000
	defaultPatience = 2 * time.Second
	maxUnlearned    = 100
)

// New returns a kit.
func New(o Options) (*Kit, error) {
	if err := o.Only.Validate(); err != nil {
		return nil, fmt.Errorf("agentmemory: new: only: %w", err)
	}
	if o.Recall.Reach.Scope != (memory.Scope{}) || o.Recall.Text != "" {
		return nil, fmt.Errorf("agentmemory: new: recall: the scope and the text come from the run, leave them empty: %w", memory.ErrInvalid)
	}
	if o.Search.Reach.Scope != (memory.Scope{}) || o.Search.Text != "" {
		return nil, fmt.Errorf("agentmemory: new: search: the scope and the text come from the run, leave them empty: %w", memory.ErrInvalid)
	}
	if o.Recall.Reach.AnyUser || o.Search.Reach.AnyUser {
		return nil, fmt.Errorf("agentmemory: new: AnyUser would show an agent the facts of all users: %w", memory.ErrInvalid)
	}
	if o.Only.Untrusted {
		return nil, fmt.Errorf("agentmemory: new: only: set Options.Unverified to recall unverified facts: %w", memory.ErrInvalid)
	}
	if o.Forget && o.Facts == nil {
		return nil, fmt.Errorf("agentmemory: new: Options.Forget needs Options.Facts: %w", memory.ErrInvalid)
	}
	o.Only.Untrusted = o.Unverified
	o.Patience = cmp.Or(max(o.Patience, 0), defaultPatience)
	o.Recall.Limit = cmp.Or(o.Recall.Limit, defaultRecalled)
	o.Recall.MaxTokens = cmp.Or(o.Recall.MaxTokens, defaultTokens)
	if o.Messages == nil {
		o.Messages = agent.Messages
	}
	o.Search.MaxTokens = cmp.Or(o.Search.MaxTokens, defaultFound)
	k := &Kit{options: o, log: o.Logger}
	if k.log == nil {
		k.log = slog.New(slog.DiscardHandler)
	}
	return k, nil
}

// For returns a context for runs with the memory of a scope. The scope must have a user, unless
// [Options.Shared] is set. Each call that runs the thread needs such a context, even a call that answers a
// question in another goroutine or process. A run without it has no memory: the model gets no facts and no tools
// of memory, nothing is learned, and [Options].Logger gets a warning.
func For(ctx context.Context, s memory.Scope) context.Context { return tools.WithBound(ctx, s) }

// scope returns the scope of a run.
func (k *Kit) scope(ctx context.Context, view state.View) (s memory.Scope, err error) {
	if k.options.Scope != nil {
		s, err = k.options.Scope(ctx, view)
	} else if bound, ok := tools.BoundFrom[memory.Scope](ctx); ok {
		s = bound
	} else {
		err = fmt.Errorf("agentmemory: no scope: %w", tools.ErrUnbound)
	}
	if err == nil {
		err = k.check(s)
	}
	return s, err
}

// check returns an error for a scope without a user, unless the options permit it.
func (k *Kit) check(s memory.Scope) error {
	if s.User == "" && !k.options.Shared {
		return fmt.Errorf("agentmemory: scope %s: %w", s, extract.ErrNoUser)
	}
	return nil
}

var (
	// unlearned has turns of the thread that no queue had accepted when the step was stored.
	unlearned = state.Last[[]extract.Turn]("memory_unlearned").Internal()
	// Calls of tools that an older version stored have writes to these channels.
	oldSaid = state.Ephemeral[string]("memory_said").Internal()
	oldTurn = state.Ephemeral[int64]("memory_turn").Internal()
	oldRead = state.Ephemeral[bool]("memory_read").Internal()
)

// Middleware returns the middleware that adds the kit to an agent, with its tools. Put it first in
// Options.Use, so that it learns the stored form of replies.
func (k *Kit) Middleware() agent.Middleware {
	m := agent.Middleware{Name: "memory", Tools: k.Tools(), Channels: k.Channels()}
	if k.options.tools() || k.options.Learner != nil {
		m.WrapModel = func(ctx context.Context, c agent.ModelCall, next agent.ModelFunc) (agent.Reply, error) {
			found, off, err := k.prompt(ctx, c.Messages, c.State)
			if err != nil {
				return agent.Reply{}, err
			}
			if off {
				c.Request.Tools = withoutMemory(c.Request.Tools)
			}
			if found != "" {
				c.System = strings.TrimPrefix(c.System+"\n\n"+found, "\n\n")
			}
			return next(ctx, c)
		}
	}
	if k.options.Learner != nil {
		m.AfterModel = func(ctx context.Context, r agent.Run, reply *llm.Message) (state.Update, error) {
			return k.review(ctx, r.Messages, r.State, reply)
		}
	}
	if k.options.tools() {
		m.WrapTool = func(ctx context.Context, c agent.ToolCall, next agent.ToolFunc) (tools.Outcome, error) {
			bound, err := k.bind(c.Messages).Apply(ctx, c.State)
			if errors.Is(err, tools.ErrUnbound) && !slices.Contains(toolNames, c.Call.Name) {
				return next(ctx, c) // a run without memory has other tools
			}
			if err != nil {
				return tools.Outcome{}, err
			}
			return next(bound, c)
		}
	}
	return m
}

// Channels returns the channels that [Kit.Review] needs. Add them to a graph of your own.
func (k *Kit) Channels() (list []state.Handle) {
	if k.options.Learner != nil {
		list = append(list, unlearned)
	}
	if k.options.tools() {
		list = append(list, oldSaid, oldTurn, oldRead)
	}
	return list
}

// Bind returns the bindings that the tools need, for a graph of your own. The node of the tools
// must see the whole state: it is a [tools.Node], or a [tools.CallNode] that graph.SendOver
// schedules.
func (k *Kit) Bind() tools.Bindings { return k.bind(k.options.Messages) }

func (k *Kit) bind(messages *state.KeyedChannel[llm.Message]) tools.Bindings {
	list := tools.Bindings{
		tools.Bind(func(_ context.Context, s state.View) (heard, error) {
			text, turn := last(messages, s, llm.Message.Relayed)
			return heard{text, turn, k.mixed(messages, s)}, nil
		}),
	}
	if k.options.Scope != nil {
		list = append(list, tools.Bind(k.options.Scope))
	}
	return list
}

// heard is the part of the conversation that store_memory and forget_memory need.
type heard struct {
	said  string // the user's words in the turn
	turn  int64
	mixed bool // the model also read words of tools, files or other agents
}

// mixed reports whether the turn has words of a tool, of another agent, or of a file of the user. The tools for facts do
// not count, because their results have only facts that may be in the prompt too. With Options.Unverified, recall_memory
// counts.
func (k *Kit) mixed(messages *state.KeyedChannel[llm.Message], s state.View) (read bool) {
	for _, m := range messages.All(s) {
		switch m.Role {
		case llm.RoleUser:
			read = read || m.Relayed() || slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return p.Type != llm.PartText })
		case llm.RoleTool:
			read = read || m.Name != StoreTool && m.Name != ForgetTool && (m.Name != RecallTool || k.options.Unverified)
		case llm.RoleAssistant:
			read = read && len(m.ToolCalls) > 0
		}
	}
	return read
}

// last returns the user's words since the last answer, and the number of earlier answers. It skips
// the messages for which without returns true.
func last(messages *state.KeyedChannel[llm.Message], s state.View, without func(llm.Message) bool) (text string, turn int64) {
	var parts []string
	for _, m := range messages.All(s) {
		switch {
		case m.Role == llm.RoleUser && (without == nil || !without(m)):
			parts = append(parts, m.Text())
		case m.Role == llm.RoleAssistant && len(m.ToolCalls) == 0:
			parts = nil
			turn++
		}
	}
	return strings.TrimSpace(strings.Join(parts, "\n")), turn
}

// Prepare changes a request, for a graph of your own. It adds facts to the system prompt. In a run
// without memory it removes the tools of memory.
func (k *Kit) Prepare(ctx context.Context, s state.View, r *llm.Request) error {
	found, off, err := k.prompt(ctx, k.options.Messages, s)
	if off {
		r.Tools = withoutMemory(r.Tools)
	}
	if found != "" {
		addToSystem(r, found)
	}
	return err
}

// withoutMemory returns the tools that are not tools of memory.
func withoutMemory(list []llm.ToolSpec) []llm.ToolSpec {
	return slices.DeleteFunc(slices.Clone(list), func(t llm.ToolSpec) bool { return slices.Contains(toolNames, t.Name) })
}

// prompt returns the facts for the system prompt, and whether the run has no memory.
func (k *Kit) prompt(ctx context.Context, messages *state.KeyedChannel[llm.Message], s state.View) (found string, off bool, err error) {
	if !k.options.tools() && k.options.Learner == nil {
		return "", false, nil
	}
	scope, err := k.scope(ctx, s)
	if errors.Is(err, tools.ErrUnbound) {
		if k.options.Scope == nil && !readsResults(messages, s) {
			k.log.WarnContext(ctx, "an agent runs without memory: its context has no scope; call agentmemory.For on the context of each run, or set Options.Scope", "thread", threadOf(ctx))
		}
		return "", true, nil
	}
	if err != nil || k.options.NoPrompt || k.options.Facts == nil {
		return "", false, err
	}
	ask := k.options.Recall
	ask.Reach.Scope = scope
	ask.Text, _ = last(messages, s, nil)
	if ask.Text == "" {
		return "", false, nil
	}
	hits, err := patient(ctx, k, scope, func(ctx context.Context) ([]memory.Hit[memory.Fact], error) {
		return k.options.Facts.Recall(ctx, ask, k.options.Only)
	})
	if err != nil {
		if ctx.Err() != nil {
			return "", false, err
		}
		k.log.WarnContext(ctx, "an agent goes on without what it knows", "scope", scope.String(), "error", err)
		return "", false, nil
	}
	if len(hits) == 0 {
		return "", false, nil
	}
	return FormatFacts(hits), false, nil
}

// readsResults reports whether the last message is a tool result, so that a request is not the first of its turn.
func readsResults(messages *state.KeyedChannel[llm.Message], s state.View) bool {
	last, ok := messages.Last(s)
	return ok && last.Role == llm.RoleTool
}

// addToSystem adds a text to the system prompt, or creates one.
func addToSystem(r *llm.Request, text string) {
	messages := slices.Clone(r.Messages)
	if len(messages) > 0 && messages[0].Role == llm.RoleSystem {
		first := messages[0]
		first.Parts = append(slices.Clone(first.Parts), llm.Text("\n\n"+text))
		messages[0] = first
	} else {
		messages = slices.Insert(messages, 0, llm.System(text))
	}
	r.Messages = messages
}

// Review learns a turn, for a graph of your own with [Kit.Channels]. It passes a turn with its
// answer to the learner before the step is stored. The key of the turn is the same if the step runs
// again. The update has the turns that the queue does not accept, so the step stores them.
func (k *Kit) Review(ctx context.Context, s state.View, reply *llm.Message) (state.Update, error) {
	return k.review(ctx, k.options.Messages, s, reply)
}

func (k *Kit) review(ctx context.Context, messages *state.KeyedChannel[llm.Message], s state.View, reply *llm.Message) (state.Update, error) {
	if k.options.Learner == nil || len(reply.ToolCalls) > 0 {
		return nil, nil
	}
	scope, err := k.scope(ctx, s)
	if err != nil {
		if errors.Is(err, tools.ErrUnbound) {
			return nil, nil
		}
		return nil, err
	}
	t := extract.Turn{Key: graph.IdempotencyKey(ctx), Scope: scope, Shared: k.options.Shared, Assistant: reply.Text(), At: time.Now().UTC()}
	t.User, t.Number = last(messages, s, llm.Message.Relayed)
	t.Conversation = threadOf(ctx)
	before := unlearned.Get(s)
	waiting := before
	if k.options.Learner.Stats().Waiting == 0 { // the queue probably answers
		waiting = k.learn(ctx, before...)
	}
	if t.User != "" && t.Key != "" {
		waiting = append(slices.Clip(waiting), k.learn(ctx, t)...)
	}
	if len(waiting) == 0 && len(before) == 0 {
		return nil, nil
	}
	waiting = waiting[max(0, len(waiting)-maxUnlearned):]
	return state.Update{unlearned.Put(waiting)}, nil
}

// threadOf returns the id of the thread of a node's context, or "".
func threadOf(ctx context.Context) string {
	where, _ := graph.FromContext(ctx)
	return where.Thread
}

// learn passes turns to the learner, and returns the turns that the queue may not have accepted.
func (k *Kit) learn(ctx context.Context, turns ...extract.Turn) []extract.Turn {
	for i, t := range turns {
		if err := k.options.Learner.Learn(ctx, t); err != nil {
			k.log.WarnContext(ctx, "a turn will not be learned", "thread", t.Conversation, "error", err)
			continue
		}
		if k.options.Learner.Stats().Waiting > 0 { // the queue does not answer
			return turns[i:]
		}
	}
	return nil
}
