package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/internal/stored"
	"github.com/weft-go/weft/server/runs"
)

const doctorUsage = `usage: weft doctor [flags]

Looks for faults of a store and prints each with a remedy. It changes no data; beside a SQLite file, it may leave the
files FILE-wal, FILE-shm and FILE-lock, as each program that opens the file does. The exit status is 1 if there is
a fault. To find the threads of a SQLite file that a run holds, it takes the leases of threads with due tasks
for a moment; a run that begins at that moment is refused.

  of every store   reachable, writable, keys, schema, a sample of threads (readable, checksums), threads that are stuck,
                   clock, runs and threads beyond their retention, runs that no server takes
  SQLite           mode of the files, journal, log, free space, integrity of the file
  PostgreSQL       pooler, rights of the role, leases, parked threads, pgvector, row-level security
`

// errFaults is returned if the command has found faults and printed them.
var errFaults = errors.New("there are faults")

// A finding is the result of one check.
type finding struct {
	Check string `json:"check"`
	Fault bool   `json:"fault"`
	// Skipped says that the check was not made.
	Skipped bool   `json:"skipped,omitempty"`
	Text    string `json:"text"`
	Remedy  string `json:"remedy,omitempty"`
}

// A doctor looks for faults of one store.
type doctor struct {
	address
	keys   string
	role   string // the PostgreSQL role whose rights are checked
	now    func() time.Time
	free   func(folder string) (uint64, error)
	sample int
	idle   time.Duration // how long a thread may store nothing, or a run may wait, without a fault
	found  []finding
}

func runDoctor(ctx context.Context, args []string, std *streams) error {
	c := newCall(std, doctorUsage).ofDatabase().asJSON()
	d := &doctor{now: std.now, free: sqlitedb.FreeSpace}
	c.flags.IntVar(&d.sample, "sample", 200, "read this `NUMBER` of threads, chosen at random; 0 means all")
	c.flags.StringVar(&d.role, "role", "", "PostgreSQL: examine the rights of the `ROLE` of your programs, in place of those of this role")
	c.flags.DurationVar(&d.idle, "idle", 15*time.Minute, "a thread with due tasks is stuck after this `TIME` without a checkpoint")
	if err := c.parse(args); err != nil {
		return err
	}
	d.address, d.keys = c.source.address, c.source.keys
	d.examine(ctx)
	return c.printFindings(d.found)
}

func (d *doctor) examine(ctx context.Context) {
	if d.isPostgres() {
		d.postgres(ctx)
	} else {
		d.sqlite(ctx)
	}
}

func (c *call) printFindings(found []finding) error {
	faults := 0
	for _, f := range found {
		if f.Fault {
			faults++
		}
	}
	if c.json {
		if err := printJSON(c.out, map[string]any{"faults": faults, "findings": found}); err != nil {
			return err
		}
	} else {
		for _, f := range found {
			word := "ok"
			switch {
			case f.Fault:
				word = "FAULT"
			case f.Skipped:
				word = "skip"
			}
			say(c.out, "%-6s %-10s %s", word, f.Check, cell(f.Text))
			if f.Remedy != "" {
				say(c.out, "%-17s remedy: %s", "", cell(f.Remedy))
			}
		}
		say(c.out, "%s", counted(faults, "fault"))
	}
	if faults > 0 {
		return errFaults
	}
	return nil
}

func (d *doctor) ok(check, format string, args ...any) {
	d.found = append(d.found, finding{Check: check, Text: fmt.Sprintf(format, args...)})
}

// skip adds a finding for a check that was not made.
func (d *doctor) skip(check, format string, args ...any) {
	d.found = append(d.found, finding{Check: check, Skipped: true, Text: fmt.Sprintf(format, args...)})
}

func (d *doctor) fault(check, remedy, format string, args ...any) {
	d.found = append(d.found, finding{Check: check, Fault: true, Text: fmt.Sprintf(format, args...), Remedy: remedy})
}

// A lessor reports which of the threads are held by a run. If anywhere is true and -tenant names no tenant, it looks for
// the threads in all tenants.
type lessor func(ctx context.Context, threads []string, anywhere bool) (held map[string]bool, err error)

// contents checks the values, threads and runs of an open store.
func (d *doctor) contents(ctx context.Context, s *store) {
	cp, err := decrypted(ctx, s.checkpoints, d.keys)
	switch {
	case err == nil:
	case errors.Is(err, errNotEncrypted):
		d.fault("keys", "leave out -keys", "%v", err)
		return
	case errors.Is(err, checkpoint.ErrFormat) && d.keys != "":
		d.fault("keys", "use the version of weft that wrote the values", "%v", err)
		return
	case errors.Is(err, checkpoint.ErrDecrypt):
		d.fault("keys", "give the file with the keys of the program by -keys", "%v", err)
		return
	default: // reading the sample of threads reports the error
		cp = s.checkpoints
	}
	if d.keys != "" && err == nil {
		d.ok("keys", "the keys decrypt the values")
	}
	r := &storedThreads{&store{checkpoints: cp, runs: s.runs}}
	chosen, total, err := d.choose(ctx, cp)
	if err != nil {
		d.fault("threads", "restore the store from a backup if the error stays", "the threads cannot be listed: %v", err)
		return
	}
	d.read(ctx, r, chosen, total)
	d.stuck(ctx, r, chosen, total, s.held)
	d.retention(ctx, s.runs)
	d.waiting(ctx, s)
}

// waiting looks for runs that wait because no server executes them.
func (d *doctor) waiting(ctx context.Context, s *store) {
	const remedy = "start a server, or more of them; look at its log if it runs"
	if s.queue != nil {
		switch st, err := s.queue(ctx); {
		case err != nil:
			d.fault("queue", "", "the queue cannot be read: %v", err)
		case st.Waiting > 0 && st.Oldest > d.idle:
			d.fault("queue", remedy, "%s waiting in the queue of the servers, the first since %s; %d running", counted(st.Waiting, "thread"), short(st.Oldest), st.Running)
		default:
			d.ok("queue", "%s waiting, %d running", counted(st.Waiting+st.Held, "thread"), st.Running)
		}
		return
	}
	c, err := inProcess(&store{checkpoints: s.checkpoints, runs: s.runs, close: func() error { return nil }})
	if err != nil {
		d.fault("queue", "", "the runs cannot be read: %v", err)
		return
	}
	list, err := c.runs(ctx, map[string]any{"status": waiting}, 0)
	if err = errors.Join(err, c.close()); err != nil {
		d.fault("queue", "", "the runs cannot be read: %v", err)
		return
	}
	total, executed := queueRow{}, []string{}
	for i := range list {
		if total.add(&list[i], d.now()); list[i].Status == "running" {
			executed = append(executed, list[i].Thread)
		}
	}
	if total.Oldest == nil || d.now().Sub(*total.Oldest) <= d.idle {
		d.ok("queue", "%s waiting, %d running", counted(total.Waiting, "run"), total.Running)
		return
	}
	held, err := s.held(ctx, executed, true)
	switch {
	case err != nil:
		d.fault("queue", "", "the leases cannot be read: %v", err)
	case len(held) == 0:
		dead := ""
		if total.Running > 0 { // a server has died and left these records
			dead = fmt.Sprintf("; %s marked as running, and no run holds the thread", counted(total.Running, "run"))
		}
		d.fault("queue", remedy, "%s waiting, the first since %s, and none is executed%s", counted(total.Waiting, "run"), short(d.now().Sub(*total.Oldest)), dead)
	default:
		d.ok("queue", "%s waiting, %d running", counted(total.Waiting, "run"), total.Running)
	}
}

// choose returns a random sample of the threads, and the total number of threads.
func (d *doctor) choose(ctx context.Context, s checkpoint.Store) (chosen []checkpoint.ThreadInfo, total int, err error) {
	lister, ok := s.(checkpoint.ThreadLister)
	if !ok {
		return nil, 0, errors.ErrUnsupported
	}
	for info, err := range lister.ListThreads(ctx, "") {
		if err != nil && (info.ID == "" || !damaged(err)) { // d.read reports the fault of a damaged thread
			return nil, 0, err
		}
		total++
		if d.sample <= 0 || len(chosen) < d.sample {
			chosen = append(chosen, info)
		} else if i := rand.IntN(total); i < d.sample {
			chosen[i] = info
		}
	}
	return chosen, total, nil
}

// read reads the newest checkpoint of each chosen thread with its lineage, which checks their checksums.
func (d *doctor) read(ctx context.Context, t *storedThreads, chosen []checkpoint.ThreadInfo, total int) {
	damaged, ahead, checkpoints := []string{}, time.Duration(0), 0
	var first error
	for _, info := range chosen {
		ahead = max(ahead, info.Updated.Sub(d.now()))
		_, err := t.db.checkpoints.Get(ctx, checkpoint.Key{Thread: info.ID})
		if errors.Is(err, checkpoint.ErrNotFound) {
			continue // it was deleted, or has checkpoints of subgraphs only
		}
		if err != nil {
			damaged = append(damaged, info.ID)
			if first == nil {
				first = err
			}
		}
		checkpoints += info.Checkpoints
	}
	if len(damaged) > 0 {
		remedy := "restore the threads from a backup, or delete them"
		if d.isPostgres() {
			remedy = "restore the threads from a backup; pgcheckpoint.Store.Repair removes damaged checkpoints from the end of a thread"
		}
		d.fault("data", remedy, "%d of %d read threads cannot be read: %s: %v", len(damaged), len(chosen), some(damaged), first)
	} else {
		d.ok("data", "%s of %d read, with %s", counted(len(chosen), "thread"), total, counted(checkpoints, "checkpoint"))
	}
	if ahead > skewLimit && !d.isPostgres() {
		d.fault("clock", "set the clock of this machine", "a checkpoint is %s younger than the present: the clock of this machine is behind, or was ahead when the checkpoint was stored", short(ahead))
	}
}

// skewLimit is the largest difference between two clocks that is not a fault.
const skewLimit = 5 * time.Second

// some returns at most three ids, separated by commas. An ellipsis stands for further ones.
func some(ids []string) string {
	text := strings.Join(ids[:min(len(ids), 3)], ", ")
	if len(ids) > 3 {
		text += ", …"
	}
	return text
}

// stuck looks for chosen threads that have due tasks and no run, and have not changed for the idle time. A thread whose
// newest run a client has cancelled is not stuck.
func (d *doctor) stuck(ctx context.Context, t *storedThreads, chosen []checkpoint.ThreadInfo, total int, held lessor) {
	var ids []string
	for _, info := range chosen {
		if d.now().Sub(info.Updated) < d.idle {
			continue
		}
		for c, err := range t.db.checkpoints.List(ctx, checkpoint.Query{Thread: info.ID, Limit: 1, Writes: true}) {
			if err == nil && stored.StatusOf(&c) == stored.Busy {
				ids = append(ids, info.ID)
			}
		}
	}
	busy, err := held(ctx, ids, false)
	if err != nil {
		d.fault("stuck", "", "the leases cannot be read: %v", err)
		return
	}
	var stuck []string
	for _, id := range ids {
		if busy[id] {
			continue
		}
		cancelled, err := wasCancelled(ctx, t.db.runs, id)
		if err != nil {
			d.fault("stuck", "", "the runs of thread %s cannot be searched: %v", id, err)
			return
		}
		if !cancelled {
			stuck = append(stuck, id)
		}
	}
	of := ""
	if len(chosen) < total {
		of = fmt.Sprintf("; looked at %d of %d threads, -sample 0 looks at all", len(chosen), total)
	}
	switch {
	case len(stuck) > 0:
		d.fault("stuck", "continue them: weft threads resume THREAD -server URL, or Thread.Invoke in the program",
			"%s with due tasks and no run for longer than %s: %s%s", counted(len(stuck), "thread"), short(d.idle), some(stuck), of)
	case of != "":
		d.ok("stuck", "looked at %d of %d threads, and none has due tasks and no run for longer than %s; -sample 0 looks at all", len(chosen), total, short(d.idle))
	default:
		d.ok("stuck", "no thread with due tasks is without a run for longer than %s", short(d.idle))
	}
}

// wasCancelled reports whether a client has cancelled the newest run of a thread of a server.
func wasCancelled(ctx context.Context, s runs.Store, thread string) (bool, error) {
	found, _, err := s.Search(ctx, runs.Query{Kind: runs.Run, Parent: thread, Reverse: true, Limit: 1, Uncounted: true})
	return len(found) > 0 && found[0].Status == interrupted, err
}

// grace is the time within which a server removes an expired record.
const grace = time.Hour

// retention looks for records that a server should have removed.
func (d *doctor) retention(ctx context.Context, s runs.Store) {
	for _, kind := range []runs.Kind{runs.Thread, runs.Run} {
		found, total, err := s.Search(ctx, runs.Query{Kind: kind, Expired: d.now().Add(-grace), Limit: 3})
		if err != nil {
			d.fault("retention", "", "the %ss of the server cannot be searched: %v", kind, err)
			return
		}
		if total > 0 {
			var ids []string
			for i := range found {
				ids = append(ids, found[i].ID)
			}
			d.fault("retention", "start the server, which removes them; its log says why if it does not", "%s older than their retention: %s", counted(total, string(kind)), some(ids))
			return
		}
	}
	d.ok("retention", "nothing has outlived its retention")
}
