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
	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/extract"
	"github.com/weft-go/weft/memory/profile"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// Options configures [New]. Its zero value does nothing.
type Options struct {
	// Facts are what is known: recalled into the prompt, and by the tools
	// store_memory and recall_memory.
	Facts *memory.Memory
	// Learner learns each turn after it.
	Learner *extract.Learner
	// Knowledge is what the tool search_knowledge_base looks in.
	Knowledge *knowledge.Base
	// Search says what that tool finds: its Query without the scope, its limits. A MaxTokens
	// of zero stands for 2,000 here.
	Search knowledge.Question
	// Profiles are what the tool get_user_context tells of the user.
	Profiles *profile.Profiles
	// Scope says whose memory a run has. Nil stands for what [For] said. No scope, which
	// is an error that wraps [tools.ErrUnbound], means no memory in this run.
	Scope func(ctx context.Context) (memory.Scope, error)
	// Recall says what is recalled into the prompt: its Query without the scope, its limits.
	// A Limit of zero stands for 8 here, and MaxTokens of zero for 1,000.
	Recall memory.Recall
	// Shared says that a scope without a user is meant: what is stored there is known to all who have
	// it. Unless it is set, a run in such a scope fails with [extract.ErrNoUser].
	Shared bool
	// Stated says that what store_memory stores counts as [memory.Stated], and not as
	// [memory.Inferred].
	Stated bool
	// Confirm is asked before store_memory stores a fact in a turn in which something else than the
	// user spoke before: a tool answered, or the user gave a file. It may wait on an interrupt:
	//
	//	var Keep = graph.NewInterrupt[string, bool]("keep_fact")
	//
	//	func(ctx context.Context, f memory.Fact) (bool, error) {
	//		return Keep.WaitKey(ctx, f.Content, f.Content)
	//	}
	//
	// Nil stands for storing it as [memory.Untrusted], which recall leaves out: the user has to say it
	// once more.
	Confirm func(ctx context.Context, f memory.Fact) (bool, error)
	// Patience is how long a turn waits for what is recalled into its prompt, or for a tool; then it
	// goes on without. What does not return even then is waited for no more in its scope, until it
	// does. Zero stands for 2 s.
	Patience time.Duration
	// NoPrompt leaves the prompt alone: the model has to use the tool.
	NoPrompt bool
	// Messages is the channel of the conversation. Nil means [agent.Messages].
	Messages *state.KeyedChannel[llm.Message]
	// Logger is told when a memory failed. Nil means silence.
	Logger *slog.Logger
}

// tools reports whether a model has tools for what is set.
func (o *Options) tools() bool { return o.Facts != nil || o.Knowledge != nil || o.Profiles != nil }

// A Kit is what gives an agent its memory. It is safe for use by any number of
// goroutines.
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
	if err := o.Recall.Query.Validate(); err != nil {
		return nil, fmt.Errorf("agentmemory: new: recall: %w", err)
	}
	if o.Recall.Query.Scope != (memory.Scope{}) || o.Recall.Text != "" {
		return nil, fmt.Errorf("agentmemory: new: the scope and the text to recall by come from the run: %w", memory.ErrInvalid)
	}
	if o.Search.Query.Scope != (memory.Scope{}) || o.Search.Text != "" {
		return nil, fmt.Errorf("agentmemory: new: the scope and the text to search for come from the run: %w", memory.ErrInvalid)
	}
	if o.Recall.Query.AnyUser || o.Search.Query.AnyUser {
		return nil, fmt.Errorf("agentmemory: new: an agent does not recall what all users said: %w", memory.ErrInvalid)
	}
	o.Patience = cmp.Or(max(o.Patience, 0), defaultPatience)
	o.Recall.Query.Limit = cmp.Or(o.Recall.Query.Limit, defaultRecalled)
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

// For returns a context for runs that have the memory of a scope. It has to have a user, see
// [Options.Shared].
func For(ctx context.Context, s memory.Scope) context.Context { return tools.WithBound(ctx, s) }

func (k *Kit) scope(ctx context.Context) (s memory.Scope, err error) {
	if k.options.Scope != nil {
		s, err = k.options.Scope(ctx)
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

// check refuses a scope of nobody, unless that is meant.
func (k *Kit) check(s memory.Scope) error {
	if s.User == "" && !k.options.Shared {
		return fmt.Errorf("agentmemory: scope %s: %w", s, extract.ErrNoUser)
	}
	return nil
}

var (
	// said is what the user said in this turn, and read whether something else spoke since, for a tool that
	// has to know.
	said = state.Ephemeral[string]("memory_said")
	read = state.Ephemeral[bool]("memory_read")
	// unlearned are turns of the thread that no queue had when their step was stored.
	unlearned = state.Last[[]extract.Turn]("memory_unlearned")
)

// Extend returns an agent's options with the memory added: what they do already is done
// first.
func (k *Kit) Extend(o agent.Options) agent.Options {
	prepare, review, pass := o.Prepare, o.Review, o.Pass
	o.Messages = cmp.Or(o.Messages, k.options.Messages)
	o.Prepare = func(ctx context.Context, s state.View, r *llm.Request) error {
		if prepare != nil {
			if err := prepare(ctx, s, r); err != nil {
				return err
			}
		}
		return k.Prepare(ctx, s, r)
	}
	o.Channels = append(slices.Clip(o.Channels), k.Channels()...)
	if k.options.Learner != nil {
		o.Review = k.after(review)
	}
	if !k.options.tools() {
		return o
	}
	o.Pass = func(s state.View) (u state.Update) {
		if pass != nil {
			u = pass(s)
		}
		return append(u, k.Pass(s)...)
	}
	o.Tools.Bind = append(slices.Clip(o.Tools.Bind), k.Bind()...)
	return o
}

// Channels are those that [Kit.Review], [Kit.Pass] and [Kit.Bind] need: a graph that is not made by
// [Kit.Extend] has them among its own.
func (k *Kit) Channels() (list []state.Handle) {
	if k.options.Learner != nil {
		list = append(list, unlearned)
	}
	if k.options.tools() {
		list = append(list, said, read)
	}
	return list
}

// Pass is an [agent.Options].Pass, for agents that are not made by [Kit.Extend]: what the
// tools have to know of the conversation.
func (k *Kit) Pass(s state.View) state.Update {
	text, _ := k.last(s, llm.Message.Relayed)
	return state.Update{said.Put(tail(text)), read.Put(k.others(s))}
}

// Bind gives the tools what they need of the run, for agents that are not made by [Kit.Extend].
// Their node sees what [Kit.Pass] returned, or all the state.
func (k *Kit) Bind() []tools.Binding {
	list := []tools.Binding{
		tools.Bind(func(_ context.Context, s state.View) (heard, error) { return heard{said.Get(s), read.Get(s)}, nil }),
	}
	if k.options.Scope != nil {
		list = append(list, tools.Bind(func(ctx context.Context, _ state.View) (memory.Scope, error) { return k.options.Scope(ctx) }))
	}
	return list
}

// after returns a review that takes a turn to be learned, behind another.
func (k *Kit) after(review func(context.Context, state.View, *llm.Message) (state.Update, error)) func(context.Context, state.View, *llm.Message) (state.Update, error) {
	return func(ctx context.Context, s state.View, reply *llm.Message) (u state.Update, err error) {
		if review != nil {
			if u, err = review(ctx, s, reply); err != nil {
				return nil, err
			}
		}
		more, err := k.Review(ctx, s, reply)
		return append(u, more...), err
	}
}

// heard is what a tool has to know of the turn.
type heard struct {
	said string // by the user
	read bool   // something else spoke as well
}

const maxWords = 64 << 10

// tail returns the end of a text, from where something begins.
func tail(text string) string {
	if len(text) <= maxWords {
		return text
	}
	text = text[len(text)-maxWords:]
	if at := strings.IndexAny(text, "\n.!?"); at >= 0 {
		text = text[at+1:]
	}
	return strings.ToValidUTF8(text, "")
}

// others reports whether something else than the user's words came into the turn: the answer of a tool or of
// another agent, or a file that the user gave.
func (k *Kit) others(s state.View) (read bool) {
	for _, m := range k.options.Messages.All(s) {
		switch m.Role {
		case llm.RoleUser:
			read = read || m.Relayed() || slices.ContainsFunc(m.Parts, func(p llm.Part) bool { return p.Type != llm.PartText })
		case llm.RoleTool:
			read = read || m.Name != StoreTool
		case llm.RoleAssistant:
			read = read && len(m.ToolCalls) > 0
		}
	}
	return read
}

// last returns what the user said since the last answer, without what is not the user's, and how many answers there
// were.
func (k *Kit) last(s state.View, without func(llm.Message) bool) (text string, turn int64) {
	var parts []string
	for _, m := range k.options.Messages.All(s) {
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

// Prepare puts what is known into a request, and takes the tools of a memory out of it
// where the run has none: it is an [agent.Options].Prepare, for agents
// that are not made by [Kit.Extend].
func (k *Kit) Prepare(ctx context.Context, s state.View, r *llm.Request) error {
	if !k.options.tools() && k.options.Learner == nil {
		return nil
	}
	scope, err := k.scope(ctx)
	if errors.Is(err, tools.ErrUnbound) { // a run without a memory has no tools for it
		r.Tools = slices.DeleteFunc(slices.Clone(r.Tools), func(t llm.ToolSpec) bool { return slices.Contains(toolNames, t.Name) })
		return nil
	}
	if err != nil || k.options.NoPrompt || k.options.Facts == nil {
		return err
	}
	ask := k.options.Recall
	ask.Query.Scope = scope
	ask.Text, _ = k.last(s, nil)
	if ask.Text == "" {
		return nil
	}
	found, err := patient(ctx, k, scope, func(ctx context.Context) ([]memory.Found, error) { return k.options.Facts.Recall(ctx, ask) })
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		k.log.WarnContext(ctx, "an agent goes on without what it knows", "scope", scope.String(), "error", err)
		return nil
	}
	if len(found) > 0 {
		tell(r, Told(found))
	}
	return nil
}

// tell adds a text to the system prompt, or makes one of it.
func tell(r *llm.Request, text string) {
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

// Review takes a turn to be learned once it has its answer: it is an [agent.Options].Review,
// for agents that are not made by [Kit.Extend], and whose graph has [Kit.Channels]. A durable queue has the turn
// before the step is stored, by a key that is the same if the step runs again. What no queue has yet is in the update,
// and stored with the step.
func (k *Kit) Review(ctx context.Context, s state.View, reply *llm.Message) (state.Update, error) {
	if k.options.Learner == nil || len(reply.ToolCalls) > 0 {
		return nil, nil
	}
	scope, err := k.scope(ctx)
	if err != nil {
		if errors.Is(err, tools.ErrUnbound) {
			return nil, nil
		}
		return nil, err
	}
	turn := extract.Turn{Key: graph.IdempotencyKey(ctx), Scope: scope, Shared: k.options.Shared, Assistant: reply.Text(), At: time.Now().UTC()}
	turn.User, turn.Number = k.last(s, llm.Message.Relayed)
	if where, ok := graph.FromContext(ctx); ok {
		turn.Conversation = where.Thread
	}
	before := unlearned.Get(s)
	waiting := before
	if k.options.Learner.Stats().Waiting == 0 { // the queue answers, as far as is known
		waiting = k.learn(ctx, before...)
	}
	if turn.User != "" && turn.Key != "" {
		waiting = append(slices.Clip(waiting), k.learn(ctx, turn)...)
	}
	if len(waiting) == 0 && len(before) == 0 {
		return nil, nil
	}
	waiting = waiting[max(0, len(waiting)-maxUnlearned):]
	return state.Update{unlearned.Put(waiting)}, nil
}

// learn gives turns to the learner, and returns those that may be in no queue yet.
func (k *Kit) learn(ctx context.Context, turns ...extract.Turn) []extract.Turn {
	for i, t := range turns {
		if err := k.options.Learner.Learn(ctx, t); err != nil {
			k.log.WarnContext(ctx, "a turn will not be learned", "thread", t.Conversation, "error", err)
			continue
		}
		if k.options.Learner.Stats().Waiting > 0 { // and so would the rest
			return turns[i:]
		}
	}
	return nil
}
