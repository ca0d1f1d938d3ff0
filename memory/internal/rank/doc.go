// Package rank computes the terms of texts and ranks candidates, in the same way for facts, values,
// messages and documents, and for every store.
//
// [Terms] returns the terms of a text. A store keeps these terms with the text. For a query, it returns
// candidates that have a term of the query or a near vector, and the counts for a [Corpus].
// [Weights.Score] combines words, vectors and neighbours into a score and returns the share of each. [MMR]
// reduces repetition.
//
// The functions do not change or keep their arguments, and are safe for concurrent use.
package rank
