// Package llmtest holds models for tests: a [Script] plays the replies that it
// is given, and [Echo] repeats the user. Neither needs a network or a key.
//
//	model := llmtest.NewScript(
//		llmtest.Call("weather", `{"city":"Athens"}`),
//		llmtest.Say("It is sunny in Athens."),
//	)
//
// A [Reply] may also take its time, cost tokens, think aloud, mix the pieces of
// several tool calls, break off, or stream what only a broken model would.
//
// Both stream in small pieces, as real models do, and may be used by any number
// of goroutines.
package llmtest
