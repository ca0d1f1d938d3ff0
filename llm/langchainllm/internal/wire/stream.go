package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/weft-go/weft/llm"
)

// receiveEvents reads server-sent events. Every API writes an event's data in one line.
func receiveEvents(body *bufio.Reader, d decoder, call *Call) {
	for !call.gone {
		line, err := readLine(body)
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if data = bytes.TrimSpace(data); len(data) > 0 && d.event(data) {
				return
			}
		}
		if said, ok := bytes.CutPrefix(line, []byte("error:")); ok {
			// llama.cpp's server wrote errors in this form.
			call.fail(failureOf(bytes.TrimSpace(said)))
			return
		}
		if err != nil {
			ended(err, call)
			return
		}
	}
}

// receiveArray reads a JSON array of events, the form of a stream of Gemini.
func receiveArray(body io.Reader, d decoder, call *Call) {
	items := json.NewDecoder(body)
	if token, err := items.Token(); err != nil || token != json.Delim('[') {
		unreadable(err, call)
		return
	}
	for !call.gone && items.More() {
		var item json.RawMessage
		if err := items.Decode(&item); err != nil {
			unreadable(err, call)
			return
		}
		if d.event(item) {
			return
		}
	}
	if call.gone {
		return
	}
	if token, err := items.Token(); err != nil || token != json.Delim(']') {
		unreadable(err, call)
		return
	}
	ended(io.EOF, call)
}

// unreadable records the failure of an array that cannot be read.
func unreadable(err error, call *Call) {
	_, syntax := errors.AsType[*json.SyntaxError](err)
	if err == nil || syntax {
		call.fail(Failure{Message: "the stream cannot be read", Kind: llm.ErrTransport})
		return
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	call.note(func(f *Facts) { f.Complete = false }) // an array without its end is cut off
	ended(err, call)
}

// ended records the end of a stream. The end is a failure unless the reply was complete.
func ended(err error, call *Call) {
	switch {
	case !errors.Is(err, io.EOF):
		call.note(func(f *Facts) { f.Complete = false })
		call.fail(Failure{Message: fmt.Sprintf("the stream broke: %v", err), Kind: llm.ErrTransport})
	case !call.Facts().Complete:
		call.fail(Failure{Message: "the stream ended before the reply did", Kind: llm.ErrTransport})
	}
}

// readLine returns a line of at most maxReply bytes.
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
