package memory

// A Hit is what a search found: a fact, a value, a message or a passage of a document.
type Hit[T any] struct {
	Item  T
	Score Score
}

// A Score says how well something fits a text, and why.
type Score struct {
	// Rank is its place in what was found, from 1.
	Rank int `json:"rank"`
	// Similarity is the cosine of its vector and that of the text, between -1 and 1. It means the same in every
	// search with one embedder. It is zero without an embedder, and where there is no vector yet.
	Similarity float64 `json:"similarity,omitempty"`
	// BM25 is how well it fits by its words: 0 if it has none of the text's words. It can be compared with that
	// of other facts of one search, and of searches for one text while little is stored.
	BM25 float64 `json:"bm25,omitempty"`
	// Total is what the order follows from, between 0 and 1, and the other fields are the shares in it, which add
	// up to it. They compare what one search found, and say nothing about another search.
	Total      float64 `json:"total"`
	Keyword    float64 `json:"keyword,omitempty"`    // by its words: BM25
	Vector     float64 `json:"vector,omitempty"`     // by its meaning: cosine
	Neighbour  float64 `json:"neighbour,omitempty"`  // by the turns beside it
	Recency    float64 `json:"recency,omitempty"`    // by its age
	Importance float64 `json:"importance,omitempty"` // by its own
	// Reranked is what the [Reranker] said, which then decides the order.
	Reranked *float64 `json:"reranked,omitempty"`

	compared bool // there was a vector to compare
}
