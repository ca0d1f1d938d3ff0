package memory

import (
	"time"

	"github.com/weft-go/weft/llm"
)

// A Question describes a search for the items that fit a text best. The same question can be used for facts
// ([Memory.Recall]), values ([Namespace.Search]), messages ([Conversations.Search]) and documents (package
// knowledge).
type Question struct {
	// Reach selects the scopes to search. Leave it empty for a search in a [Namespace], which has a scope.
	Reach Reach
	// Text is the question, in any words. An item does not need to have all of them. If the text has more
	// than 8 KB, only its first 4 KB and its last 4 KB are used. If it has more than 64 different words, only
	// the first 32 and the last 32 are used.
	Text string
	// Embedding is the vector of the text. If it is nil, the embedder computes it.
	Embedding []float32
	// Limit is the maximum number of hits, at most 1000. Zero means 20.
	Limit int
	// MaxTokens is the maximum number of tokens of all hits together. Zero means no maximum. An item that
	// does not fit is skipped.
	MaxTokens int
	// MinSimilarity leaves out items whose [Score.Similarity] is less, and items without a vector. The value
	// that separates answers from other texts depends on the embedder: measure it with your own texts. Zero
	// leaves out nothing. Without an embedder, any other value is [ErrInvalid].
	MinSimilarity float64
	// Diversity is between 0 and 1. A higher value lowers the rank of items that are similar to a better item
	// (maximal marginal relevance, Carbonell and Goldstein 1998).
	Diversity float64
}

// A FactFilter restricts the facts that [Memory.Recall] finds. The zero value selects the trusted facts that
// are valid now.
type FactFilter struct {
	// Kinds keeps the facts of these kinds. Nil means all.
	Kinds []Kind
	// Conversation keeps the facts of one conversation. Empty means all.
	Conversation string
	// Where keeps the facts whose metadata meet all conditions.
	Where []Condition
	// Untrusted includes facts that are [Untrusted].
	Untrusted bool
	// AsOf selects facts that were valid at this time. Zero means now.
	AsOf time.Time
}

// Validate returns [ErrInvalid] for an invalid filter.
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
	// Own keeps only the values of the namespace itself, and leaves out the values of namespaces within it.
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
	// Session keeps the messages of the session with this ID. Prefix keeps the messages of sessions whose ID
	// begins with it.
	Session, Prefix string
	// Where keeps the messages of sessions whose metadata meet all conditions.
	Where []Condition
	// Roles keeps the messages with these roles. Nil means the user and the assistant.
	Roles []llm.Role
	// Since keeps messages that were stored at this time or later, and Before keeps messages that were stored
	// earlier than this time. Zero means any time.
	Since, Before time.Time
}

func (f MessageFilter) query(q Question) SessionQuery {
	return SessionQuery{Reach: q.Reach, ID: f.Session, Prefix: f.Prefix, Where: f.Where, Limit: q.Limit}
}
