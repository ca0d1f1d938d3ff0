package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/weft-go/weft/memory/driver"
)

const (
	// batchRows is the number of rows that are stored together: facts, values, turns, chunks or messages.
	batchRows = 500
	// batchBytes is the maximum number of bytes of lines that are stored together, except for one larger
	// document or conversation.
	batchBytes = 4 << 20
)

// Import stores an export of [Memory.Export] and returns the counts of new items. Items that the memory
// already has do not change: a fact with the same ID, a document with the same ID or URI, a value with the
// same key, a conversation or a turn with the same ID. It returns [ErrFormat] for a file that is not an
// export, [ErrTruncated] if lines are missing, and [ErrInvalid] for an item that cannot be stored, with the name
// of the item and the lines of its batch. Import keeps the batches that it stored before an error.
func (m *Memory) Import(ctx context.Context, r io.Reader, o TransferOptions) (Counts, error) {
	i := importer{ctx: ctx, to: m.backend, options: &o}
	if err := i.all(json.NewDecoder(r)); err != nil {
		return i.counts, fmt.Errorf("memory: import: %w", err)
	}
	return i.counts, nil
}

// An importer is a running call of [Memory.Import]. It collects rows until they fill a batch.
type importer struct {
	ctx     context.Context
	to      driver.Backend
	options *TransferOptions
	counts  Counts
	line    int

	facts         []driver.SavedFact
	documents     []driver.SavedSource
	values        []driver.SavedValue
	conversations []driver.SavedSession
	turns         []driver.SavedTurn
	last          line // the last collected line
	rows          int
	first         int    // the first line of the batch
	begin         int64  // the offset of the end of the first line of the batch; 0 for the first batch
	read          Counts // the items in the lines, new or not
}

func (i *importer) all(lines *json.Decoder) error {
	for {
		l, err := i.next(lines)
		switch {
		case err != nil:
			return err
		case i.line == 1:
			continue
		case l.Counts != nil:
			return i.end(l.Counts)
		}
		if err := i.begins(&l, lines.InputOffset()); err != nil {
			return err
		}
		if err := i.add(&l); err != nil {
			return fmt.Errorf("line %d: %w", i.line, err)
		}
	}
}

// next reads a line and checks that it is the next one of the export.
func (i *importer) next(lines *json.Decoder) (l line, err error) {
	i.line++
	err = lines.Decode(&l)
	switch {
	case errors.Is(err, io.EOF) && i.line == 1:
		return l, fmt.Errorf("an empty file: %w", ErrFormat)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return l, i.broken(fmt.Errorf("line %d: %w", i.line, ErrTruncated))
	case err != nil:
		return l, fmt.Errorf("line %d: %w: %w", i.line, ErrFormat, err)
	case i.line == 1 && (l.Format != exportFormat || l.Version != exportVersion):
		return l, fmt.Errorf("format %.40q of version %d, and %q of version %d is read: %w", l.Format, l.Version, exportFormat, exportVersion, ErrFormat)
	case l.items() > 1:
		return l, fmt.Errorf("line %d: %d items, and a line has one: %w", i.line, l.items(), ErrFormat)
	case l.Line != 0 && l.Line != i.line:
		return l, i.broken(fmt.Errorf("line %d: it was line %d of the export: %w", i.line, l.Line, ErrTruncated))
	}
	return l, nil
}

// broken stores the complete items before a place where lines are missing. It joins an error of the store
// with err.
func (i *importer) broken(err error) error {
	i.dropLast()
	return errors.Join(i.store(), err)
}

// end stores the last batch, and compares the counts with the counts in the export.
func (i *importer) end(want *Counts) error {
	err := i.store()
	if *want != i.read {
		err = errors.Join(err, fmt.Errorf("the export names %+v, and %+v were read: %w", *want, i.read, ErrTruncated))
	}
	return err
}

// dropLast drops the document or conversation to which the last line belongs, because some of its chunks or
// messages may be missing.
func (i *importer) dropLast() {
	switch {
	case i.last.Document != nil || i.last.Chunk != nil:
		i.documents = i.documents[:len(i.documents)-1]
	case i.last.Conversation != nil || i.last.Message != nil:
		i.conversations = i.conversations[:len(i.conversations)-1]
	}
}

// begins stores the collected batch, if it is full, before a line that begins a new item. The line ends at
// the given offset.
func (i *importer) begins(l *line, end int64) error {
	if l.Chunk != nil || l.Message != nil {
		return nil
	}
	if i.rows >= batchRows || end-i.begin > batchBytes {
		if err := i.store(); err != nil {
			return err
		}
		i.begin = end
	}
	if i.rows == 0 {
		i.first = i.line
	}
	return nil
}

// add collects one line.
func (i *importer) add(l *line) error {
	i.rows++
	i.last = *l
	switch {
	case l.Fact != nil:
		return collect(&i.facts, l.Fact.saved(), &i.read.Facts)
	case l.Document != nil:
		return collect(&i.documents, driver.SavedSource{Source: *l.Document}, &i.read.Documents)
	case l.Chunk != nil && len(i.documents) > 0 && i.documents[len(i.documents)-1].ID == l.Chunk.Source:
		last := &i.documents[len(i.documents)-1]
		last.Records = append(last.Records, l.Chunk.record())
		return nil
	case l.Value != nil:
		return collect(&i.values, l.Value.saved(), &i.read.Values)
	case l.Conversation != nil:
		return collect(&i.conversations, driver.SavedSession{Session: *l.Conversation}, &i.read.Conversations)
	case l.Message != nil && len(i.conversations) > 0:
		last := &i.conversations[len(i.conversations)-1]
		last.Rows = append(last.Rows, l.Message.row())
		return nil
	case l.Turn != nil:
		return collect(&i.turns, l.Turn.saved(), &i.read.Turns)
	}
	return fmt.Errorf("neither a fact, document, chunk, value, conversation, message nor turn, or not where it belongs: %w", ErrFormat)
}

func collect[T any](list *[]T, one T, read *int) error {
	*list = append(*list, one)
	*read++
	return nil
}

// store stores the collected batch.
func (i *importer) store() error {
	err := flush(i.ctx, i.to.Facts(), &i.facts, &i.counts.Facts, restorableFact)
	if err == nil {
		err = flush(i.ctx, i.to.Documents(), &i.documents, &i.counts.Documents, restorableSource)
	}
	if err == nil {
		err = flush(i.ctx, i.to.Values(), &i.values, &i.counts.Values, restorableValue)
	}
	if err == nil {
		err = flush(i.ctx, i.to.Conversations(), &i.conversations, &i.counts.Conversations, restorableSession)
	}
	if err == nil {
		err = flush(i.ctx, i.to.Turns(), &i.turns, &i.counts.Turns, restorableTurn)
	}
	i.rows = 0
	if err != nil {
		return fmt.Errorf("lines %d to %d: %w", i.first, i.line, err)
	}
	if i.options.Progress != nil {
		i.options.Progress(i.counts)
	}
	return nil
}

// flush stores a list in its store, counts the new items, and empties the list.
func flush[T any](ctx context.Context, to interface {
	Restore(ctx context.Context, list []T) (int, error)
}, list *[]T, count *int, complete func(*T) error,
) error {
	if len(*list) == 0 {
		return nil
	}
	for j := range *list {
		if err := complete(&(*list)[j]); err != nil {
			return err
		}
	}
	n, err := to.Restore(ctx, *list)
	*count += n
	clear(*list)
	*list = (*list)[:0]
	return err
}
