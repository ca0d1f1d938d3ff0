package llm

import "slices"

// The defaults of a [Pruning].
const (
	DefaultMaxTokens   = 4000
	DefaultMinMessages = 4
)

// A Pruning says how [Prune] shortens a conversation. Its zero value works.
type Pruning struct {
	// MaxTokens is the budget. Zero means [DefaultMaxTokens].
	MaxTokens int
	// MinMessages are the newest messages, which are kept whatever they cost.
	// Zero means [DefaultMinMessages], a negative number none.
	MinMessages int
	// DropSystem treats system messages like any other. They are kept
	// otherwise.
	DropSystem bool
	// FromUser makes what is kept, system messages aside, begin with a message
	// of the user, as some providers ask: with the newest before the rest where
	// need be, so that a long run of tool calls keeps the question it is about.
	FromUser bool
	// Counter counts tokens. Nil means [EstimateTokens].
	Counter TokenCounter
}

func (p Pruning) withDefaults() Pruning {
	if p.MaxTokens == 0 {
		p.MaxTokens = DefaultMaxTokens
	}
	if p.MinMessages == 0 {
		p.MinMessages = DefaultMinMessages
	}
	p.MinMessages = max(p.MinMessages, 0)
	if p.Counter == nil {
		p.Counter = TokenCounterFunc(EstimateTokens)
	}
	return p
}

// Prune returns the messages of a conversation that fit a budget of tokens, in
// their order. It changes nothing, and returns messages itself when they fit or
// are no more than p.MinMessages.
//
// Else it keeps the system messages, the last p.MinMessages, and of those
// before them as many as fit in what the budget leaves: from the newest back to
// the first that does not fit. The result is over the budget when the system
// messages and the last ones alone are.
//
// A tool call and its results are kept or dropped together: where the last
// messages begin with a result, they reach back to its call. A result whose call
// is not there at all is dropped.
//
// For a channel of a graph, set it as the pruner:
//
//	var Messages = state.Keyed("messages", llm.ByID).Prune(func(m []llm.Message) []llm.Message {
//		return llm.Prune(m, llm.Pruning{MaxTokens: 8000})
//	})
func Prune(messages []Message, p Pruning) []Message {
	c := newCut(messages, p.withDefaults())
	if !c.needed() {
		return messages
	}
	c.extend()
	return c.kept()
}

// A cut divides a conversation into what is older and what is kept.
type cut struct {
	Pruning
	messages []Message
	costs    []int
	total    int
	calls    []int // of a result the index of its call; -1 for none; of others their own
	first    []int // of each place the first of the calls from there on
	at       int   // what stands from here on is kept
	question int   // a message of the user that is kept, and none before it unless that begins so too; -1 for none
	left     int   // of the budget
}

// newCut makes the cut that keeps no more than it has to.
func newCut(messages []Message, p Pruning) *cut {
	c := &cut{Pruning: p, messages: messages, question: -1}
	if len(messages) <= p.MinMessages {
		return c
	}
	for _, m := range messages {
		cost := p.Counter.CountTokens(m)
		c.costs = append(c.costs, cost)
		c.total += cost
	}
	c.calls = callsOf(messages)
	c.first = slices.Clone(c.calls)
	for i := len(messages) - 1; i >= 0; i-- {
		if c.first[i] < 0 {
			c.first[i] = i
		}
		if i+1 < len(messages) {
			c.first[i] = min(c.first[i], c.first[i+1])
		}
	}
	for c.at = len(messages) - p.MinMessages; c.parts(c.at); c.at-- {
	}
	switch {
	case p.FromUser && c.fromUser(c.at):
		c.question = c.at // what is before it has to begin so too
	case p.FromUser:
		c.question = lastOfUser(messages[:c.at])
	}
	c.left = p.MaxTokens
	for i := range messages {
		if i >= c.at || c.pinned(i) {
			c.left -= c.cost(i)
		}
	}
	return c
}

// needed says that there is something to drop.
func (c *cut) needed() bool { return c.total > c.MaxTokens && len(c.costs) > 0 }

// pinned says that a message is kept wherever the cut is.
func (c *cut) pinned(i int) bool { return c.system(i) || i == c.question }

func (c *cut) system(i int) bool { return c.messages[i].Role == RoleSystem && !c.DropSystem }

// cost is what keeping a message costs.
func (c *cut) cost(i int) int {
	if c.calls[i] < 0 {
		return 0 // it is not kept
	}
	return c.costs[i]
}

// extend moves the cut back as far as the budget goes.
func (c *cut) extend() {
	cost := 0
	for i := c.at - 1; i >= 0; i-- {
		if !c.pinned(i) {
			cost += c.cost(i)
		}
		if cost > c.left {
			return
		}
		if c.parts(i) || c.FromUser && i <= c.question && !c.fromUser(i) {
			continue
		}
		c.at, c.left, cost = i, c.left-cost, 0
	}
}

// parts says that a result at or after i answers a call before it.
func (c *cut) parts(i int) bool { return i < len(c.first) && c.first[i] < i }

// fromUser says that the first message from i on, but for those of the system,
// is the user's, or that there is none.
func (c *cut) fromUser(i int) bool {
	for ; i < len(c.messages); i++ {
		if !c.system(i) {
			return c.messages[i].Role == RoleUser
		}
	}
	return true
}

func lastOfUser(messages []Message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == RoleUser {
			return i
		}
	}
	return -1
}

// kept returns the messages on the near side of the cut.
func (c *cut) kept() []Message {
	var kept []Message
	for i, m := range c.messages {
		if c.calls[i] >= 0 && (i >= c.at || c.pinned(i)) {
			kept = append(kept, m)
		}
	}
	return kept
}

// dropped returns the others.
func (c *cut) dropped() []Message {
	var dropped []Message
	for i, m := range c.messages[:c.at] {
		if !c.pinned(i) {
			dropped = append(dropped, m)
		}
	}
	return dropped
}

// callsOf finds the call of each result: the nearest before it with its id.
func callsOf(messages []Message) []int {
	made := map[string]int{}
	calls := make([]int, len(messages))
	for i, m := range messages {
		calls[i] = i
		if m.Role == RoleTool {
			at, ok := made[m.ToolCallID]
			if !ok {
				at = -1
			}
			calls[i] = at
		}
		for _, call := range m.ToolCalls {
			made[call.ID] = i
		}
	}
	return calls
}
