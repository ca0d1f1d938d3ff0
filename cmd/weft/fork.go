package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/uuid"
)

const forkUsage = `usage: weft threads fork THREAD [flags]

Copies a thread to a new one and prints its id. The original does not change. With -at, the copy ends at
that checkpoint: what was stored after it, and the answers and results that were pending, are left out.

With -server, the server makes the copy and chooses its id. With -db, the copy is made in the store;
-at needs -db.
`

func runFork(ctx context.Context, args []string, std *streams) (err error) {
	c := newCall(std, forkUsage).ofDatabase().ofServer()
	at, to := "", ""
	c.flags.StringVar(&at, "at", "", "the `CHECKPOINT` at which the copy ends")
	c.flags.StringVar(&to, "to", "", "the `ID` of the copy (default: a new UUID); needs -db")
	if err := c.parse(args, "THREAD"); err != nil {
		return err
	}
	if c.source.server != "" {
		if at != "" || to != "" {
			return fmt.Errorf("%w: -at and -to need -db", errUsage)
		}
		to, err = c.forkServed(ctx)
	} else {
		to, err = c.forkStored(ctx, at, to)
	}
	if err != nil {
		return err
	}
	say(c.out, "%s", cell(to))
	return nil
}

func (c *call) forkServed(ctx context.Context) (string, error) {
	server, err := c.source.client()
	if err != nil {
		return "", err
	}
	var made servedThread
	err = server.call(ctx, http.MethodPost, path(c.args[0])+"/copy", json.RawMessage("{}"), &made)
	if isMissing(err) {
		err = missing(c.args[0], "")
	}
	return made.ID, errors.Join(err, server.close())
}

// forkStored copies a thread within its store. If at is not empty, the copy ends at this checkpoint.
func (c *call) forkStored(ctx context.Context, at, to string) (_ string, err error) {
	db, err := c.source.opened(ctx, c.source.keys)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.close()) }()
	thread, to := c.args[0], cmp.Or(to, uuid.New())
	if copier, ok := db.checkpoints.(checkpoint.ThreadCopier); ok && at == "" {
		err := copier.CopyThread(ctx, thread, to)
		switch {
		case errors.Is(err, checkpoint.ErrNotFound):
			err = missing(thread, "")
		case errors.Is(err, checkpoint.ErrConflict):
			err = exists(to)
		}
		return to, err
	}
	t, err := readTransfer(ctx, db.checkpoints, thread)
	if err != nil {
		return "", err
	}
	if at != "" {
		var found bool
		if t, found = t.until(at); !found {
			return "", missing(thread, at)
		}
	}
	return to, t.write(ctx, db.checkpoints, to)
}
