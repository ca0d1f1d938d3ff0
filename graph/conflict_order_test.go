package graph_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
)

// inOrder runs a test in a synctest bubble, on a store with leases and on a store without leases.
func inOrder(t *testing.T, test func(t *testing.T, g *gated)) {
	t.Parallel()
	for name, open := range map[string]func() checkpoint.Store{
		"leases":    func() checkpoint.Store { return memcheckpoint.New(memcheckpoint.Options{}) },
		"no leases": func() checkpoint.Store { s := memcheckpoint.New(memcheckpoint.Options{}); return bareStore{s, s} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { test(t, newGated(t, open())) })
		})
	}
}

func TestConflictWaitRunsInTheOrderOfArrival(t *testing.T) {
	inOrder(t, func(t *testing.T, g *gated) {
		held := g.start(t, "t")
		want := []string{"first", "held", "last"}
		var all sync.WaitGroup
		for i := range 12 {
			text := fmt.Sprint(i)
			all.Go(func() {
				_, err := with(g, "t", graph.ConflictWait).Invoke(t.Context(), note.Put(text))
				assert.NoError(t, err)
			})
			synctest.Wait() // the run waits for the thread
			want = append(want, "first", text, "last")
		}
		close(g.release)
		all.Wait()
		require.NoError(t, (<-held).err)
		require.Equal(t, want, trail.Get(snapshot(t, g.Thread("t"))))
	})
}

func TestConflictInterruptComesBeforeRunsThatWait(t *testing.T) {
	inOrder(t, func(t *testing.T, g *gated) {
		held := g.start(t, "t")
		waiting := run(t, with(g, "t", graph.ConflictWait), note.Put("waited"))
		synctest.Wait()
		_, err := with(g, "t", graph.ConflictInterrupt).Invoke(t.Context(), note.Put("stopped it"))
		require.NoError(t, err)
		require.ErrorIs(t, (<-held).err, graph.ErrSuperseded)
		got := <-waiting
		require.NoError(t, got.err, "a run that waits is not stopped")
		require.Equal(t, []string{"first", "first", "stopped it", "last", "first", "waited", "last"}, trail.Get(got.snap))
	})
}

func TestRunThatGivesUpWaitingLeavesTheLine(t *testing.T) {
	inOrder(t, func(t *testing.T, g *gated) {
		held := g.start(t, "t")
		ctx, cancel := context.WithCancelCause(t.Context())
		impatient := make(chan error, 1)
		go func() {
			_, err := with(g, "t", graph.ConflictWait).Invoke(ctx, note.Put("impatient"))
			impatient <- err
		}()
		synctest.Wait()
		patient := run(t, with(g, "t", graph.ConflictWait), note.Put("patient"))
		synctest.Wait()
		gone := errors.New("gone")
		cancel(gone)
		require.ErrorIs(t, <-impatient, gone)
		close(g.release)
		require.NoError(t, (<-held).err)
		got := <-patient
		require.NoError(t, got.err)
		require.Equal(t, []string{"first", "held", "last", "first", "patient", "last"}, trail.Get(got.snap))
	})
}
