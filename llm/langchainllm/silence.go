package langchainllm

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// defaultSilence is the default of Transport.Silence. The clients of OpenAI and Anthropic have the same default timeout.
const defaultSilence = 10 * time.Minute

// A silentError is the error of a provider that sent nothing for a time.
type silentError time.Duration

func (e silentError) Error() string {
	return fmt.Sprintf("the provider sent nothing for %v", time.Duration(e))
}

// Timeout reports that the error is a timeout, for package net/http and [llm.Classify].
func (e silentError) Timeout() bool { return true }

// A listener ends a request if the provider sends nothing for the time limit.
type listener struct {
	base  http.RoundTripper
	limit time.Duration
}

// RoundTrip implements [http.RoundTripper].
func (l listener) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	body := &heard{limit: l.limit, ctx: ctx, cancel: cancel}
	body.timer = time.AfterFunc(l.limit, func() { cancel(silentError(l.limit)) })
	resp, err := l.base.RoundTrip(req.WithContext(ctx))
	body.timer.Stop()
	if err != nil {
		err = body.cause(err)
		cancel(nil)
		return nil, err
	}
	body.ReadCloser, resp.Body = resp.Body, body
	return resp, nil
}

// A heard is the body of a reply. Only the time in which a Read waits counts, so that a slow reader does not count as a
// silent provider.
type heard struct {
	io.ReadCloser
	limit  time.Duration
	timer  *time.Timer
	ctx    context.Context //nolint:containedctx // the request's, which has to end with the body
	cancel context.CancelCauseFunc
}

// Read reads from the body. The time limit begins again with each call.
func (h *heard) Read(p []byte) (int, error) {
	h.timer.Reset(h.limit)
	n, err := h.ReadCloser.Read(p)
	h.timer.Stop()
	if err != nil && err != io.EOF { //nolint:errorlint // a Reader returns io.EOF itself
		err = h.cause(err)
	}
	return n, err
}

// Close closes the body and ends the request.
func (h *heard) Close() error {
	h.timer.Stop()
	err := h.ReadCloser.Close()
	h.cancel(nil)
	return err
}

// cause returns the error of a silent provider if it ended the request, and otherwise err.
func (h *heard) cause(err error) error {
	if silent, ok := context.Cause(h.ctx).(silentError); ok { //nolint:errorlint // it is not wrapped
		return silent
	}
	return err
}
