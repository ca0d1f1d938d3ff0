package ics

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ErrNotFound says that the calendar has no such event.
var ErrNotFound = errors.New("there is no such event")

// MaxSize is how large a file may be.
const MaxSize = 32 << 20

// A File is a calendar. It may be used by any number of goroutines as long as no
// two of them change it at the same time.
type File struct {
	path string
	zone *time.Location
	now  func() time.Time
}

// Open opens a calendar, which it reads to find out whether it is one. Times
// without a zone are those of the zone given here.
func Open(path string, zone *time.Location) (*File, error) {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	f := &File{path: target, zone: zone, now: time.Now}
	_, err = f.read()
	return f, err
}

// Create makes an empty calendar where there is none.
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
	info, err := os.Stat(f.path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > MaxSize {
		return nil, fmt.Errorf("%s: %w: it is no file of at most %d MiB", f.path, errShape, MaxSize>>20)
	}
	data, err := os.ReadFile(f.path)
	if err != nil {
		return nil, err
	}
	root, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	return &calendar{root, f.zone, map[string]zone{}}, nil
}

// Between returns what happens within a time, in its order, and what of the file
// could not be read.
func (f *File) Between(from, to time.Time) ([]Event, error) {
	return f.find(from, to, 1000, func(Event) bool { return true })
}

// Search returns the events within a time that mention words; of one that recurs
// the first such occurrence.
func (f *File) Search(words string, from, to time.Time) ([]Event, error) {
	return f.find(from, to, 1, func(e Event) bool { return e.Mentions(words) })
}

func (f *File) find(from, to time.Time, limit int, fits func(Event) bool) ([]Event, error) {
	c, err := f.read()
	if err != nil {
		return nil, err
	}
	entries, errs := c.entries()
	var found []Event
	for id, e := range entries {
		events, err := c.between(e, from, to, limit)
		if err != nil {
			errs = append(errs, fmt.Errorf("event %q: %w", id, err))
		}
		for _, event := range events {
			if fits(event) {
				found = append(found, event)
			}
		}
	}
	slices.SortFunc(found, func(a, b Event) int {
		if n := a.Start.Compare(b.Start); n != 0 {
			return n
		}
		return strings.Compare(a.ID, b.ID)
	})
	if len(found) == 0 { // what can not be read may be what was meant
		return nil, errors.Join(errs...)
	}
	return found, nil
}

// Event returns the event, or the occurrence, of an id.
func (f *File) Event(id string) (Event, error) {
	c, err := f.read()
	if err != nil {
		return Event{}, err
	}
	e, wall, err := c.lookup(id)
	if err != nil {
		return Event{}, err
	}
	return c.event(e, wall)
}

// lookup finds an event and, if the id is that of an occurrence, its time.
func (c *calendar) lookup(id string) (*entry, time.Time, error) {
	entries, _ := c.entries()
	if e, ok := entries[id]; ok {
		return e, e.start.wall, nil
	}
	at := strings.LastIndex(id, "#")
	if at < 0 || entries[id[:at]] == nil {
		return nil, time.Time{}, fmt.Errorf("%w: %q", ErrNotFound, id)
	}
	e := entries[id[:at]]
	want, err := time.Parse(wallForm, id[at+1:])
	found := false
	if err == nil {
		err = c.walls(e, func(wall time.Time) bool {
			found = wall.Equal(want)
			return !found && !wall.After(want)
		})
	}
	if err != nil || !found {
		return nil, time.Time{}, fmt.Errorf("%w: %q", ErrNotFound, id)
	}
	return e, want, nil
}

// write replaces the file.
func (f *File) write(c *calendar) (err error) {
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
	err = errors.Join(c.root.write(out), out.Chmod(info.Mode().Perm()), out.Sync(), out.Close())
	if err != nil {
		return err
	}
	return os.Rename(out.Name(), f.path)
}
