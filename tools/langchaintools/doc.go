// Package langchaintools converts tools of langchaingo to tools of Weft, and tools of Weft
// to tools of langchaingo.
//
//	set, err := tools.NewSet(langchaintools.From(duckduckgo), langchaintools.From(calculator))
//	old, err := langchaintools.To(weather, tools.Options{})
//	agent := agents.NewConversationalAgent(llm, []langchaingo.Tool{old})
//
// Rules:
//
//   - A langchaingo tool takes one text. In Weft, the model gives this text as the
//     argument input.
//   - A tool of Weft takes a JSON object in langchaingo. If the tool has only one
//     argument or only one required argument, and it is a string, the tool also takes
//     plain text.
//   - In both directions, the model gets the failure of a tool as the answer. Agents of
//     langchaingo stop when a tool returns an error, so a converted tool returns an error only
//     if tools.Set.Call returns one: for example if its context is done, or if the call waits
//     for a person.
//   - This package does not import langchaingo, which depends on a Starlark
//     interpreter. It declares an interface with the same methods.
package langchaintools
