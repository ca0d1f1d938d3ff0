// Package llmtest provides models for tests. They need no network and no key.
//
// A [Script] plays the replies that it is given, and [Echo] repeats the user:
//
//	model := llmtest.NewScript(
//		llmtest.Call("weather", `{"city":"Athens"}`),
//		llmtest.Say("It is sunny in Athens."),
//	)
//
// A [Reply] can have a delay, a usage and reasoning, interleave the pieces of several tool calls,
// break off, or stream chunks that only a faulty model would.
//
// A [Recording] replays the replies that another model gave once.
//
// All these models stream in small pieces, as real models do, and are safe for concurrent use.
package llmtest
