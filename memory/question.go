package memory

import (
	"time"

	"github.com/weft-go/weft/llm"
)

// A Question asks for the items that fit a text best. The same question can be asked of facts
// ([Memory.Recall]), values ([Namespace.Search]), messages ([Conversations.Search]) and documents (package
// knowledge).
type Question struct {
	// Reach says in which scopes to look. A [Namespace] has its scope: its searches need no Reach.
	Reach Reach
	// Text is the question, in any words. An item does not need to have all of them. If the text has more
	// than 8 KB, its first 4 KB and its last 4 KB count. If it has more than 64 different words, the first 32
	// and the last 32 count.
	Text string
	// Embedding is the vector of the text. If it is nil, the embedder makes it.
	Embedding []float32
	// Limit is the maximum number of hits, at most 1000. Zero means 20.
	Limit int
	// MaxTokens is the maximum number of tokens of all hits together. Zero means no maximum. An item that
	// does not fit is skipped.
	MaxTokens int
	// MinSimilarity leaves out items whose [Score.Similarity] is less, and items without a vector. The value
	// that separates answers from other texts depends on the embedder: measure it with texts of your own.
	// Zero leaves out nothing. Without an embedder, any other value is [ErrInvalid].
	MinSimilarity float64
	// Diversity is between 0 and 1. The higher it is, the less an item counts that repeats a better one
	// (maximal marginal relevance, Carbonell and Goldstein 1998).
	Diversity float64
}

// A FactFilter restricts the facts that [Memory.Recall] finds. The zero value stands for the trusted facts
// that hold now.
type FactFilter struct {
	// Kinds keeps the facts of these kinds. Nil means all.
	Kinds []Kind
	// Conversation keeps the facts of one conversation. Empty means all.
	Conversation string
	// Where keeps the facts whose metadata meet all conditions.
	Where []Condition
	// Untrusted includes facts that are [Untrusted].
	Untrusted bool
	// AsOf is the time at which the facts hold. Zero means now.
	AsOf time.Time
}

// Validate returns [ErrInvalid] for a filter that no search accepts.
func (f FactFilter) Validate() error {
	q := f.query(Question{})
	return q.Validate()
}

func (f FactFilter) query(q Question) FactQuery {
	return FactQuery{
		Reach: q.Reach, Limit: q.Limit,
		Kinds: f.Kinds, Conversation: f.Conversation, Where: f.Where, Untrusted: f.Untrusted, AsOf: f.AsOf,
	}
}

// A ValueFilter restricts the values that [Namespace.Search] finds.
type ValueFilter struct {
	// Own keeps the values of the namespace itself, without those of namespaces within it.
	Own bool
	// KeyPrefix keeps the values whose key begins with it.
	KeyPrefix string
	// Where keeps the values that meet all conditions.
	Where []Condition
	// Peek does not restart the TTL of the values that are found.
	Peek bool
}

func (f ValueFilter) query(limit int) ValueQuery {
	return ValueQuery{Own: f.Own, KeyPrefix: f.KeyPrefix, Where: f.Where, Peek: f.Peek, Limit: limit}
}

// A MessageFilter restricts the messages that [Conversations.Search] finds.
type MessageFilter struct {
	// Session keeps the messages of one session, and Prefix those of sessions whose ID begins with it.
	Session, Prefix string
	// Where keeps the messages of sessions whose metadata meet all conditions.
	Where []Condition
	// Roles keeps the messages with these roles. Nil means the user and the assistant.
	Roles []llm.Role
	// Since and Before keep the messages stored from a time on, and before a time. Zero means any time.
	Since, Before time.Time
}

func (f MessageFilter) query(q Question) SessionQuery {
	return SessionQuery{Reach: q.Reach, ID: f.Session, Prefix: f.Prefix, Where: f.Where, Limit: q.Limit}
}
