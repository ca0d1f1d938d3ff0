// Package search has the steps that the searches of facts, values, messages and documents share: it checks
// a question, makes its terms and its vector, and chooses the hits among ranked candidates.
package search
