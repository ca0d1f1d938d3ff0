// Package langchaintools carries tools over between langchaingo and Weft, both
// ways.
//
//	set, err := tools.NewSet(langchaintools.From(duckduckgo), langchaintools.From(calculator))
//	old, err := langchaintools.To(weather, tools.Options{})
//	agent := agents.NewConversationalAgent(llm, []langchaingo.Tool{old})
//
// What to know:
//
//   - A langchaingo tool takes one text. The model gives it as the argument
//     input.
//   - A tool of Weft made into one of langchaingo takes a JSON object of its
//     arguments; a bare text does if it has one argument that is a text, or one
//     that must be given.
//   - A tool's failure is answered to the model, on both sides. langchaingo's
//     agents end with an error that a tool returns, so that one is for the end of
//     the context and for calls that wait for a person.
//   - langchaingo is not imported: its interface is known by its shape, and
//     brings a Starlark interpreter with it.
package langchaintools
