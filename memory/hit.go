package memory

// A Hit is an item that a search found: a fact, a value, a message or a passage of a document.
type Hit[T any] struct {
	Item  T
	Score Score
}

// A Score says how well an item fits a question, and why.
type Score struct {
	// Rank is the place of the item among the hits, from 1.
	Rank int `json:"rank"`
	// Similarity is the cosine of the vectors of the item and the question, between -1 and 1. It is
	// comparable between all searches with one embedder. It is zero if one of them has no vector.
	Similarity float64 `json:"similarity,omitempty"`
	// BM25 scores the words that the item and the question have in common. It is zero if there are none. It is
	// comparable within one search.
	BM25 float64 `json:"bm25,omitempty"`
	// Total decides the order. It is between 0 and 1, and the sum of the next five fields. It is
	// comparable within one search.
	Total      float64 `json:"total"`
	Keyword    float64 `json:"keyword,omitempty"`    // from BM25
	Vector     float64 `json:"vector,omitempty"`     // from Similarity
	Neighbour  float64 `json:"neighbour,omitempty"`  // from the items before and after it
	Recency    float64 `json:"recency,omitempty"`    // from its age
	Importance float64 `json:"importance,omitempty"` // from its importance
	// Reranked is the score of the [Reranker]. If it is not nil, it decides the order.
	Reranked *float64 `json:"reranked,omitempty"`
}
