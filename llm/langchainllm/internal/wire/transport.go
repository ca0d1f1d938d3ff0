package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxReply is the most that a reply, or one event of a stream, may measure. No
// answer of a model comes near it; what does is a fault or an attack.
const maxReply = 64 << 20

// A dialect is a form of requests and replies.
type dialect interface {
	// request mends the body of a request.
	request(body object, c *Call) error
	// reply mends a whole reply. It returns nil for one that it does not know.
	reply(body []byte, c *Call) []byte
	// streamed returns a whole reply, mended, as if it had been streamed.
	streamed(body []byte, c *Call) []byte
	// stream returns what mends a streamed reply.
	stream(body io.ReadCloser, c *Call) io.ReadCloser
}

func dialectOf(req *http.Request) dialect {
	path := req.URL.Path
	switch {
	case req.Method != http.MethodPost || req.Body == nil:
		return nil
	case strings.HasSuffix(path, "/chat/completions"):
		return openAI{}
	case strings.HasSuffix(path, "/messages"):
		return anthropic{}
	case strings.HasSuffix(path, ":generateContent"), strings.HasSuffix(path, ":streamGenerateContent"):
		return gemini{}
	}
	return nil
}

// RoundTrip sends a request by way of base, and mends it and its answer when
// its context says for which [Call] it is.
func RoundTrip(base http.RoundTripper, req *http.Request) (*http.Response, error) {
	call := from(req.Context())
	if call == nil {
		return base.RoundTrip(req)
	}
	d := dialectOf(req)
	streaming := false
	if d != nil {
		mended, streams, err := rewrite(req, d, call)
		if err != nil {
			_ = req.Body.Close() // a RoundTripper has to; the error at hand says more
			return nil, err
		}
		req, streaming = mended, streams
	}
	call.note(func(f *Facts) { f.Seen, call.keys = true, keys(req.Header) })
	resp, err := base.RoundTrip(req)
	if err != nil {
		call.note(func(f *Facts) { f.Broken = err })
		return nil, err
	}
	call.answered(resp, d != nil)
	if resp.StatusCode != http.StatusOK {
		return refusal(resp, d, call)
	}
	if d == nil {
		return resp, nil
	}
	return mend(resp, d, streaming, call)
}

// keys returns the secrets that a request carries.
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

// minKey is the least that a key measures; what is shorter is a placeholder, and
// may be any word.
const minKey = 8

// hidden stands where a key was.
const hidden = "[key]"

// refusal mends an answer that is an error, and notes what it says, of which the
// libraries lose the code, and the message too where it is not in OpenAI's form.
func refusal(resp *http.Response, d dialect, call *Call) (*http.Response, error) {
	if _, ok := d.(gemini); ok && resp.StatusCode == http.StatusServiceUnavailable {
		// Google's client asks again by itself for ten minutes on a 503, and on
		// nothing else. Whether to ask again is the caller's to say.
		resp.StatusCode, resp.Status = 529, "529 Overloaded"
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if closed := resp.Body.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, fmt.Errorf("read the error: %w", err)
	}
	if f, ok := refusalOf(data); ok && d != nil && resp.StatusCode >= http.StatusBadRequest {
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
	resp.Header.Del("Content-Length")
}

// rewrite mends a request, and says whether its reply is to be streamed.
func rewrite(req *http.Request, d dialect, call *Call) (_ *http.Request, streaming bool, _ error) {
	data, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, false, fmt.Errorf("read the request: %w", err)
	}
	var body object
	if err := json.Unmarshal(data, &body); err == nil && body != nil {
		if err := d.request(body, call); err != nil {
			return nil, false, fmt.Errorf("mend the request: %w", err)
		}
		if data, err = json.Marshal(body); err != nil {
			return nil, false, fmt.Errorf("mend the request: %w", err)
		}
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

// byteOrder is the mark that some servers put before a text.
const byteOrder = "\ufeff"

// mend mends a reply, streamed or whole.
func mend(resp *http.Response, d dialect, streaming bool, call *Call) (*http.Response, error) {
	body := bufio.NewReader(resp.Body)
	if mark, err := body.Peek(len(byteOrder)); err == nil && string(mark) == byteOrder {
		if _, err := body.Discard(len(byteOrder)); err != nil {
			return nil, fmt.Errorf("read the reply: %w", err)
		}
	}
	if streaming && !beginsObject(body) {
		replaceBody(resp, d.stream(readCloser{body, resp.Body}, call))
		return resp, nil
	}
	data, err := io.ReadAll(io.LimitReader(body, maxReply))
	if closed := resp.Body.Close(); err == nil {
		err = closed
	}
	if err != nil {
		call.note(func(f *Facts) { f.Broken = err })
		return nil, fmt.Errorf("read the reply: %w", err)
	}
	mended := d.reply(data, call)
	switch {
	case mended == nil:
		call.note(func(f *Facts) { f.Understood = false })
	case streaming:
		data = d.streamed(mended, call)
	default:
		data = mended
	}
	replaceBody(resp, io.NopCloser(bytes.NewReader(data)))
	return resp, nil
}

// beginsObject says whether a reply that was to be streamed is a JSON object: an
// error, or a whole reply of a server that does not stream. What it calls itself
// is not to be trusted.
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

type readCloser struct {
	io.Reader
	io.Closer
}
