package llm

import "slices"

// The defaults of a [Pruning].
const (
	DefaultMaxTokens   = 4000
	DefaultMinMessages = 4
)

// A Pruning has the settings of [Prune]. The zero value is ready to use.
type Pruning struct {
	// MaxTokens is the budget of tokens. Zero means [DefaultMaxTokens].
	MaxTokens int
	// MinMessages is the number of newest messages that are always kept. Zero means
	// [DefaultMinMessages], a negative number means none.
	MinMessages int
	// DropSystem treats system messages like other messages. Without it, they are always kept.
	DropSystem bool
	// FromUser makes the kept messages begin with a message of the user, apart from system
	// messages, because some providers require that. If necessary, Prune keeps the newest
	// message of the user before the other kept messages, so that a long sequence of tool
	// calls keeps its question.
	FromUser bool
	// Counter counts tokens. Nil means [EstimateTokens]. A counter that returns 1 for each
	// message makes MaxTokens a number of messages; set MinMessages to a negative number then. [Summarise] needs a
	// counter of tokens.
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

// Prune returns the messages of a conversation that fit a budget of tokens, in their order.
// It does not change messages, and returns messages itself if they fit or if there are no
// more than p.MinMessages.
//
// Otherwise it keeps the system messages and the last p.MinMessages messages. It then goes back
// from these, and keeps messages until the first one that does not fit in the rest of the budget.
// The result exceeds the budget if the system messages and the last messages exceed it.
//
// A tool call and its results are kept or dropped together: if the last messages begin with a
// result, Prune also keeps its call and the messages between them. A result without a call is
// dropped.
//
// To prune a channel of a graph:
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

// A cut is an index in a conversation. Prune keeps the messages from this index on, and the pinned ones before it.
type cut struct {
	Pruning
	messages []Message
	costs    []int // the tokens of each message
	total    int   // the sum of costs
	calls    []int // for each message, the result of callsOf
	first    []int // for each index, the smallest message index in calls from there on
	at       int   // the index of the first message that is kept
	question int   // with FromUser: the index of a message that is kept in any case, or -1
	left     int   // the tokens that are left of the budget
}

// newCut returns the cut that keeps the fewest messages. If there are no more than
// p.MinMessages messages, it has no costs.
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
		c.question = c.at // before this message, extend may move the cut only to a message of the user
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

// needed reports whether messages must be dropped.
func (c *cut) needed() bool { return c.total > c.MaxTokens && len(c.costs) > 0 }

// pinned reports whether a message is kept even if it is before the cut.
func (c *cut) pinned(i int) bool { return c.system(i) || i == c.question }

func (c *cut) system(i int) bool { return c.messages[i].Role == RoleSystem && !c.DropSystem }

// cost returns the number of tokens that a kept message uses.
func (c *cut) cost(i int) int {
	if c.calls[i] < 0 {
		return 0 // a result without a call is dropped
	}
	return c.costs[i]
}

// extend moves the cut back as far as the budget permits.
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

// parts reports whether a cut at i would separate a result from its call.
func (c *cut) parts(i int) bool { return i < len(c.first) && c.first[i] < i }

// fromUser reports whether the first message from i on, apart from kept system messages, is a
// message of the user. It returns true if there is no such message.
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

// kept returns the messages that are kept.
func (c *cut) kept() []Message {
	var kept []Message
	for i, m := range c.messages {
		if c.calls[i] >= 0 && (i >= c.at || c.pinned(i)) {
			kept = append(kept, m)
		}
	}
	return kept
}

// dropped returns the messages before the cut that are not pinned.
func (c *cut) dropped() []Message {
	var dropped []Message
	for i, m := range c.messages[:c.at] {
		if !c.pinned(i) {
			dropped = append(dropped, m)
		}
	}
	return dropped
}

// callsOf returns, for each tool result, the index of the nearest earlier message with its
// call, or -1. For any other message it returns the index of the message itself.
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
