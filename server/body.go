package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// read returns the body of the request.
func (c *call) read() ([]byte, error) {
	data, err := io.ReadAll(&heldBody{c: c, body: http.MaxBytesReader(c.w, c.r.Body, c.s.o.MaxBody)})
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge || errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, err
	}
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		return nil, refusal
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnread, err)
	}
	c.bodyRead = true
	_ = c.w.rc.SetReadDeadline(time.Time{}) // the deadline of the body would also end the response, which may be a stream
	return data, nil
}

// hold counts bytes of the body for the user, until release.
func (c *call) hold(n int64) error {
	err := c.s.accounts.takeBytes(c.user.ID, n, c.bytes, c.s.o.Auth != nil)
	if err == nil {
		c.bytes += n
	}
	return err
}

// release ends the count of the body: the request has ended, or its run counts the bytes now.
func (c *call) release() {
	c.s.accounts.giveBytes(c.user.ID, c.bytes)
	c.bytes = 0
}

// A heldBody counts the bytes of a body as they arrive, so that a client that announces a length and sends nothing takes
// no room.
type heldBody struct {
	c    *call
	body io.Reader
	read int64
}

func (b *heldBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	if b.read += int64(n); b.read > max(minLarge, b.c.bytes) {
		if full := b.c.hold(b.read - b.c.bytes); full != nil {
			return n, full
		}
	}
	return n, err
}

// errUnread is the error of a body that ended too early or has a wrong encoding.
var errUnread = errors.New("the body cannot be read")

// body decodes the JSON object of the request. An optional body may be missing.
func (c *call) body(v any, needed bool) error {
	data, err := c.read()
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(data)) == 0 && !needed {
		return nil
	}
	if data = bytes.TrimSpace(data); len(data) == 0 || data[0] != '{' {
		return invalid("The body is not a JSON object.")
	}
	if err := json.Unmarshal(data, v); err != nil {
		return invalid("The body cannot be read: %v.", err)
	}
	return nil
}
