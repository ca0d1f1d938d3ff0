// Package wire translates between package llm and the APIs of providers: OpenAI's chat
// completions, Anthropic's messages and Gemini's generateContent.
//
// A langchaingo library opens the connection, authenticates, and sends the settings of a
// request. [RoundTrip] then writes the conversation in the API's form, reads the reply, and
// passes it chunk by chunk to the [Call] in the request's context. The library gets a stub
// instead of the reply.
//
// A request without a Call passes unchanged, and so does a request that is not in the Dialect of
// its Call. In the latter case, RoundTrip records only the status and the wait of the reply, and
// an error of the connection.
package wire
