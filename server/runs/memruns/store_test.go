package memruns_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/server/runs/runstest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	runstest.Run(t, func(testing.TB) runs.Store { return memruns.New() })
}

// A packing store compresses the events after each call of Append.
type packing struct{ *memruns.Store }

func (s packing) Append(ctx context.Context, thread string, events []runs.Event, replaced ...runs.Record) error {
	err := s.Store.Append(ctx, thread, events, replaced...)
	s.Pack(thread)
	return err
}

func TestConformanceWithCompressedEvents(t *testing.T) {
	t.Parallel()
	runstest.Run(t, func(testing.TB) runs.Store { return packing{memruns.New()} })
}

// The events of a long run are stored one by one and take little memory: the fields that an event shares with the
// previous one are not stored again.
func TestAnEventOfALongRunIsSmall(t *testing.T) {
	t.Parallel()
	const n = 12_000
	s := memruns.New()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i := range int64(n) {
		at = at.Add(50*time.Millisecond + time.Duration(i*i%997)*time.Microsecond)
		require.NoError(t, s.Append(t.Context(), "t", []runs.Event{{
			Seq: i + 1, Run: "0192f3a4-7c1d-7f00-9f3e-1234567890ab", Time: at, Kind: "custom", Node: "work", Task: "0192f3a4-7c1d-7f00-9f3e-abcdefabcdef", Step: 1,
			Data: json.RawMessage(fmt.Sprintf(`{"at":%d,"i":%d}`, at.UnixMicro(), i)),
		}}))
	}
	assert.Less(t, s.Size("t")/n, 22, "bytes an event")
	events, err := s.Events(t.Context(), "t", n-1, 0)
	require.NoError(t, err)
	require.Len(t, events, 1)
	assert.Equal(t, at, events[0].Time)
	assert.Equal(t, "work", events[0].Node)
}

// In a long log, only some events are compressed. This makes no difference for readers, trims and deletions.
func TestEventsOfALongLog(t *testing.T) {
	t.Parallel()
	const n = 3000
	s := memruns.New()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	require.NoError(t, s.Insert(t.Context(), runs.Record{Kind: runs.Run, ID: "even", Parent: "t"}))
	for i := range int64(n) {
		e := runs.Event{Seq: i + 1, Run: "odd", Time: at.Add(time.Duration(i) * time.Second), Data: json.RawMessage(`"` + strings.Repeat("x", int(i)) + `"`)}
		if e.Seq%2 == 0 {
			e.Run = "even"
		}
		require.NoError(t, s.Append(t.Context(), "t", []runs.Event{e}))
	}
	want := int64(1)
	for after := int64(0); ; {
		events, err := s.Events(t.Context(), "t", after, 100)
		require.NoError(t, err)
		if len(events) == 0 {
			break
		}
		for _, e := range events {
			require.Equal(t, want, e.Seq)
			require.Len(t, e.Data, int(e.Seq)+1)
			want++
		}
		after = events[len(events)-1].Seq
	}
	require.Equal(t, int64(n+1), want)

	removed, err := s.Trim(t.Context(), "t", runs.Bounds{Since: at.Add(100 * time.Second)})
	require.NoError(t, err)
	assert.Equal(t, 100, removed)
	require.NoError(t, s.Delete(t.Context(), runs.Run, "even"))
	left := int64(0)
	events, err := s.Events(t.Context(), "t", 0, 0)
	require.NoError(t, err)
	for i, e := range events {
		assert.Equal(t, int64(101+2*i), e.Seq)
		left += int64(len(e.Data))
	}
	assert.Len(t, events, (n-100)/2)
	removed, err = s.Trim(t.Context(), "t", runs.Bounds{Bytes: left})
	require.NoError(t, err)
	assert.Zero(t, removed)
	removed, err = s.Trim(t.Context(), "t", runs.Bounds{Bytes: left - 1})
	require.NoError(t, err)
	assert.Equal(t, 1, removed)
	removed, err = s.Trim(t.Context(), "t", runs.Bounds{Bytes: 1})
	require.NoError(t, err)
	assert.Equal(t, len(events)-1, removed)
}
