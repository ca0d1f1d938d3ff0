package llmtest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"sync"
	"unicode/utf8"

	"github.com/weft-go/weft/llm"
)

// ErrNotRecorded is returned by a [Recording] for a request that is not in its file.
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#llmtesterrnotrecorded.
var ErrNotRecorded = errors.New("the request is not recorded")

// RecordingOptions are the settings of a [Recording].
type RecordingOptions struct {
	// Update asks Model for every request and replaces the file. Without it, Model is never
	// asked. Tests usually set it by a flag: go test -update.
	Update bool
	// Model is the model to record. It can be nil without Update.
	Model llm.Model
}

// A Recording is a model that replies from a file. The file is made once, with another model and
// [RecordingOptions].Update, and can be committed.
//
// A Recording finds a reply by the messages, tools and settings of the request. It ignores message
// ids and metadata, and compares ids of tool calls by their order. If a request
// occurs in the file more than once, its replies are used in order, and the last reply is
// repeated. A request that is not in the file fails with [ErrNotRecorded] and shows the
// difference from the nearest recorded request.
//
// A reply is streamed in the recorded chunks, without message ids. A reply that failed, or whose
// stream was not read to its end, is not recorded.
//
// The file has one line of JSON per reply. It has only requests and replies, and no keys or
// headers of a provider. A Recording is safe for concurrent use.
type Recording struct {
	path  string
	model llm.Model // nil unless the file is being written

	mu        sync.Mutex
	exchanges []exchange
	asked     map[string]int // how often each request was asked
}

// An exchange is one line of the file.
type exchange struct {
	Request recordedRequest `json:"request"`
	Chunks  []recordedChunk `json:"chunks"`
}

// A recordedChunk is a chunk whose text is kept as bytes if it ends within a character.
type recordedChunk struct {
	llm.Chunk
	TextBytes     []byte `json:"text_bytes,omitempty"`
	ArgumentBytes []byte `json:"argument_bytes,omitempty"`
}

// NewRecording returns the recording in a file. Without Update, a missing file is an error.
func NewRecording(path string, o RecordingOptions) (*Recording, error) {
	r := &Recording{path: path, asked: map[string]int{}}
	if o.Update {
		if r.model = o.Model; r.model == nil {
			return nil, errors.New("llmtest: recording: Update needs a Model")
		}
		return r, nil
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("llmtest: recording: %w; record it with RecordingOptions.Update", err)
	}
	if err != nil {
		return nil, fmt.Errorf("llmtest: recording: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, len(data)+1)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var e exchange
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("llmtest: recording %s: line %d: %w", path, n, err)
		}
		r.exchanges = append(r.exchanges, e)
	}
	return r, nil
}

// Stream replies from the file, or asks the model and records its reply.
func (r *Recording) Stream(ctx context.Context, request llm.Request) iter.Seq2[llm.Chunk, error] {
	asked := newRecordedRequest(request)
	if r.model != nil {
		return r.record(r.model.Stream(ctx, request), asked)
	}
	return func(yield func(llm.Chunk, error) bool) {
		chunks, err := r.find(asked)
		for _, c := range chunks {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
				break
			}
			if !yield(c.chunk(), nil) {
				return
			}
		}
		if err != nil {
			yield(llm.Chunk{}, err)
		}
	}
}

// find returns the recorded chunks for a request.
func (r *Recording) find(asked recordedRequest) ([]recordedChunk, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := asked.text()
	var found [][]recordedChunk
	for _, e := range r.exchanges {
		if e.Request.text() == key {
			found = append(found, e.Chunks)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("llmtest: recording %s: %w; record it again with RecordingOptions.Update\n%s", r.path, ErrNotRecorded, r.difference(key))
	}
	n := r.asked[key]
	r.asked[key]++
	return found[min(n, len(found)-1)], nil
}

// record passes on a stream, and writes it to the file when it has ended.
func (r *Recording) record(stream iter.Seq2[llm.Chunk, error], asked recordedRequest) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		var chunks []recordedChunk
		for c, err := range stream {
			if !yield(c, err) || err != nil {
				return
			}
			chunks = append(chunks, newRecordedChunk(c))
		}
		if err := r.add(exchange{asked, chunks}); err != nil {
			yield(llm.Chunk{}, fmt.Errorf("llmtest: recording: %w", err))
		}
	}
}

func (r *Recording) add(e exchange) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exchanges = append(r.exchanges, e)
	var file bytes.Buffer
	lines := json.NewEncoder(&file)
	lines.SetEscapeHTML(false)
	for _, e := range r.exchanges {
		if err := lines.Encode(e); err != nil {
			return err
		}
	}
	return os.WriteFile(r.path, file.Bytes(), 0o644)
}

func newRecordedChunk(c llm.Chunk) recordedChunk {
	c.MessageID = ""
	r := recordedChunk{Chunk: c}
	if !utf8.ValidString(c.Text) {
		r.Text, r.TextBytes = "", []byte(c.Text)
	}
	if !utf8.ValidString(c.ToolCall.Arguments) {
		r.ToolCall.Arguments, r.ArgumentBytes = "", []byte(c.ToolCall.Arguments)
	}
	return r
}

func (r recordedChunk) chunk() llm.Chunk {
	c := r.Chunk
	c.Text += string(r.TextBytes)
	c.ToolCall.Arguments += string(r.ArgumentBytes)
	return c
}
