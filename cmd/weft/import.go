package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/weft-go/weft/checkpoint"
)

const importUsage = `usage: weft threads import FILE [flags]

Reads threads that weft threads export has written; a dash stands for the standard input. A thread that
exists in the store is an error, and nothing of it is changed; the threads before it in the file stay.
So do those before the place where a file ends early; the thread at that place is not imported.
The checkpoints keep their ids and order, and get new times.
`

func runImport(ctx context.Context, args []string, std *streams) (err error) {
	c := newCall(std, importUsage).ofDatabase()
	create := c.createFlag()
	if err := c.parse(args, "FILE"); err != nil {
		return err
	}
	in := c.in
	if c.args[0] != "-" {
		f, err := os.Open(c.args[0])
		if err != nil {
			return fmt.Errorf("open the file of threads: %w", err)
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	if *create {
		if _, err := c.source.create(ctx); err != nil {
			return err
		}
	}
	db, err := c.source.opened(ctx, c.source.keys)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.close()) }()
	n, err := load(ctx, db.checkpoints, in)
	say(c.err, "Imported %s.", counted(n, "thread"))
	return err
}

// load stores the threads of a file and returns their number.
func load(ctx context.Context, s checkpoint.Store, in io.Reader) (int, error) {
	dec := json.NewDecoder(bufio.NewReader(in))
	if err := checkFirst(dec); err != nil {
		return 0, err
	}
	n := 0
	var t transfer
	store := func() error {
		if len(t) == 0 {
			return nil
		}
		err := t.write(ctx, s, t[0].Thread)
		if err == nil {
			n++
		}
		t = nil
		return err
	}
	for i := 2; ; i++ {
		l, err := readLine(dec, i)
		if err != nil {
			return n, err
		}
		if l.End != nil {
			if err = l.End.check(lineEnd{n + min(len(t), 1), i - 2}, dec.More()); err == nil {
				err = store()
			}
			return n, err
		}
		if len(t) > 0 && t[0].Thread != l.Thread {
			if err := store(); err != nil {
				return n, err
			}
		}
		t = append(t, l.transferred())
	}
}

// readLine reads the next line. It returns an error if the line was exported with another number.
func readLine(dec *json.Decoder, number int) (l line, err error) {
	err = dec.Decode(&l)
	switch {
	case errors.Is(err, io.EOF):
		err = errors.New("the file is not complete: its last line, which has the number of its threads, is missing; export the threads again")
	case err != nil, l.End == nil && (l.Thread == "" || l.ID == ""):
		err = errors.Join(fmt.Errorf("line %d of the file cannot be read", number), err)
	case l.Line != 0 && l.Line != number:
		err = fmt.Errorf("the file is damaged: its line %d was line %d when it was exported, so lines are missing or not in their order; export the threads again", number, l.Line)
	}
	return l, err
}

// checkFirst reads the first line, and returns an error unless it has the export format.
func checkFirst(dec *json.Decoder) error {
	var first line
	if err := dec.Decode(&first); err != nil || first.Format != exportFormat {
		return fmt.Errorf("this is no file of threads: its first line is not {\"format\":%q}", exportFormat)
	}
	return nil
}

// check returns an error if the counts of the last line differ from have, the counts of the file, or if more lines follow.
func (e *lineEnd) check(have lineEnd, more bool) error {
	if *e == have && !more {
		return nil
	}
	text := ""
	if more {
		text = ", and more lines after it"
	}
	return fmt.Errorf("the file is damaged: its last line counts %s and %s, and it has %d and %d%s; export the threads again",
		counted(e.Threads, "thread"), counted(e.Checkpoints, "checkpoint"), have.Threads, have.Checkpoints, text)
}
