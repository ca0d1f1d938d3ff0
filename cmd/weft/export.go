package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/weft-go/weft/checkpoint"
)

const exportUsage = `usage: weft threads export [THREAD...] [flags]

Writes threads to a file or to the standard output: a line of JSON for each checkpoint, with all its data, and a
last line with their number.
weft threads import reads it, into a store of any kind. Without names it writes all threads. The values of
an encrypted store are written in plain text. What a server keeps of a thread, such as its runs and its
user, is not part of it.
`

// exportFormat is the format in the first line of a file of threads.
const exportFormat = "weft threads 1"

// A line is one line of a file of threads: the format, a checkpoint, or the end.
type line struct {
	Format    string            `json:"format,omitempty"`
	End       *lineEnd          `json:"end,omitempty"`
	Thread    string            `json:"thread,omitempty"`
	Namespace string            `json:"namespace,omitempty"`
	ID        string            `json:"id,omitempty"`
	Parent    string            `json:"parent,omitempty"`
	Step      int               `json:"step,omitempty"`
	Source    checkpoint.Source `json:"source,omitempty"`
	Run       string            `json:"run,omitempty"`
	Version   string            `json:"version,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
	Time      time.Time         `json:"time,omitzero"` // an import does not keep it
	// Removed says that the checkpoint was removed from the thread, but other checkpoints build on its changes.
	Removed  bool          `json:"removed,omitempty"`
	Control  blob          `json:"control,omitzero"`
	Changes  []lineChange  `json:"changes,omitempty"`
	Snapshot *[]lineChange `json:"snapshot,omitempty"` // an empty snapshot differs from nil
	Writes   []lineWrite   `json:"writes,omitempty"`
	// Line is the number of the line, from 1. It is 0 in files of older versions.
	Line int `json:"line,omitempty"`
}

// A lineEnd is the last line of a file of threads. A file without it is not complete.
type lineEnd struct {
	Threads     int `json:"threads"`
	Checkpoints int `json:"checkpoints"` // the number of lines with checkpoints
}

type lineChange struct {
	Channel string `json:"channel"`
	Kind    uint8  `json:"kind"`
	Data    blob   `json:"data"`
}

type lineWrite struct {
	Task  string `json:"task,omitempty"`
	Index int    `json:"index"`
	lineChange
}

// A blob is stored bytes. Its JSON form is an object: with the key "json" if the bytes are JSON without white space, and
// with the key "base64" otherwise.
type blob []byte

// IsZero reports whether there are no bytes.
func (b blob) IsZero() bool { return len(b) == 0 }

type blobForm struct {
	JSON   json.RawMessage `json:"json,omitempty"`
	Base64 []byte          `json:"base64,omitempty"`
}

// MarshalJSON implements [json.Marshaler].
func (b blob) MarshalJSON() ([]byte, error) {
	var compact, out bytes.Buffer
	form := blobForm{Base64: b}
	if json.Compact(&compact, b) == nil && bytes.Equal(compact.Bytes(), b) {
		form = blobForm{JSON: json.RawMessage(b)}
	}
	err := printLine(&out, form)
	return out.Bytes(), err
}

// UnmarshalJSON implements [json.Unmarshaler].
func (b *blob) UnmarshalJSON(data []byte) error {
	var form blobForm
	err := json.Unmarshal(data, &form)
	*b = form.Base64
	if form.JSON != nil {
		*b = blob(form.JSON)
	}
	return err
}

func runExport(ctx context.Context, args []string, std *streams) (err error) {
	c := newCall(std, exportUsage).ofDatabase()
	file, prefix := "", ""
	c.flags.StringVar(&file, "o", "", "write to a new `FILE` that only its owner can read")
	c.flags.StringVar(&prefix, "prefix", "", "without names: only threads whose id begins with this `TEXT`")
	if err := c.parse(args, "[THREAD...]"); err != nil {
		return err
	}
	db, err := c.source.opened(ctx, c.source.keys)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.close()) }()
	out := c.out
	if file != "" {
		f, opened := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if opened != nil {
			return fmt.Errorf("create the file: %w", opened)
		}
		defer func() {
			if err = errors.Join(err, f.Close()); err != nil { // remove the file, because an import rejects an incomplete one
				err = errors.Join(err, os.Remove(file))
			}
		}()
		out = f
	}
	n, err := export(ctx, db.checkpoints, c.args, prefix, out)
	if err == nil {
		say(c.err, "Exported %s.", counted(n, "thread"))
	}
	return err
}

// export writes threads and returns their number.
func export(ctx context.Context, s checkpoint.Store, names []string, prefix string, out io.Writer) (int, error) {
	written := 0
	write := func(l line) error {
		written++
		l.Line = written
		return printLine(out, l)
	}
	if err := write(line{Format: exportFormat}); err != nil {
		return 0, err
	}
	n := 0
	for id, err := range named(ctx, s, names, prefix) {
		if err != nil {
			return n, err
		}
		t, err := readTransfer(ctx, s, id)
		if err != nil {
			return n, fmt.Errorf("thread %q: %w", id, err)
		}
		for i := range t {
			if err := write(lineOf(&t[i])); err != nil {
				return n, err
			}
		}
		n++
	}
	return n, write(line{End: &lineEnd{n, written - 1}})
}

func lineOf(c *transferred) line {
	l := line{
		Thread: c.Thread, Namespace: c.Namespace, ID: c.ID, Parent: c.Parent, Step: c.Step, Source: c.Source, Run: c.Run, Version: c.Version,
		Metadata: c.Metadata, Time: c.Time, Removed: c.removed, Control: c.Control, Changes: lineChanges(c.Changes),
	}
	if c.Snapshot != nil {
		all := lineChanges(c.Snapshot)
		l.Snapshot = &all
	}
	for _, w := range c.Writes {
		l.Writes = append(l.Writes, lineWrite{w.Task, w.Index, lineChange{w.Channel, w.Kind, w.Data}})
	}
	return l
}

func lineChanges(list []checkpoint.Change) []lineChange {
	out := []lineChange{}
	for _, c := range list {
		out = append(out, lineChange{c.Channel, c.Kind, c.Data})
	}
	return out
}

// transferred returns the checkpoint of a line.
func (l *line) transferred() transferred {
	c := checkpoint.Checkpoint{
		Key:    checkpoint.Key{Thread: l.Thread, Namespace: l.Namespace, ID: l.ID},
		Parent: l.Parent, Step: l.Step, Source: l.Source, Run: l.Run, Version: l.Version, Metadata: l.Metadata, Control: l.Control,
		Changes: changesOf(l.Changes),
	}
	if l.Snapshot != nil {
		c.Snapshot = slices.Concat([]checkpoint.Change{}, changesOf(*l.Snapshot))
	}
	for _, w := range l.Writes {
		c.Writes = append(c.Writes, checkpoint.Write{Task: w.Task, Index: w.Index, Channel: w.Channel, Kind: w.Kind, Data: w.Data})
	}
	return transferred{c, l.Removed}
}

func changesOf(list []lineChange) []checkpoint.Change {
	var out []checkpoint.Change
	for _, c := range list {
		out = append(out, checkpoint.Change{Channel: c.Channel, Kind: c.Kind, Data: c.Data})
	}
	return out
}
