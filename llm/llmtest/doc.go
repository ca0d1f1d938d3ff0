// Package llmtest provides models and an embedder for tests. They need no network and no key.
//
// A [Script] plays given replies, and [Echo] repeats the message of the user:
//
//	model := llmtest.NewScript(
//		llmtest.Call("weather", `{"city":"Athens"}`),
//		llmtest.Say("It is sunny in Athens."),
//	)
//
// A [Reply] can have a delay, a usage and reasoning. It can interleave the pieces of several tool
// calls, break off, or stream faulty chunks.
//
// A [Recording] replays recorded replies of another model.
//
// An [Embedder] makes vectors of texts, for package memory.
//
// All these models stream in small pieces, as real models do, and are safe for concurrent use.
package llmtest
