package supacheckpoint_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// fragments are what statements are broken out of with.
var fragments = []string{
	`'`, `"`, `''`, `\`, `\'`, `;`, `--`, `/*`, `*/`, `$$`, `$1`, `$do$`, `(`, `)`, `%`, `_`, `%s`, `{}`, `[]`, `->>`, `@>`, `?`, `||`, `::text`,
	` OR 1=1`, ` OR true --`, `' OR '1'='1`, `'; DROP TABLE weft.cp_step; --`, `" OR "x"="x`, `' UNION SELECT * FROM weft.cp_thread --`,
	`'; SET ROLE postgres; --`, `'; RESET ROLE; --`, `') RETURNING 1; --`, `'||pg_sleep(5)||'`, `1; SELECT pg_sleep(5)`, `{"$ne":null}`,
	`current_user`, `set_config('role','postgres',true)`, "\n", "\t", "\r", "\u2028", "\u00a0", "ʼ", "＇", "é", "\U0001f600", "ann", ann,
}

// hostileText is several of them.
func hostileText(random *rand.Rand) string {
	var b strings.Builder
	for range 1 + random.IntN(6) {
		b.WriteString(fragments[random.IntN(len(fragments))])
	}
	return b.String()
}

// Whatever a text is that comes from outside, it is a value: no statement is broken, and
// nothing of another user is reached. WEFT_INJECTIONS says how many rounds of 14 calls.
func TestInjection(t *testing.T) {
	t.Parallel()
	for name, newPlace := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := documentPlace(t, newPlace)
			store := p.open(t)
			anns := as(t, store, ann)
			putAll(t, anns, annsThread, 3)
			user, proposal := member(t, p)
			random := rand.New(rand.NewPCG(4, 4))
			var wg sync.WaitGroup
			for range 4 {
				attacks := &injector{store: as(t, store, user), random: rand.New(rand.NewPCG(random.Uint64(), 0)), user: user}
				attacks.documents = proposals(t, attacks.store, about(proposal))
				wg.Go(func() { attacks.run(t, count("WEFT_INJECTIONS", 300)/4) })
			}
			wg.Wait()
			if c, err := anns.Get(t.Context(), checkpoint.Key{Thread: annsThread}); err != nil || len(c.Lineage) != 3 {
				t.Errorf("ann's thread: got %d deltas, error %v", len(c.Lineage), err)
			}
			for thread, err := range anns.ListThreads(t.Context(), "") {
				if err != nil || thread.ID != annsThread {
					t.Errorf("ann has the thread %q, error %v", thread.ID, err)
				}
			}
		})
	}
}

// annsThread is no text that an injector makes.
const annsThread = "the plan of ann"

type injector struct {
	store     *supacheckpoint.Store
	documents *supacheckpoint.Proposals
	random    *rand.Rand
	user      string
}

func (i *injector) text() string { return hostileText(i.random) }

func (i *injector) run(t *testing.T, times int) {
	ctx := context.Background()
	for n := range times {
		c := step(i.text(), 1)
		c.Namespace, c.Run, c.Version = i.text(), i.text(), i.text()
		c.Metadata = map[string]string{i.text(): i.text()}
		for what, err := range map[string]error{
			"put":      i.store.Put(ctx, c, ""),
			"writes":   i.store.PutWrites(ctx, c.Key, []checkpoint.Write{{Task: i.text(), Channel: i.text()}}),
			"tag":      i.store.Tag(ctx, c.Key, i.text()),
			"untag":    i.store.Untag(ctx, c.Thread, i.text()),
			"copy":     i.store.CopyThread(ctx, i.text(), i.text()),
			"runs":     i.store.DeleteRuns(ctx, i.text(), i.text()),
			"delete":   i.store.DeleteThread(ctx, i.text()),
			"session":  i.store.PutSession(ctx, i.text(), supacheckpoint.SessionUpdate{Status: i.text(), Metadata: i.object()}),
			"document": i.documents.Put(ctx, i.text()+i.user+fmt.Sprint(n, i.random.Uint64()), json.RawMessage(`{"state":`+string(i.object())+`}`)),
		} {
			if e, ok := errors.AsType[*pgconn.PgError](err); ok {
				t.Errorf("%s: SQLSTATE %s: %v", what, e.Code, err)
			}
		}
		i.read(ctx, t)
	}
}

func (i *injector) object() json.RawMessage {
	data, err := json.Marshal(map[string]string{i.text(): i.text()})
	if err != nil {
		panic(err)
	}
	return data
}

// read lists by texts, and finds nothing of ann's.
func (i *injector) read(ctx context.Context, t *testing.T) {
	key, value, prefix := i.text(), i.text(), i.text()
	for c, err := range i.store.Find(ctx, pgcheckpoint.Search{Where: []pgcheckpoint.Condition{
		pgcheckpoint.Text(key, pgcheckpoint.Equal, value), pgcheckpoint.Has(i.text()), pgcheckpoint.Number(i.text(), pgcheckpoint.Less, 1),
	}}) {
		i.check(t, "find", c.Thread, annsThread, err)
	}
	for c, err := range i.store.List(ctx, checkpoint.Query{Thread: prefix, Namespace: key, Run: value, Metadata: map[string]string{key: value}, Limit: 5}) {
		i.check(t, "list", c.Thread, annsThread, err)
	}
	for thread, err := range i.store.ListThreads(ctx, prefix) {
		i.check(t, "threads", thread.ID, annsThread, err)
	}
	for s, err := range i.store.Sessions(ctx, supacheckpoint.SessionQuery{Prefix: prefix, Statuses: []string{key, value}, Limit: 5}) {
		i.check(t, "sessions", s.User, ann, err)
	}
	for s, err := range i.documents.Sessions(ctx, supacheckpoint.SessionQuery{Prefix: prefix, Statuses: []string{key, "active"}, Limit: 5}) {
		i.check(t, "sessions of documents", s.User, ann, err)
	}
}

func (i *injector) check(t *testing.T, what, found, foreign string, err error) {
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
	if found == foreign {
		t.Errorf("%s: found what is ann's: %q", what, found)
	}
}

// Claims go to the database as one value, whatever is in them.
func TestHostileClaims(t *testing.T) {
	t.Parallel()
	store := directPlace(t).open(t)
	putAll(t, as(t, store, ann), "plan", 1)
	for _, text := range fragments {
		claims, err := json.Marshal(map[string]string{"sub": bob, "role": "authenticated", "email": text, text: ann, "SUB": ann, "Role": "service_role"})
		if err != nil {
			t.Fatal(err)
		}
		bobs, err := store.As(supacheckpoint.User{ID: bob, Claims: claims})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if _, err := bobs.Get(t.Context(), checkpoint.Key{Thread: "plan"}); !errors.Is(err, checkpoint.ErrNotFound) {
			t.Errorf("%q: got error %v want %v", text, err, checkpoint.ErrNotFound)
		}
	}
	// A name that comes twice is read in the same way here and there: the last counts.
	for claims, ok := range map[string]bool{
		`{"sub":"` + ann + `","role":"authenticated","sub":"` + bob + `"}`:                      true,
		`{"sub":"` + bob + `","role":"authenticated","sub":"` + ann + `"}`:                      false,
		`{"sub":"` + bob + `","role":"authenticated","role":"service_role"}`:                    false,
		`{"sub":"` + bob + `","role":"authenticated","s\u0075b":"` + ann + `"}`:                 false,
		`{"sub":"` + bob + `","role":"authenticated"}{"sub":"` + ann + `"}`:                     false,
		`{"sub":"` + bob + `","role":"authenticated","x":` + strings.Repeat("[", 100_000) + `}`: false,
	} {
		bobs, err := store.As(supacheckpoint.User{ID: bob, Claims: []byte(claims)})
		if (err == nil) != ok {
			t.Errorf("%.120s: got error %v", claims, err)
			continue
		}
		if !ok {
			continue
		}
		if _, err := bobs.Get(t.Context(), checkpoint.Key{Thread: "plan"}); !errors.Is(err, checkpoint.ErrNotFound) {
			t.Errorf("%s: got error %v want %v", claims, err, checkpoint.ErrNotFound)
		}
	}
}

// A thread of another is refused as one that is not there, in the same words and, as the
// database looks for both in one index, in the same time.
func TestForeignIsAsMissing(t *testing.T) {
	t.Parallel()
	store := directPlace(t).open(t)
	putAll(t, forUser(t, store, ann), "theirs", 20)
	for who, s := range map[string]*supacheckpoint.Store{"a user": as(t, store, bob), "the service, for a user": forUser(t, store, bob), "the service": store} {
		times := map[string]time.Duration{}
		const rounds = 200
		for range rounds {
			for _, thread := range []string{"theirs", "nobody"} {
				start := time.Now()
				_, err := s.Get(t.Context(), checkpoint.Key{Thread: thread})
				times[thread] += time.Since(start)
				if !errors.Is(err, checkpoint.ErrNotFound) {
					t.Fatalf("%s: got error %v", who, err)
				}
			}
		}
		a, b := times["theirs"]/rounds, times["nobody"]/rounds
		t.Logf("%s: %v for another's thread, %v for none", who, a, b)
		if a > 5*b+time.Millisecond || b > 5*a+time.Millisecond {
			t.Errorf("%s: %v for another's thread, and %v for none", who, a, b)
		}
	}
}

// What is no JSON that can be kept is refused soon.
func TestHostileDocuments(t *testing.T) {
	t.Parallel()
	p := documentPlace(t, directPlace)
	store := p.open(t)
	user, proposal := member(t, p)
	d := proposals(t, as(t, store, user), about(proposal))
	deep := func(n int) string { return strings.Repeat(`[`, n) + strings.Repeat(`]`, n) }
	for name, state := range map[string]string{
		"deep":             deep(100_000),
		"deep objects":     strings.Repeat(`{"a":`, 100_000) + `1` + strings.Repeat(`}`, 100_000),
		"no end":           strings.Repeat(`[`, 1_000_000),
		"a NUL":            `"\u0000"`,
		"half a character": `"\ud800"`,
		"a huge number":    `1` + strings.Repeat("0", 200_000),
		"no UTF-8":         "\"\xff\xfe\"",
	} {
		start := time.Now()
		err := d.Put(t.Context(), "hostile "+user, json.RawMessage(`{"state":{"x":`+state+`}}`))
		if !errors.Is(err, checkpoint.ErrInvalid) && !errors.Is(err, supacheckpoint.ErrDocument) {
			t.Errorf("%s: got error %.300v", name, err)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s: refused after %v", name, took)
		}
	}
	// The last of two that have one name counts, in the check and in the database.
	if err := d.Put(t.Context(), "twice "+user, json.RawMessage(`{"state":[],"state":{"n":1},"thread_id":"a","thread_id":"b"}`)); err != nil {
		t.Error(err)
	}
	got, err := d.Get(t.Context(), "twice "+user)
	wantJSON(t, "twice", got, err, `{"state":{"n":1},"thread_id":"twice `+user+`"}`)
}

// What is encrypted is nowhere in the clear: not in the tables, not in the database's
// journal, not in what is logged.
func TestSecretsStayEncrypted(t *testing.T) {
	t.Parallel()
	p := directPlace(t)
	var said bytes.Buffer
	p.options.Logger = slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug}))
	secrets, plain := make([]string, 20), fmt.Sprintf("plain-%016x", rand.Uint64())
	for i := range secrets {
		secrets[i] = fmt.Sprintf("sk-live-%016x%016x", rand.Uint64(), rand.Uint64())
	}
	since := ask[time.Time](t, p, `SELECT now()`)
	store := as(t, p.open(t), ann)
	ring := checkpoint.KeyRing{Active: "k1", Keys: map[string][]byte{"k1": bytes.Repeat([]byte("k"), 32)}}
	sealed, err := checkpoint.Encrypted(store, ring)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for i, secret := range secrets {
		c := step("plan", i+1)
		c.Metadata = map[string]string{"ref": plain}
		c.Control = []byte(`{"next":"` + secret + `"}`)
		c.Changes[0].Data = []byte(`["` + secret + `"]`)
		c.Snapshot = []checkpoint.Change{{Channel: "messages", Kind: 1, Data: []byte(`["` + secret + `"]`)}}
		if err := sealed.Put(ctx, c, c.Parent); err != nil {
			t.Fatal(err)
		}
		err := sealed.PutWrites(ctx, c.Key, []checkpoint.Write{{Task: "t", Channel: "x", Data: []byte(`"` + secret + `"`)}})
		if err != nil {
			t.Fatal(err)
		}
		err = sealed.Put(ctx, c, stepID(99)) // a refusal, whose text is looked at
		wantNoSecrets(t, fmt.Sprint(err), secrets...)
	}
	if c, err := sealed.Get(ctx, checkpoint.Key{Thread: "plan"}); err != nil || !bytes.Contains(c.Control, []byte(secrets[len(secrets)-1])) {
		t.Errorf("got %s, error %v", c.Control, err)
	}
	wantNoSecrets(t, said.String(), secrets...)
	if hits := searchDatabase(t, p, since, plain); hits == 0 {
		t.Error("the search finds nothing at all")
	}
	for _, secret := range secrets {
		if hits := searchDatabase(t, p, since, secret); hits != 0 {
			t.Errorf("the database has a secret in the clear at %d places", hits)
		}
	}
	ring.Keys["k1"] = bytes.Repeat([]byte("x"), 32)
	wrong, err := checkpoint.Encrypted(store, ring)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wrong.Get(ctx, checkpoint.Key{Thread: "plan"}); !errors.Is(err, checkpoint.ErrDecrypt) {
		t.Errorf("another key: got error %v want %v", err, checkpoint.ErrDecrypt)
	}
}

// searchDatabase counts the rows and the parts of the journal that have a text.
func searchDatabase(t *testing.T, p place, since time.Time, text string) int {
	t.Helper()
	hits := 0
	for _, table := range []string{"cp_thread", "cp_space", "cp_origin", "cp_step", "cp_write", "cp_tag", "cp_session"} {
		hits += ask[int](t, p, `SELECT count(*)::int FROM weft.`+table+` x
			WHERE position($1 in x::text) > 0 OR position(encode($1::text::bytea, 'hex') in x::text) > 0`, text)
	}
	return hits + ask[int](t, p, `SELECT count(*)::int FROM pg_ls_waldir() w
		WHERE w.modification >= $2::timestamptz - interval '1 second' AND position($1::text::bytea in pg_read_binary_file('pg_wal/' || w.name)) > 0`, text, since)
}

// An approval is its owner's, and good for once: that its thread can be guessed is of no
// use to others.
func TestApprovalIsNotReplayed(t *testing.T) {
	t.Parallel()
	for name, newPlace := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newPlace(t).open(t)
			var ran atomic.Int64
			approve := graph.NewInterrupt[string, bool]("approve")
			done := state.Last[bool]("done")
			compile := func(s *supacheckpoint.Store) *graph.Graph {
				b := graph.New("shop", done)
				b.Node("order", func(ctx context.Context, _ state.View) (state.Update, error) {
					ok, err := approve.Wait(ctx, "order?")
					if err != nil {
						return nil, err
					}
					ran.Add(1)
					return state.Update{done.Put(ok)}, nil
				})
				b.Edge(graph.Start, "order")
				g, err := b.Compile(graph.Options{Checkpoints: s})
				if err != nil {
					t.Fatal(err)
				}
				return g
			}
			anns, bobs := compile(as(t, store, ann)), compile(as(t, store, bob))
			ctx, thread := t.Context(), supacheckpoint.ProposalThreadID("7", "")
			snap, err := anns.Thread(thread).Invoke(ctx, graph.Begin())
			if err != nil {
				t.Fatal(err)
			}
			pending, err := approve.Open(snap)
			if err != nil || len(pending) != 1 {
				t.Fatalf("got %d questions, error %v", len(pending), err)
			}
			answer := approve.Answer(pending[0].ID, true)
			for who, g := range map[string]*graph.Graph{"bob": bobs, "the service": compile(store)} {
				if _, err := g.Thread(thread).Snapshot(ctx); !errors.Is(err, checkpoint.ErrNotFound) {
					t.Errorf("%s sees the thread: %v", who, err)
				}
				if _, err := g.Thread(thread).Invoke(ctx, answer); err == nil {
					t.Errorf("%s has answered", who)
				}
			}
			if ran.Load() != 0 {
				t.Fatal("it ran without its approval")
			}
			var wg sync.WaitGroup
			var won atomic.Int64
			for range 16 {
				wg.Go(func() {
					if _, err := anns.Thread(thread).Invoke(ctx, answer); err == nil {
						won.Add(1)
					}
				})
			}
			wg.Wait()
			if won.Load() != 1 || ran.Load() != 1 {
				t.Errorf("%d of 16 answers proceeded, and it ran %d times; want 1, 1", won.Load(), ran.Load())
			}
			if _, err := anns.Thread(thread).Invoke(ctx, answer); err == nil || ran.Load() != 1 {
				t.Errorf("replayed: got error %v, ran %d times", err, ran.Load())
			}
		})
	}
}
