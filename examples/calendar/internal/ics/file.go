package ics

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ErrNotFound says that the calendar has no such event.
var ErrNotFound = errors.New("there is no such event")

// MaxSize is the maximum size of a file, in bytes.
const MaxSize = 8 << 20

// A File is a calendar. It is safe for concurrent use, as long as no two goroutines
// change it at the same time.
type File struct {
	path string
	zone *time.Location
	now  func() time.Time
}

// Open opens a calendar, and reads it to check that it is one. Times without a zone are in the given zone.
func Open(path string, zone *time.Location) (*File, error) {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	f := &File{path: target, zone: zone, now: time.Now}
	_, err = f.read()
	return f, err
}

// Create creates a file with an empty calendar. It returns an error if the file exists.
func Create(path string, zone *time.Location) (*File, error) {
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = out.WriteString("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Weft//calendar example//EN\r\nEND:VCALENDAR\r\n")
	if err := errors.Join(err, out.Close()); err != nil {
		return nil, err
	}
	return Open(path, zone)
}

func (f *File) read() (*calendar, error) {
	in, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > MaxSize {
		return nil, fmt.Errorf("%s: %w: it is no file of at most %d MiB", f.path, errShape, MaxSize>>20)
	}
	var data strings.Builder
	data.Grow(int(info.Size()))
	if _, err := io.Copy(&data, io.LimitReader(in, MaxSize)); err != nil {
		return nil, err
	}
	root, err := parse(data.String())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	return &calendar{root: root, zone: f.zone, zones: map[string]knownZone{}, steps: &budget{maxSteps}}, nil
}

// An UnreadError says which events of a calendar could not be read. The other events are returned with it.
type UnreadError struct {
	errs []error
}

// maxNamed is the maximum number of events that an error names.
const maxNamed = 3

func (e *UnreadError) Error() string {
	text := errors.Join(e.errs[:min(len(e.errs), maxNamed)]...).Error()
	if more := len(e.errs) - maxNamed; more > 0 {
		text += fmt.Sprintf("\nand %d more events", more)
	}
	return text
}

func (e *UnreadError) Unwrap() []error { return e.errs }

// Between returns the events between two times, in order. The error is an [UnreadError] if some events could not be
// read.
func (f *File) Between(from, to time.Time) ([]Event, error) {
	return f.find(from, to, func(c *calendar, e *entry) ([]Event, error) {
		return c.between(e, from, to, func(*entry) bool { return true })
	})
}

// Search returns the events between two times that mention all words. Of an event that recurs, it returns only the
// first such occurrence. The error is an [UnreadError] if some events could not be read.
func (f *File) Search(words string, from, to time.Time) ([]Event, error) {
	known := map[*entry]bool{}
	fits := func(e *entry) bool {
		if _, ok := known[e]; !ok {
			known[e] = e.mentions(words)
		}
		return known[e]
	}
	return f.find(from, to, func(c *calendar, e *entry) ([]Event, error) {
		if !fits(e) && !slices.ContainsFunc(e.replaced, func(r *replacement) bool { return fits(r.entry) }) {
			return nil, nil
		}
		events, err := c.between(e, from, to, fits)
		slices.SortFunc(events, inOrder)
		return events[:min(len(events), 1)], err
	})
}

// A batch has the occurrences of an event that were found.
type batch struct {
	of    *entry
	found []Event
}

func (f *File) find(from, to time.Time, look func(*calendar, *entry) ([]Event, error)) ([]Event, error) {
	c, err := f.read()
	if err != nil {
		return nil, err
	}
	entries, errs := c.entries()
	var batches []batch
	total, several := 0, 0 // events, and batches with more than one
	for _, e := range entries {
		events, err := look(c, e)
		if err != nil {
			errs = append(errs, unreadable(e.at, err))
		}
		if len(events) == 0 {
			continue
		}
		batches = append(batches, batch{e, events})
		if len(events) > 1 {
			several++
		}
		if total += len(events); total > maxFound && several > 0 { // leave out the most frequent event, so that it hides no other
			most := mostFrequent(batches)
			out := batches[most]
			batches = slices.Delete(batches, most, most+1)
			several--
			total -= len(out.found)
			errs = append(errs, unreadable(out.of.at, fmt.Errorf("it is left out: %w", tooMany(from, to))))
		}
	}
	found := make([]Event, 0, total)
	for _, b := range batches {
		found = append(found, b.found...)
	}
	slices.SortFunc(found, inOrder)
	if more := len(found) - maxFound; more > 0 {
		errs = append(errs, fmt.Errorf("the last %d events are left out: %w", more, tooMany(from, to)))
		found = found[:maxFound]
	}
	if len(errs) > 0 {
		return found, &UnreadError{errs}
	}
	return found, nil
}

func tooMany(from, to time.Time) error {
	return fmt.Errorf("more than the limit of %d events are between %s and %s", maxFound, from.Format(time.DateOnly), to.Format(time.DateOnly))
}

// mostFrequent returns the index of the batch with the most events.
func mostFrequent(batches []batch) (at int) {
	for i, b := range batches {
		if len(b.found) > len(batches[at].found) {
			at = i
		}
	}
	return at
}

func inOrder(a, b Event) int {
	return cmp.Or(a.Start.Compare(b.Start), strings.Compare(a.ID, b.ID))
}

// Event returns the event, or the occurrence, with an id.
func (f *File) Event(id string) (Event, error) {
	c, err := f.read()
	if err != nil {
		return Event{}, err
	}
	e, one, err := c.lookup(id)
	if err != nil {
		return Event{}, err
	}
	return c.event(e, one), nil
}

// lookup finds the event with an id. For the id of an occurrence, it finds the event and the occurrence.
func (c *calendar) lookup(id string) (*entry, occurrence, error) {
	entries, errs := c.entries()
	mark := max(0, strings.LastIndex(id, "#"))
	want, bad := time.Parse(wallForm, strings.TrimPrefix(id[mark:], "#"))
	for _, e := range entries {
		if e.id == id {
			return e, occurrence{wall: e.start.wall}, nil
		}
		if e.id != id[:mark] || !e.recurs || bad != nil {
			continue
		}
		all, err := c.occurrences(e, want, want)
		gone, goneErr := c.excluded(e)
		if err := cmp.Or(err, goneErr); err != nil {
			return nil, occurrence{}, unreadable(e.at, err)
		}
		if r := e.replacing(want); r != nil && r.wall.Equal(want) && !e.in(gone, want) {
			all = append(all, occurrence{wall: want})
		}
		if len(all) > 0 {
			return e, all[0], nil
		}
	}
	err := fmt.Errorf("%w: %q", ErrNotFound, id)
	if len(errs) > 0 {
		err = errors.Join(err, &UnreadError{errs})
	}
	return nil, occurrence{}, err
}

// write replaces the file, unless the new file would be too large to read.
func (f *File) write(c *calendar) (err error) {
	var data bytes.Buffer
	if err := c.root.write(&data); err != nil {
		return err
	}
	lines := bytes.Count(data.Bytes(), []byte("\r\n")) - bytes.Count(data.Bytes(), []byte("\r\n "))
	if data.Len() > MaxSize || lines > maxLines {
		return fmt.Errorf("%s is not changed: it would have %d bytes and %d lines, and a calendar has at most %d bytes and %d lines", f.path, data.Len(), lines, MaxSize, maxLines)
	}
	info, err := os.Stat(f.path)
	if err != nil {
		return err
	}
	out, err := os.CreateTemp(filepath.Dir(f.path), filepath.Base(f.path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if gone := os.Remove(out.Name()); err == nil && !errors.Is(gone, fs.ErrNotExist) {
			err = gone
		}
	}()
	_, err = out.Write(data.Bytes())
	err = errors.Join(err, out.Chmod(info.Mode().Perm()), out.Sync(), out.Close())
	if err != nil {
		return err
	}
	return os.Rename(out.Name(), f.path)
}
