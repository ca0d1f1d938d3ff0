// Package reader is the agent of the quickstart: it answers questions about a text file,
// and saves notes after a person's approval.
package reader

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/examples/quickstart/internal/textfile"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// File is the path of the text that a conversation is about. It is a channel of the
// agent's graph, like agent.Messages: its value is stored with the conversation, and
// the next process reads it.
var File = state.Last[string]("file")

// Approve asks before a note is written. The prompt is the note, the answer is "yes"
// or "no". The answer may come days later, in another process.
var Approve = graph.NewInterrupt[Note, string]("approve")

const system = "You answer questions about one text file, only from what the tools return. " +
	"Answer in a few sentences of plain text. End with the file and the lines of the passage, such as: notes.md, lines 3-6. " +
	"If the file does not answer the question, say so."

// New returns the graph of the quickstart: the prebuilt agent. It asks the model,
// runs each tool call as a task, and asks the model again until it answers. The store
// keeps every step.
func New(model llm.Model, d *Desk, store checkpoint.Store) (*graph.Graph, error) {
	set, err := tools.NewSet(
		tools.New("search", "Finds passages by words, the best first.", d.search),
		tools.New("find_lines", "Lists the lines that mention words, in the order of the file.", d.findLines),
		tools.New("read_lines", "Reads a range of lines.", d.readLines),
		tools.New("count_words", "Counts lines, words and characters of the file or of a range, and how often a word occurs.", d.countWords),
		tools.New("outline", "Lists the headings and the first paragraph.", d.outline),
		tools.New("save_note", "Appends a note to the user's notes. The user is asked first.", d.saveNote),
	)
	if err != nil {
		return nil, err
	}
	return agent.New("quickstart", model, set, agent.Options{
		System:   system,
		Channels: []state.Handle{File},
		Graph:    graph.Options{Checkpoints: store},
	})
}

// A Desk holds the data of the tools: the text, and the path of the notes.
type Desk struct {
	Text  *textfile.File
	Notes string
}

// The arguments of a tool are a struct. The model sees the JSON schema of the struct,
// and its arguments are checked against the schema.
type (
	searchInput struct {
		Query string `json:"query" jsonschema:"the words to look for"`
		Limit int    `json:"limit,omitempty" jsonschema:"the greatest number of results"`
	}
	linesInput struct {
		From int `json:"from" jsonschema:"the first line; -5 means the last five"`
		To   int `json:"to,omitempty" jsonschema:"the last line; the first one if left out"`
	}
	countInput struct {
		From int    `json:"from,omitempty" jsonschema:"the first line; the whole file if left out"`
		To   int    `json:"to,omitempty" jsonschema:"the last line"`
		Word string `json:"word,omitempty" jsonschema:"a word to count"`
	}
	noteInput struct {
		Text string `json:"text" jsonschema:"the note"`
	}
)

func (d *Desk) search(_ context.Context, in searchInput) (textfile.Found, error) {
	return d.Text.Search(in.Query, in.Limit), nil
}

func (d *Desk) findLines(_ context.Context, in searchInput) (textfile.FoundLines, error) {
	return d.Text.FindLines(in.Query, in.Limit), nil
}

func (d *Desk) readLines(_ context.Context, in linesInput) (textfile.Excerpt, error) {
	return d.Text.Read(in.From, in.To)
}

func (d *Desk) countWords(_ context.Context, in countInput) (textfile.Count, error) {
	return d.Text.Count(in.From, in.To, in.Word)
}

func (d *Desk) outline(context.Context, struct{}) (textfile.Outline, error) {
	return d.Text.Outline(), nil
}

// noteSaved is the result of save_note.
type noteSaved struct {
	Saved bool   `json:"saved"`
	File  string `json:"file,omitempty"`
}

// saveNote writes a note if the user agrees. The call pauses at Wait. When there is an
// answer, it runs again from its top, in this process or another. Once stores the
// results of the steps that must not run twice: the choice of the path, so that the
// note goes where the user agreed to, and the writing.
func (d *Desk) saveNote(ctx context.Context, in noteInput) (noteSaved, error) {
	path, err := graph.Once(ctx, "path", func(context.Context) (string, error) { return d.Notes, nil })
	if err != nil {
		return noteSaved{}, err
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return noteSaved{}, fmt.Errorf("%s is not a file to write notes in", path)
	}
	if err := CheckFolder(filepath.Dir(path)); err != nil {
		return noteSaved{}, err
	}
	n := Note{Title: "Append this to your notes?", Text: in.Text, File: path, Schema: yesOrNo}
	answer, err := Approve.Wait(ctx, n)
	if err != nil || answer != "yes" {
		return noteSaved{}, err
	}
	// After a crash between the write and the storage of its result, this runs again.
	// The key is the same each time, so append finds the note that it wrote.
	key := graph.IdempotencyKey(ctx)
	return graph.Once(ctx, "write", func(context.Context) (noteSaved, error) {
		return noteSaved{Saved: true, File: path}, n.append(key)
	})
}
