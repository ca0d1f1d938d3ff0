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
	say(c.err, "Imported %s.", count(n, "thread"))
	return err
}

// load stores the threads of a file and returns their number.
func load(ctx context.Context, s checkpoint.Store, in io.Reader) (int, error) {
	dec := json.NewDecoder(bufio.NewReader(in))
	var first line
	if err := dec.Decode(&first); err != nil || first.Format != exportFormat {
		return 0, fmt.Errorf("this is no file of threads: its first line is not {\"format\":%q}", exportFormat)
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
		var l line
		err := dec.Decode(&l)
		if errors.Is(err, io.EOF) {
			return n, store()
		}
		if err != nil || l.Thread == "" || l.ID == "" {
			return n, errors.Join(fmt.Errorf("checkpoint %d of the file cannot be read", i-1), err)
		}
		if len(t) > 0 && t[0].Thread != l.Thread {
			if err := store(); err != nil {
				return n, err
			}
		}
		t = append(t, l.transferred())
	}
}
