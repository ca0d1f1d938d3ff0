// Package rank turns texts into terms and puts candidates into an order, in the same way for facts and
// for knowledge and on every store.
//
// [Terms] are what is stored of a text, and what a query asks for. A store returns candidates that have
// any of the query's terms, or whose vectors are near, and counts for a [Corpus]; [Weights.Score] fuses what
// words and vectors say of each, and of its neighbours, and says which share of a [Score] is whose.
// [MMR] leaves out what says the same again.
//
// Nothing here keeps or changes what it is given, and all of it may be used by any number of
// goroutines at once.
package rank
