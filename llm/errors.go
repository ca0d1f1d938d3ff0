package llm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// The errors of this package wrap one of these. Use [errors.Is]. Errors of a model are
// passed on unchanged.
var (
	// ErrInvalid is the error of a message, a request or [Limits] that are not valid.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#llmerrinvalid.
	ErrInvalid = errors.New("invalid request")
	// ErrEmpty is the error of a reply without content.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#llmerrempty.
	ErrEmpty = errors.New("empty reply")
	// ErrMalformed is the error of a reply that cannot be used, for example because the
	// arguments of a tool call are cut off.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#llmerrmalformed.
	ErrMalformed = errors.New("malformed reply")
)

// The kinds of an [Error]. The error of a cancelled call wraps ctx.Err() and has no kind.
var (
	// ErrRateLimit: the caller has sent too many requests. A retry can help, after
	// [Error.RetryAfter] if it is set.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#llmerrratelimit.
	ErrRateLimit = errors.New("rate limit")
	// ErrOverloaded: the provider is overloaded, or failed. A retry can help.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#llmerroverloaded.
	ErrOverloaded = errors.New("provider overloaded")
	// ErrTransport: the connection failed, timed out or broke off. A retry can help.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#llmerrtransport.
	ErrTransport = errors.New("connection failed")
	// ErrAuth: the key is missing or wrong, has no permission for the request, or has no
	// credit.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#llmerrauth.
	ErrAuth = errors.New("not allowed")
	// ErrBadRequest: the provider does not accept the request, or does not know the model.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#llmerrbadrequest.
	ErrBadRequest = errors.New("bad request")
	// ErrContextTooLong: the conversation is too long for the model, or the request is
	// above a size limit of the provider. [Prune] shortens a conversation.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#llmerrcontexttoolong.
	ErrContextTooLong = errors.New("context too long")
	// ErrContentFilter: a filter of the provider rejected the request or the reply.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#llmerrcontentfilter.
	ErrContentFilter = errors.New("content filter")
)

// An Error is the error of a provider, or of the connection to it. Use [errors.As] to read
// its fields, and [errors.Is] with a kind, such as [ErrRateLimit].
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#llmerror.
type Error struct {
	// Kind is one of the kinds above, such as [ErrRateLimit], or [ErrEmpty], or
	// [ErrMalformed]. It is nil if the kind is unknown.
	Kind error
	// Provider is the name of the provider, such as "openai".
	Provider string
	// Status is the HTTP status, or zero.
	Status int
	// Code is the provider's code of the error, such as "context_length_exceeded".
	Code string
	// Message is the provider's text.
	Message string
	// RetryAfter is the wait before a retry that the provider requests. Zero means that it
	// requests none.
	RetryAfter time.Duration
	// Err is the cause, or nil.
	Err error
}

// Error describes the error in one line. It has at most 2000 bytes of each of the code, the
// message and the cause, since some providers answer with a whole page.
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

// maxSaid is the maximum length in bytes of a provider's text in an error.
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

// Unwrap returns the kind and the cause, if they are not nil.
func (e *Error) Unwrap() []error {
	var errs []error
	for _, err := range []error{e.Kind, e.Err} {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// Retryable reports whether the same call can succeed later. It returns false for an error
// of unknown kind.
func (e *Error) Retryable() bool {
	for _, kind := range []error{ErrRateLimit, ErrOverloaded, ErrTransport, ErrEmpty, ErrMalformed} {
		if errors.Is(e.Kind, kind) {
			return true
		}
	}
	return false
}

// Retryable reports whether a retry can help. For an [Error], it returns the result of
// [Error.Retryable], whatever the Error wraps. It also returns true for [ErrEmpty] and
// [ErrMalformed]. It returns false for any other error, and for the error of a context that
// is done. For joined errors, such as the errors of [Fallback], it returns true if a retry can
// help after one of them and none is the error of a context.
func Retryable(err error) bool {
	worth, over := judge(err)
	return worth && !over
}

// judge reports whether a retry can help after any of the errors in err, and whether one of
// them is the error of a context. It ignores the cause of an [Error].
func judge(err error) (worth, over bool) {
	switch e := err.(type) { //nolint:errorlint // errors.As would look into the cause of an Error
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
