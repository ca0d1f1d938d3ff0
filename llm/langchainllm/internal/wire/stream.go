package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/weft-go/weft/llm"
)

// A mender turns the events of a streamed reply into such as the library reads
// well.
type mender interface {
	// event takes what one event holds, and returns what is to be passed on.
	// After done nothing more is read.
	event(data []byte) (out [][]byte, done bool)
	// end is called when the stream has ended by itself.
	end() [][]byte
}

// events is a body of server-sent events that a mender has mended. It reads as
// much as it is asked for, on its reader's goroutine.
type events struct {
	body   io.ReadCloser
	lines  *bufio.Reader
	mender mender
	call   *Call
	ready  bytes.Buffer
	err    error // what to say once ready is empty
}

func newEvents(body io.ReadCloser, m mender, c *Call) *events {
	return &events{body: body, lines: bufio.NewReader(body), mender: m, call: c}
}

// Close closes the body.
func (e *events) Close() error { return e.body.Close() }

// Read returns mended events.
func (e *events) Read(p []byte) (int, error) {
	for e.ready.Len() == 0 {
		if e.err != nil {
			return 0, e.err
		}
		e.fill()
	}
	return e.ready.Read(p)
}

// fill reads one line. The libraries take each line for an event, and the APIs
// write no event of several lines.
func (e *events) fill() {
	line, err := readLine(e.lines)
	if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
		if data = bytes.TrimSpace(data); len(data) > 0 {
			out, done := e.mender.event(data)
			e.write(out)
			if done {
				e.err = io.EOF
				return
			}
		}
	}
	if said, ok := bytes.CutPrefix(line, []byte("error:")); ok {
		// As llama.cpp's server had it for long.
		e.call.fail(failureOf(bytes.TrimSpace(said)))
		e.err = io.EOF
		return
	}
	if err == nil {
		return
	}
	e.err = err
	if errors.Is(err, io.EOF) {
		e.write(e.mender.end())
		if !e.call.Facts().Complete {
			e.call.fail(Failure{Message: "the stream ended before the reply did", Kind: llm.ErrTransport})
		}
		return
	}
	e.call.fail(Failure{Message: fmt.Sprintf("the stream broke: %v", err)})
}

func (e *events) write(out [][]byte) {
	for _, data := range out {
		e.ready.WriteString("data: ")
		e.ready.Write(data)
		e.ready.WriteString("\n\n")
	}
}

// readLine returns a line of any length, up to what a reply may measure.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) > maxReply {
			return nil, fmt.Errorf("a line of more than %d bytes", maxReply)
		}
	}
}
