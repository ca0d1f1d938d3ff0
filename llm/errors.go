package llm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

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

// The kinds of an [Error]: what can be wrong with a call of a provider. A call
// that was cancelled wraps ctx.Err() and is of no kind.
var (
	// ErrRateLimit says that one has asked too often. Worth retrying, after
	// [Error.RetryAfter] when that is known.
	ErrRateLimit = errors.New("rate limit")
	// ErrOverloaded says that the provider has too much to do, or failed. Worth
	// retrying.
	ErrOverloaded = errors.New("provider overloaded")
	// ErrTransport says that the connection failed, timed out or broke off.
	// Worth retrying.
	ErrTransport = errors.New("connection failed")
	// ErrAuth says that the key is missing or wrong, may not do this, or has no
	// credit left.
	ErrAuth = errors.New("not allowed")
	// ErrBadRequest says that the provider does not take what it was asked, or
	// knows no such model.
	ErrBadRequest = errors.New("bad request")
	// ErrContextTooLong says that the conversation is longer than the model
	// takes. [Prune] makes it shorter.
	ErrContextTooLong = errors.New("context too long")
	// ErrContentFilter says that the provider refuses to answer this.
	ErrContentFilter = errors.New("content filter")
)

// An Error is what a provider, or the way to it, failed with. Use [errors.As] for
// its facts, and [errors.Is] with one of the kinds, such as [ErrRateLimit].
type Error struct {
	// Kind is one of the kinds above, or nil when it is not known.
	Kind error
	// Provider is whose error it is, such as "openai".
	Provider string
	// Status is that of HTTP, or zero.
	Status int
	// Code is the provider's own, such as "context_length_exceeded".
	Code string
	// Message is what the provider said.
	Message string
	// RetryAfter is how long the provider asks to wait. Zero means that it did
	// not say.
	RetryAfter time.Duration
	// Err is the cause, or nil.
	Err error
}

// Error describes the error in one line. Of what the provider said it has no
// more than 2000 bytes, as some answer with a whole page; Message has it all.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("llm: ")
	if e.Provider != "" {
		b.WriteString(e.Provider + ": ")
	}
	if e.Kind != nil {
		b.WriteString(e.Kind.Error())
	} else {
		b.WriteString("failed")
	}
	if e.Status != 0 {
		fmt.Fprintf(&b, " (status %d)", e.Status)
	}
	said := []string{e.Code, e.Message}
	if e.Err != nil && e.Err.Error() != e.Message {
		said = append(said, e.Err.Error())
	}
	for _, text := range said {
		if text != "" {
			b.WriteString(": " + oneLine(text))
		}
	}
	return b.String()
}

// maxSaid is how much of a provider's text an error prints.
const maxSaid = 2000

func oneLine(text string) string {
	cut := len(text) > maxSaid
	if cut {
		text = strings.ToValidUTF8(text[:maxSaid], "")
	}
	if strings.ContainsAny(text, "\r\n\t") {
		text = strings.Join(strings.Fields(text), " ")
	}
	if cut {
		text += "…"
	}
	return text
}

// Unwrap returns the kind and the cause, as far as there are any.
func (e *Error) Unwrap() []error {
	var errs []error
	for _, err := range []error{e.Kind, e.Err} {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// Retryable reports whether the same call may well succeed a little later. It
// is false for an error of unknown kind.
func (e *Error) Retryable() bool {
	return errors.Is(e.Kind, ErrRateLimit) || errors.Is(e.Kind, ErrOverloaded) || errors.Is(e.Kind, ErrTransport)
}

// Retryable reports whether asking again may well help: after an [Error] that
// says so, and after a reply that was empty or malformed. It is false for every
// other error, and for one that comes of a context that is done. Of several that
// are joined, as [Fallback] does, one is enough.
func Retryable(err error) bool {
	worth, over := judge(err)
	return worth && !over
}

// judge reports whether anything in an error is worth retrying, and whether a
// context was done. What is inside an [Error] is a matter of its kind.
func judge(err error) (worth, over bool) {
	switch e := err.(type) { //nolint:errorlint // the tree is walked, so that the inside of an Error can be left out
	case *Error:
		return e.Retryable(), false
	case interface{ Unwrap() error }:
		return judge(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			w, o := judge(part)
			worth, over = worth || w, over || o
		}
		return worth, over
	}
	return errors.Is(err, ErrEmpty) || errors.Is(err, ErrMalformed),
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
