package main

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/sqliteruns"
)

// textOf returns the text of the finding of a check, or "" if the check was not made.
func (d *doctor) textOf(check string) string {
	i := slices.IndexFunc(d.found, func(f finding) bool { return f.Check == check })
	if i < 0 {
		return ""
	}
	return d.found[i].Text
}

func TestDoctorSaysWhatItHasNotRead(t *testing.T) {
	t.Parallel()
	file := sqliteFile(t)
	d := &doctor{address: address{db: file}, sample: 2, idle: 24 * time.Hour}
	assert.Empty(t, faultsOf(t, d))
	assert.Equal(t, "looked at 2 of 4 threads, and none has due tasks and no run for longer than 24h; -sample 0 looks at all", d.textOf("stuck"))

	s, err := sqlitecheckpoint.Open(t.Context(), file, sqlitecheckpoint.Options{})
	require.NoError(t, err)
	for _, id := range []string{"order-1", "order-2", "order-3"} {
		require.NoError(t, s.DeleteThread(t.Context(), id))
	}
	var copier checkpoint.ThreadCopier = s
	require.NoError(t, copier.CopyThread(t.Context(), "order-4", "order-5"))
	require.NoError(t, s.Close())
	d = &doctor{address: address{db: file}, sample: 1, now: func() time.Time { return time.Now().Add(time.Hour) }}
	only(t, d, "stuck", "; looked at 1 of 2 threads, -sample 0 looks at all", "resume")
}

// A thread whose newest run a client has cancelled waits for a person, and is not stuck.
func TestDoctorLeavesOutThreadsOfCancelledRuns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		older, newest string
		stuck         bool
	}{
		"cancelled":                   {"success", interrupted, false},
		"failed after a cancellation": {interrupted, "error", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := sqliteFile(t)
			s, err := sqliteruns.Open(t.Context(), file, sqliteruns.Options{})
			require.NoError(t, err)
			at := time.Now().Truncate(time.Microsecond)
			for i, status := range []string{c.older, c.newest} {
				at := at.Add(time.Duration(i) * time.Minute)
				require.NoError(t, s.Insert(t.Context(), runs.Record{
					Kind: runs.Run, ID: "run-" + status, Parent: "order-4", Status: status, Created: at, Updated: at, Metadata: json.RawMessage(`{}`), Data: json.RawMessage(`{}`),
				}))
			}
			require.NoError(t, s.Close())
			d := &doctor{address: address{db: file}, now: func() time.Time { return time.Now().Add(time.Hour) }}
			if c.stuck {
				only(t, d, "stuck", "order-4", "resume")
				return
			}
			assert.Empty(t, faultsOf(t, d))
		})
	}
}

func TestDoctorLooksAtTheLeasesOfAllTenants(t *testing.T) {
	t.Parallel()
	p := newPostgresStore(t, pgtest.DirectURL(t), pgtest.Schema(t))
	s, err := pgcheckpoint.Open(t.Context(), p.url, pgcheckpoint.Options{Schema: p.schema, Tenant: "acme"})
	require.NoError(t, err)
	fill(t, s)
	s.Close()
	assert.Empty(t, faultsOf(t, p.doctor))
	assert.Equal(t, "threads of 1 tenant are not part of the checks data and stuck; -tenant chooses one", p.textOf("tenants"))

	p.exec(t, "UPDATE weft.cp_thread SET owner = gen_random_uuid(), epoch = epoch + 1, until = now() - interval '1 minute' WHERE id = 'order-4'")
	p.found = nil
	only(t, p.doctor, "leases", "not released: order-4 (tenant acme)", "resume")
	p.found, p.tenant = nil, "acme"
	only(t, p.doctor, "leases", "not released: order-4", "resume")
	assert.Empty(t, p.textOf("tenants"))
	p.found, p.tenant = nil, "other"
	assert.Empty(t, faultsOf(t, p.doctor))
}

// A server has died and left a run with the status running, for which the next run of the thread waits. The doctor reports
// the waiting run as a fault.
func TestDoctorNamesARunThatWaitsBehindADeadServer(t *testing.T) {
	t.Parallel()
	file := sqliteFile(t)
	r, err := sqliteruns.Open(t.Context(), file, sqliteruns.Options{})
	require.NoError(t, err)
	at := time.Now().Add(-time.Hour).Truncate(time.Microsecond)
	for id, status := range map[string]string{"a": "running", "b": "pending"} {
		require.NoError(t, r.Insert(t.Context(), runs.Record{
			Kind: runs.Run, ID: served[:35] + id, Parent: served, Status: status,
			Created: at, Updated: at, Metadata: json.RawMessage(`{}`), Data: json.RawMessage(`{}`),
		}))
	}
	require.NoError(t, r.Close())
	only(t, &doctor{address: address{db: file}}, "queue", "1 run waiting, the first since 1h, and none is executed; 1 run marked as running, and no run holds the thread", "start a server")

	s, err := sqlitecheckpoint.Open(t.Context(), file, sqlitecheckpoint.Options{})
	require.NoError(t, err)
	lease, err := s.Lease(t.Context(), served)
	require.NoError(t, err)
	d := &doctor{address: address{db: file}}
	assert.Empty(t, faultsOf(t, d))
	assert.Equal(t, "1 run waiting, 1 running", d.textOf("queue"))
	require.NoError(t, lease.Release(t.Context()))
	require.NoError(t, s.Close())
}
