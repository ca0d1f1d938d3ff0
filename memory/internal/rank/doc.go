// Package rank makes terms of texts and ranks candidates, in the same way for facts, values, messages and
// documents, and for every store.
//
// [Terms] are stored with a text, and are the words of a query. A store returns candidates that have one of
// the terms of a query or a near vector, and the counts for a [Corpus]. [Weights.Score] combines words,
// vectors and neighbours into a score and returns the share of each. [MMR] reduces repetition.
//
// The functions do not change or keep their arguments, and are safe for concurrent use.
package rank
