// Package wire stands between a langchaingo provider and the provider's API.
//
// It reads what the library asks and what the API answers, in the three forms
// that are spoken: OpenAI's chat completions, Anthropic's messages and Gemini's
// generateContent. In a request it puts back what the library drops and takes
// out what it makes up. In a reply it keeps what the library forgets (the
// status, why the reply ended, whether it did, what it cost), and brings what
// the library reads wrongly into a form that it reads well.
//
// A request whose context holds no [Call], or whose form is none of the three,
// passes as it is.
package wire
