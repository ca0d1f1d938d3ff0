// Package search has the common steps of searches for facts, values, messages and documents: it checks a
// question, computes its terms and its vector, and chooses the hits among ranked candidates.
package search
