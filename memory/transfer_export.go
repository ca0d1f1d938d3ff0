package memory

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"

	"github.com/weft-go/weft/memory/driver"
)

// TransferOptions configures [Memory.Export] and [Memory.Import]. The zero value exports everything.
type TransferOptions struct {
	// Scope, if not nil, exports only this scope. An empty part means any, except for the tenant, as in
	// [Memory.Forget]. Nil exports all scopes of all tenants. Import ignores it.
	Scope *Scope
	// Progress, if not nil, is called from time to time with the counts so far, and once at the end, in the
	// goroutine that called Export or Import.
	Progress func(Counts)
}

const progressEvery = 500

// Export writes all parts of the memory as lines of JSON, and returns the counts: facts with their
// histories, documents with their chunks, values, conversations with their messages, and turns to learn
// from. The memory can be used meanwhile; [driver.FactStore] and the other stores define which concurrent
// changes are in the export.
func (m *Memory) Export(ctx context.Context, w io.Writer, o TransferOptions) (Counts, error) {
	buffer := bufio.NewWriterSize(w, 1<<16)
	e := exporter{lines: json.NewEncoder(buffer), options: &o}
	e.lines.SetEscapeHTML(false)
	err := e.all(ctx, m.backend)
	if err == nil {
		err = buffer.Flush()
	}
	if err != nil {
		return e.counts, fmt.Errorf("memory: export: %w", err)
	}
	e.report()
	return e.counts, nil
}

// An exporter is a running call of [Memory.Export].
type exporter struct {
	lines   *json.Encoder
	options *TransferOptions
	counts  Counts
	written int // lines
}

// write writes a line with its number.
func (e *exporter) write(l line) error {
	e.written++
	l.Line = e.written
	return e.lines.Encode(&l)
}

func (e *exporter) all(ctx context.Context, from driver.Backend) error {
	if err := e.write(line{Format: exportFormat, Version: exportVersion}); err != nil {
		return err
	}
	scope := e.options.Scope
	err := exportEach(e, from.Facts().Dump(ctx, scope), &e.counts.Facts, func(s driver.SavedFact) error {
		return e.write(line{Fact: newFactLine(s)})
	})
	if err == nil {
		err = exportEach(e, from.Documents().Dump(ctx, scope), &e.counts.Documents, e.document)
	}
	if err == nil {
		err = exportEach(e, from.Values().Dump(ctx, scope), &e.counts.Values, func(s driver.SavedValue) error {
			return e.write(line{Value: newValueLine(s)})
		})
	}
	if err == nil {
		err = exportEach(e, from.Conversations().Dump(ctx, scope), &e.counts.Conversations, e.conversation)
	}
	if err == nil {
		err = exportEach(e, from.Turns().Dump(ctx, scope), &e.counts.Turns, func(s driver.SavedTurn) error {
			return e.write(line{Turn: newTurnLine(s)})
		})
	}
	if err != nil {
		return err
	}
	return e.write(line{Counts: &e.counts})
}

// exportEach writes and counts the items that a store yields.
func exportEach[T any](e *exporter, list iter.Seq2[T, error], count *int, write func(T) error) error {
	for one, err := range list {
		if err == nil {
			err = write(one)
		}
		if err != nil {
			return err
		}
		*count++
		if e.counts.Total()%progressEvery == 0 {
			e.report()
		}
	}
	return nil
}

func (e *exporter) report() {
	if e.options.Progress != nil {
		e.options.Progress(e.counts)
	}
}

func (e *exporter) document(s driver.SavedSource) error {
	err := e.write(line{Document: &s.Source})
	for i := 0; i < len(s.Records) && err == nil; i++ {
		err = e.write(line{Chunk: newChunkLine(s.Records[i])})
	}
	return err
}

func (e *exporter) conversation(s driver.SavedSession) error {
	s.Version = 0 // versions are not transferred
	err := e.write(line{Conversation: &s.Session})
	for i := 0; i < len(s.Rows) && err == nil; i++ {
		err = e.write(line{Message: newMessageLine(s.Rows[i])})
	}
	return err
}
