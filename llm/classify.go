package llm

import (
	"context"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Classify completes an error that an adapter got from a provider. It sets Kind by the code,
// the message, the status and the cause. It sets Status and RetryAfter if the code, the
// message or the cause contains them. It does not change fields that are set. It reads only
// the first and the last 8 KiB of a longer text.
//
//	return llm.Classify(llm.Error{Provider: "openai", Status: 429, Message: body, Err: err})
//
// If the context of the call is done, an adapter returns ctx.Err() instead. Classify treats
// [context.DeadlineExceeded] as a timeout of the provider's client, and sets no Kind for
// [context.Canceled].
func Classify(e Error) *Error {
	said := ends(e.Code) + "\n" + ends(e.Message)
	if e.Err != nil {
		said += "\n" + ends(e.Err.Error())
	}
	said = strings.ToLower(said)
	if e.Status == 0 {
		e.Status = statusIn(said)
	}
	if e.RetryAfter == 0 {
		e.RetryAfter = waitIn(said)
	}
	if e.Kind == nil {
		e.Kind = e.kind(said)
	}
	return &e
}

// ends returns the beginning and the end of a long text, since searching the whole text would
// be slow.
func ends(text string) string {
	const most = 8 << 10
	if len(text) <= 2*most {
		return text
	}
	return text[:most] + "\n" + text[len(text)-most:]
}

func (e Error) kind(said string) error {
	if errors.Is(e.Err, context.Canceled) {
		return nil
	}
	// A request above a size limit does not succeed later, even if the status is 429.
	if tooLarge.MatchString(said) {
		return ErrContextTooLong
	}
	// If the error says when to try again, credit is not the problem.
	if e.Status == 429 && (e.RetryAfter > 0 || !noCredit.MatchString(said)) {
		return ErrRateLimit
	}
	if kind := match(signs, said); kind != nil {
		return kind
	}
	if kind := kindOfStatus(e.Status); kind != nil {
		return kind
	}
	if isTransport(e.Err) || broken.MatchString(said) {
		return ErrTransport
	}
	return match(guesses, said)
}

func kindOfStatus(status int) error {
	switch {
	case status == 429:
		return ErrRateLimit
	case status == 401, status == 402, status == 403:
		return ErrAuth
	case status == 408:
		return ErrTransport
	case status == 409, status == 425, status >= 500 && status <= 599:
		return ErrOverloaded
	case status >= 400 && status <= 499:
		return ErrBadRequest
	}
	return nil
}

// A sign is a pattern that matches the texts of one kind of error.
type sign struct {
	pattern *regexp.Regexp
	kind    error
}

func match(signs []sign, said string) error {
	for _, s := range signs {
		if s.pattern.MatchString(said) {
			return s.kind
		}
	}
	return nil
}

var tooLarge = regexp.MustCompile(`request_too_large|request too large`)

var noCredit = regexp.MustCompile(`insufficient_quota|exceeded your current quota|credit balance`)

// signs are checked before the status, since they are more specific.
var signs = []sign{
	{regexp.MustCompile(`context[_ ](?:length|window|size)|exceed context limit|prompt is too long|maximum (?:context|prompt length)|input is too long|too many input tokens|too many tokens: |input token count.{0,40}exceeds`), ErrContextTooLong},
	{regexp.MustCompile("max_new_tokens`? must be"), ErrContextTooLong},
	{regexp.MustCompile(`content[_ ]?(?:filter|policy|management)|responsibleai|prompt_?blocked|blocked.{0,20}safety|finishreasonsafety`), ErrContentFilter},
	{noCredit, ErrAuth},
	{regexp.MustCompile(`api key not valid|api_key_invalid|(?:invalid|incorrect) api key`), ErrAuth},
	{regexp.MustCompile(`overloaded_error`), ErrOverloaded},
}

// broken matches the texts of connection errors, for errors whose type is lost.
var broken = regexp.MustCompile(`(?m)unexpected eof|connection (?:reset|refused|closed)|closed network connection|broken pipe|no such host|i/o timeout|tls handshake|server closed|http2: |goaway|client\.timeout|timeout awaiting|(?:^|:\s*)eof$`)

// guesses are the signs for errors without a status.
var guesses = []sign{
	{regexp.MustCompile(`rate.?limit|too many requests|resource.?exhausted|throttl`), ErrRateLimit},
	{regexp.MustCompile(`overloaded|unavailable|internal server error|bad gateway|try again later|high demand`), ErrOverloaded},
	{regexp.MustCompile(`unauthori[sz]ed|authentication|unauthenticated|permission.?denied|api.?key|forbidden`), ErrAuth},
	{regexp.MustCompile(`invalid.?request|bad request|invalid.?argument|not.?found|unsupported`), ErrBadRequest},
}

func isTransport(err error) bool {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	timeout, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && timeout.Timeout()
}

var statusText = regexp.MustCompile(`(?:status(?:[ _]?code)?|http(?:/[\d.]+)?|error(?:[ _]?code)?)["']?[:= ]{1,3}\(?([45]\d\d)\b`)

func statusIn(said string) int {
	m := statusText.FindStringSubmatch(said)
	if m == nil {
		return 0
	}
	status, err := strconv.Atoi(m[1])
	if err != nil {
		return 0
	}
	return status
}

var waitText = regexp.MustCompile(`(?:try again in|retry(?:ing)? (?:after|in)|retry-after["']?:|retrydelay["']?\s*:)\s*["']?((?:\d+(?:\.\d+)?\s*(?:ms|milli|h|m|s))+|\d+(?:\.\d+)?)`)

// waitIn returns the wait that a text requests, such as "try again in 1m2.5s", or zero.
func waitIn(said string) time.Duration {
	m := waitText.FindStringSubmatch(said)
	if m == nil {
		return 0
	}
	return duration(strings.NewReplacer(" ", "", "milli", "ms").Replace(m[1]))
}

// maxWait limits the wait that a provider requests.
const maxWait = 7 * 24 * time.Hour

// duration parses a Go duration, or a number of seconds. It returns zero for any other text.
func duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		if d, err = time.ParseDuration(text + "s"); err != nil {
			return 0
		}
	}
	return min(max(d, 0), maxWait)
}

// RetryAfter returns the wait that a Retry-After header asks for: a number of seconds, or
// the time until a date, given the current time. It returns zero for an invalid header and
// for a date in the past, and at most 7 days.
func RetryAfter(header string, current time.Time) time.Duration {
	header = strings.TrimSpace(header)
	if at, err := time.Parse(time.RFC1123, header); err == nil {
		return min(max(at.Sub(current), 0), maxWait)
	}
	return duration(header)
}
