package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"

	"github.com/weft-go/weft/llm"
)

// maxReply is the largest size of a reply that is not streamed, and of one event of a stream.
const maxReply = 64 << 20

// RoundTrip sends a request with base. If the request's context has a [Call], RoundTrip
// replaces the fields of the request that are in Call.Body, passes the reply to the Call, and
// returns a stub instead of the reply.
func RoundTrip(base http.RoundTripper, req *http.Request) (*http.Response, error) {
	call := from(req.Context())
	if call == nil {
		return base.RoundTrip(req)
	}
	decoded, streaming := call.Dialect.asks(req), false
	if decoded {
		rewritten, streams, err := rewrite(req, call)
		if err != nil {
			_ = req.Body.Close() // a RoundTripper has to close it; err says more
			return nil, err
		}
		req, streaming = rewritten, streams
	}
	call.note(func(f *Facts) { f.Seen, call.keys = true, keys(req.Header) })
	resp, err := base.RoundTrip(req)
	if err != nil {
		call.note(func(f *Facts) { f.Broken = err })
		return nil, err
	}
	call.answered(resp, decoded)
	if resp.StatusCode != http.StatusOK {
		return refusal(resp, call, decoded)
	}
	if !decoded {
		return resp, nil
	}
	receive(resp.Body, streaming, call)
	if err := resp.Body.Close(); err != nil {
		return nil, fmt.Errorf("read the reply: %w", err)
	}
	replaceBody(resp, io.NopCloser(strings.NewReader(call.Dialect.stub(streaming))))
	return resp, nil
}

// keys returns the secrets in the header of a request.
func keys(h http.Header) []string {
	var all []string
	for _, name := range []string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key"} {
		key := strings.TrimPrefix(h.Get(name), "Bearer ")
		if len(key) >= minKey {
			all = append(all, key)
		}
	}
	return all
}

// minKey is the minimum length of a key that is removed from errors. A shorter text is a
// placeholder, and could be any word.
const minKey = 8

// hidden is the text that replaces a key in an error.
const hidden = "[key]"

// refusal records the error in a reply with an error status. The libraries lose the code of the
// error, and for some forms of the body its message.
func refusal(resp *http.Response, call *Call, decoded bool) (*http.Response, error) {
	if call.Dialect == Gemini && resp.StatusCode == http.StatusServiceUnavailable {
		// Google's client would retry after status 503 for ten minutes. Hide the status,
		// since the caller decides about retries.
		resp.StatusCode, resp.Status = 529, "529 Overloaded"
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if closed := resp.Body.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, fmt.Errorf("read the error: %w", err)
	}
	if f, ok := refusalOf(data); ok && decoded && resp.StatusCode >= http.StatusBadRequest {
		call.fail(f)
	}
	for _, key := range call.keys {
		data = bytes.ReplaceAll(data, []byte(key), []byte(hidden))
	}
	replaceBody(resp, io.NopCloser(bytes.NewReader(data)))
	return resp, nil
}

func replaceBody(resp *http.Response, body io.ReadCloser) {
	resp.Body, resp.ContentLength = body, -1
	resp.Header = resp.Header.Clone()
	if resp.Header == nil {
		resp.Header = http.Header{}
	}
	resp.Header.Del("Content-Length")
}

// rewrite replaces fields of a request's body. It reports whether the library asks for a
// stream.
func rewrite(req *http.Request, call *Call) (_ *http.Request, streaming bool, _ error) {
	data, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, false, fmt.Errorf("read the request: %w", err)
	}
	var body object
	if err := json.Unmarshal(data, &body); err != nil || body == nil {
		return nil, false, fmt.Errorf("read the request: it is not a JSON object: %w", err)
	}
	call.Dialect.settle(body, &call.Request)
	maps.Copy(body, object(call.Body))
	if data, err = json.Marshal(body); err != nil {
		return nil, false, fmt.Errorf("rewrite the request: %w", err)
	}
	if err := req.Body.Close(); err != nil {
		return nil, false, fmt.Errorf("read the request: %w", err)
	}
	req = req.Clone(req.Context())
	req.Body = io.NopCloser(bytes.NewReader(data))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	req.ContentLength = int64(len(data))
	streaming = read[bool](body["stream"]) || strings.HasSuffix(req.URL.Path, ":streamGenerateContent")
	return req, streaming, nil
}

// byteOrder is the byte order mark that some servers write before a text.
const byteOrder = "\ufeff"

// receive reads a reply and passes it to its Call. Errors are noted in the Call's Facts.
func receive(from io.Reader, streaming bool, call *Call) {
	body := bufio.NewReader(from)
	if mark, err := body.Peek(len(byteOrder)); err == nil && string(mark) == byteOrder {
		_, _ = body.Discard(len(byteOrder)) // these bytes are in the buffer
	}
	d := call.Dialect.decoder(call)
	switch {
	case !streaming || beginsObject(body):
		receiveWhole(body, d, call)
	case call.Dialect == Gemini:
		receiveArray(body, d, call)
	default:
		receiveEvents(body, d, call)
	}
	if facts := call.Facts(); facts.Complete && facts.Failure == nil && !call.gone {
		d.end()
	}
}

// receiveWhole reads a reply that is one JSON object: an error, or the reply of a server that
// does not stream, whatever its content type.
func receiveWhole(body io.Reader, d decoder, call *Call) {
	data, err := io.ReadAll(io.LimitReader(body, maxReply))
	switch {
	case err != nil:
		call.note(func(f *Facts) { f.Broken = err })
		call.fail(Failure{Message: fmt.Sprintf("the reply broke off: %v", err), Kind: llm.ErrTransport})
	case !d.whole(data):
		call.fail(Failure{Message: "the reply is in a form that is not known", Kind: llm.ErrTransport})
	}
}

// beginsObject reports whether the first byte of a JSON object comes next.
func beginsObject(body *bufio.Reader) bool {
	for {
		first, err := body.Peek(1)
		if err != nil {
			return false
		}
		if !strings.Contains(" \t\r\n", string(first)) {
			return first[0] == '{'
		}
		if _, err := body.Discard(1); err != nil {
			return false
		}
	}
}
