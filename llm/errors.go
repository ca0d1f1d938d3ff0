package llm

import "errors"

// What the errors of this package wrap. Use [errors.Is]. An error of a model
// itself is passed on as it is.
var (
	// ErrInvalid says that a message or a request can not be used as it is.
	ErrInvalid = errors.New("invalid request")
	// ErrEmpty says that a model's stream ended without an answer.
	ErrEmpty = errors.New("empty reply")
	// ErrMalformed says that what a model streamed is not a message, for
	// example as the arguments of a tool call broke off.
	ErrMalformed = errors.New("malformed reply")
)
