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
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// fragments has parts of SQL injections.
var fragments = []string{
	`'`, `"`, `''`, `\`, `\'`, `;`, `--`, `/*`, `*/`, `$$`, `$1`, `$do$`, `(`, `)`, `%`, `_`, `%s`, `{}`, `[]`, `->>`, `@>`, `?`, `||`, `::text`,
	` OR 1=1`, ` OR true --`, `' OR '1'='1`, `'; DROP TABLE weft.cp_step; --`, `" OR "x"="x`, `' UNION SELECT * FROM weft.cp_thread --`,
	`'; SET ROLE postgres; --`, `'; RESET ROLE; --`, `') RETURNING 1; --`, `'||pg_sleep(5)||'`, `1; SELECT pg_sleep(5)`, `{"$ne":null}`,
	`current_user`, `set_config('role','postgres',true)`, "\n", "\t", "\r", "\u2028", "\u00a0", "ʼ", "＇", "é", "\U0001f600", "ann", ann,
}

// hostileText joins one to six random fragments.
func hostileText(random *rand.Rand) string {
	var b strings.Builder
	for range 1 + random.IntN(6) {
		b.WriteString(fragments[random.IntN(len(fragments))])
	}
	return b.String()
}

// No text of a caller breaks a statement or shows another user's threads.
// WEFT_INJECTIONS sets the number of rounds. A round makes 14 calls.
func TestTextsCannotInjectSQL(t *testing.T) {
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
			c, err := anns.Get(t.Context(), checkpoint.Key{Thread: annsThread})
			assert.NoError(t, err, "ann's thread")
			assert.Len(t, c.Lineage, 3, "ann's thread")
			for thread, err := range anns.ListThreads(t.Context(), "") {
				assert.NoError(t, err)
				assert.Equal(t, annsThread, thread.ID)
			}
		})
	}
}

// annsThread is an id that hostileText never returns.
const annsThread = "the plan of ann"

// An injector calls a user's store with hostile texts.
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
			e, ok := errors.AsType[*pgconn.PgError](err)
			assert.False(t, ok, "%s: %v", what, e)
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

// read searches with hostile texts, and checks that no result belongs to ann.
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
	assert.NoError(t, err, what)
	assert.NotEqual(t, foreign, found, what)
}

// The text of claims cannot change the user that the database sees.
func TestHostileClaimsDoNotChangeTheUser(t *testing.T) {
	t.Parallel()
	store := directPlace(t).open(t)
	putAll(t, as(t, store, ann), "plan", 1)
	for _, text := range fragments {
		claims, err := json.Marshal(map[string]string{"sub": bob, "role": "authenticated", "email": text, text: ann, "SUB": ann, "Role": "service_role"})
		require.NoError(t, err)
		bobs, err := store.As(supacheckpoint.User{ID: bob, Claims: claims})
		require.NoError(t, err, "%q", text)
		_, err = bobs.Get(t.Context(), checkpoint.Key{Thread: "plan"})
		assert.ErrorIs(t, err, checkpoint.ErrNotFound, "%q", text)
	}
	// If a name occurs twice, Go and PostgreSQL both use the last value.
	for claims, ok := range map[string]bool{
		`{"sub":"` + ann + `","role":"authenticated","sub":"` + bob + `"}`:                      true,
		`{"sub":"` + bob + `","role":"authenticated","sub":"` + ann + `"}`:                      false,
		`{"sub":"` + bob + `","role":"authenticated","role":"service_role"}`:                    false,
		`{"sub":"` + bob + `","role":"authenticated","s\u0075b":"` + ann + `"}`:                 false,
		`{"sub":"` + bob + `","role":"authenticated"}{"sub":"` + ann + `"}`:                     false,
		`{"sub":"` + bob + `","role":"authenticated","x":` + strings.Repeat("[", 100_000) + `}`: false,
	} {
		bobs, err := store.As(supacheckpoint.User{ID: bob, Claims: []byte(claims)})
		if !ok {
			assert.Error(t, err, "%.120s", claims)
			continue
		}
		if !assert.NoError(t, err, "%.120s", claims) {
			continue
		}
		_, err = bobs.Get(t.Context(), checkpoint.Key{Thread: "plan"})
		assert.ErrorIs(t, err, checkpoint.ErrNotFound, claims)
	}
}

// Get returns the same error for another user's thread as for a missing thread, after about the
// same time.
func TestForeignThreadLooksMissing(t *testing.T) {
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
				require.ErrorIs(t, err, checkpoint.ErrNotFound, who)
			}
		}
		a, b := times["theirs"]/rounds, times["nobody"]/rounds
		t.Logf("%s: %v for another's thread, %v for none", who, a, b)
		assert.LessOrEqual(t, a, 5*b+time.Millisecond, "%s: another user's thread takes longer", who)
		assert.LessOrEqual(t, b, 5*a+time.Millisecond, "%s: a missing thread takes longer", who)
	}
}

// Within five seconds, Put rejects JSON that PostgreSQL cannot store.
func TestHostileDocumentsAreRejectedQuickly(t *testing.T) {
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
		assert.True(t, errors.Is(err, checkpoint.ErrInvalid) || errors.Is(err, supacheckpoint.ErrDocument), "%s: got error %.300v", name, err)
		assert.LessOrEqual(t, time.Since(start), 5*time.Second, name)
	}
	// If a name occurs twice, the check and the database both use the last value.
	assert.NoError(t, d.Put(t.Context(), "twice "+user, json.RawMessage(`{"state":[],"state":{"n":1},"thread_id":"a","thread_id":"b"}`)))
	got, err := d.Get(t.Context(), "twice "+user)
	wantJSON(t, "twice", got, err, `{"state":{"n":1},"thread_id":"twice `+user+`"}`)
}

// No plaintext of an encrypted checkpoint is in the tables, in the write-ahead log of
// PostgreSQL, in errors or in logs.
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
	require.NoError(t, err)
	ctx := t.Context()
	for i, secret := range secrets {
		c := step("plan", i+1)
		c.Metadata = map[string]string{"ref": plain}
		c.Control = []byte(`{"next":"` + secret + `"}`)
		c.Changes[0].Data = []byte(`["` + secret + `"]`)
		c.Snapshot = []checkpoint.Change{{Channel: "messages", Kind: 1, Data: []byte(`["` + secret + `"]`)}}
		require.NoError(t, sealed.Put(ctx, c, c.Parent))
		err := sealed.PutWrites(ctx, c.Key, []checkpoint.Write{{Task: "t", Channel: "x", Data: []byte(`"` + secret + `"`)}})
		require.NoError(t, err)
		err = sealed.Put(ctx, c, stepID(99)) // fails with a conflict
		wantNoSecrets(t, fmt.Sprint(err), secrets...)
	}
	c, err := sealed.Get(ctx, checkpoint.Key{Thread: "plan"})
	assert.NoError(t, err)
	assert.Contains(t, string(c.Control), secrets[len(secrets)-1])
	wantNoSecrets(t, said.String(), secrets...)
	assert.NotZero(t, searchDatabase(t, p, since, plain), "the search must find the metadata, which is not encrypted")
	for _, secret := range secrets {
		assert.Zero(t, searchDatabase(t, p, since, secret))
	}
	ring.Keys["k1"] = bytes.Repeat([]byte("x"), 32)
	wrong, err := checkpoint.Encrypted(store, ring)
	require.NoError(t, err)
	_, err = wrong.Get(ctx, checkpoint.Key{Thread: "plan"})
	assert.ErrorIs(t, err, checkpoint.ErrDecrypt, "another key")
}

// searchDatabase counts the rows and the files of the write-ahead log that contain a text.
func searchDatabase(t *testing.T, p place, since time.Time, text string) int {
	t.Helper()
	hits := 0
	for _, table := range []string{"cp_thread", "cp_space", "cp_origin", "cp_step", "cp_write", "cp_open", "cp_tag", "cp_session"} {
		hits += ask[int](t, p, `SELECT count(*)::int FROM weft.`+table+` x
			WHERE position($1 in x::text) > 0 OR position(encode($1::text::bytea, 'hex') in x::text) > 0`, text)
	}
	return hits + ask[int](t, p, `SELECT count(*)::int FROM pg_ls_waldir() w
		WHERE w.modification >= $2::timestamptz - interval '1 second' AND position($1::text::bytea in pg_read_binary_file('pg_wal/' || w.name)) > 0`, text, since)
}

// Only the owner of a thread can answer its interrupt, and only once. Another user cannot, even
// with the id of the thread.
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
				require.NoError(t, err)
				return g
			}
			anns, bobs := compile(as(t, store, ann)), compile(as(t, store, bob))
			ctx, thread := t.Context(), supacheckpoint.ProposalThreadID("7", "")
			snap, err := anns.Thread(thread).Invoke(ctx, graph.Begin())
			require.NoError(t, err)
			pending, err := approve.Open(snap)
			require.NoError(t, err)
			require.Len(t, pending, 1)
			answer := approve.Answer(pending[0].ID, true)
			for who, g := range map[string]*graph.Graph{"bob": bobs, "the service": compile(store)} {
				_, err := g.Thread(thread).Snapshot(ctx)
				assert.ErrorIs(t, err, checkpoint.ErrNotFound, who)
				_, err = g.Thread(thread).Invoke(ctx, answer)
				assert.Error(t, err, who)
			}
			require.Zero(t, ran.Load(), "the node ran without its approval")
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
			assert.Equal(t, int64(1), won.Load(), "answers that were accepted")
			assert.Equal(t, int64(1), ran.Load(), "runs of the node")
			_, err = anns.Thread(thread).Invoke(ctx, answer)
			assert.Error(t, err, "a second answer")
			assert.Equal(t, int64(1), ran.Load(), "runs of the node after a second answer")
		})
	}
}
