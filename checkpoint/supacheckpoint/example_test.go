package supacheckpoint_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/supatest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/pgmemory"
	"github.com/weft-go/weft/state"
)

// exampleTB lets examples call helpers of tests.
type exampleTB struct{ testing.TB }

func (exampleTB) Helper()                           {}
func (exampleTB) Fatalf(format string, args ...any) { log.Panicf(format, args...) }

// setUp sets the environment variables of a project that the tests have created.
func setUp() {
	for name, value := range map[string]string{
		"SUPABASE_DB_URL":           supatest.Database(exampleTB{}, nil),
		"SUPABASE_URL":              project,
		"SUPABASE_SERVICE_ROLE_KEY": "sb_secret_0123456789",
		"SUPABASE_JWT_SECRET":       secret,
	} {
		if err := os.Setenv(name, value); err != nil {
			log.Panic(err)
		}
	}
}

// signIn returns an access token of a user, as Supabase issues it.
func signIn(user string) string {
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"iss": issuer, "aud": "authenticated", "role": "authenticated", "sub": user, "exp": time.Now().Add(time.Hour).Unix(),
	})
	text, err := token.SignedString([]byte(secret))
	if err != nil {
		log.Panic(err)
	}
	return text
}

// newProposal creates the tables of documents and a proposal of a user.
func newProposal(user string) (id string) {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("SUPABASE_DB_URL"))
	if err != nil {
		log.Panic(err)
	}
	defer pool.Close()
	if err := supacheckpoint.Migrate(ctx, pool, supacheckpoint.Options{Documents: true}); err != nil {
		log.Panic(err)
	}
	err = pool.QueryRow(ctx, `WITH u AS (INSERT INTO auth.users (id) VALUES ($1) ON CONFLICT DO NOTHING)
		SELECT gen_random_uuid()::text`, user).Scan(&id)
	if err == nil {
		_, err = pool.Exec(ctx, `INSERT INTO public.proposals (id, user_id) VALUES ($1, $2)`, id, user)
	}
	if err != nil {
		log.Panic(err)
	}
	return id
}

var exampleNotes = state.Append[string]("notes")

// exampleGraph returns a graph with one node that uses the store.
func exampleGraph(store checkpoint.Store) *graph.Graph {
	b := graph.New("desk", exampleNotes)
	b.Node("write", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{exampleNotes.Put(fmt.Sprint("note ", exampleNotes.Len(s)+1))}, nil
	})
	b.Edge(graph.Start, "write")
	g, err := b.Compile(graph.Options{Checkpoints: store})
	if err != nil {
		log.Panic(err)
	}
	return g
}

// A program opens the store once. For each request, it gets a store for the user.
func ExampleFromEnv() {
	setUp()
	ctx := context.Background()
	store, err := supacheckpoint.FromEnv(ctx, supacheckpoint.Options{})
	if errors.Is(err, supacheckpoint.ErrNotConfigured) {
		fmt.Println("no project: no checkpoints are stored")
		return
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	user, err := store.VerifyJWT(ctx, signIn(ann))
	if err != nil {
		fmt.Println("401", err)
		return
	}
	mine, err := store.As(user)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = mine.DeleteThread(ctx, "inbox") }()
	snap, err := exampleGraph(mine).Thread("inbox").Invoke(ctx, graph.Begin())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(user.ID, exampleNotes.Get(snap))
	// Output: 11111111-1111-4111-8111-111111111111 [note 1]
}

// A user cannot see the threads of another user.
func ExampleStore_As() {
	setUp()
	ctx := context.Background()
	store, err := supacheckpoint.FromEnv(ctx, supacheckpoint.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	for _, user := range []string{ann, bob} {
		mine, err := store.As(supacheckpoint.User{ID: user})
		if err != nil {
			fmt.Println(err)
			return
		}
		if user == ann {
			defer func() { _ = mine.DeleteThread(ctx, "inbox") }()
			if _, err := exampleGraph(mine).Thread("inbox").Invoke(ctx, graph.Begin()); err != nil {
				fmt.Println(err)
			}
		}
		_, err = mine.Get(ctx, checkpoint.Key{Thread: "inbox"})
		fmt.Println(user[:8], err == nil, errors.Is(err, checkpoint.ErrNotFound))
	}
	// Output:
	// 11111111 true false
	// 22222222 false true
}

// A memory store with the rights of a user sees only the facts of that user.
func ExampleStore_Rights() {
	setUp()
	ctx := context.Background()
	store, err := supacheckpoint.FromEnv(ctx, supacheckpoint.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	pool, err := pgxpool.New(ctx, os.Getenv("SUPABASE_DB_URL"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	if err := pgmemory.MigrateSupabase(ctx, pool, pgmemory.Options{}); err != nil {
		fmt.Println(err)
		return
	}
	db, err := pgmemory.New(ctx, pool, pgmemory.Options{Before: store.Rights()})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, user := range []string{ann, bob} {
		mine, err := store.As(supacheckpoint.User{ID: user})
		if err != nil {
			fmt.Println(err)
			return
		}
		bound, err := pgmemory.Bind(db, mine.Rights())
		if err != nil {
			fmt.Println(err)
			return
		}
		facts, err := memory.New(bound, memory.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		_, err = facts.Store(ctx, memory.Scope{User: ann}, memory.Fact{Content: "Ann drinks tea", Trust: memory.Stated})
		fmt.Println(user[:8], err == nil, errors.Is(err, pgmemory.ErrDenied))
	}
	// Output:
	// 11111111 true false
	// 22222222 false true
}

// A session has a status, metadata and times. CleanUp deletes it with its thread.
func ExampleStore_CleanUp() {
	setUp()
	ctx := context.Background()
	store, err := supacheckpoint.FromEnv(ctx, supacheckpoint.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	anns, err := store.For(ann) // a service that works for ann without a token
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := exampleGraph(anns).Thread("inbox").Invoke(ctx, graph.Begin()); err != nil {
		fmt.Println(err)
		return
	}
	err = anns.PutSession(ctx, "inbox", supacheckpoint.SessionUpdate{Status: "completed", Metadata: json.RawMessage(`{"score": 5}`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	for s, err := range anns.Sessions(ctx, supacheckpoint.SessionQuery{Statuses: []string{"completed"}}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(s.Thread, s.Status, string(s.Metadata), s.Checkpoints)
	}
	month := 30 * 24 * time.Hour
	old, err := store.CleanUp(ctx, supacheckpoint.SessionQuery{AllUsers: true, Statuses: []string{"completed"}, IdleFor: month})
	fmt.Println(old, err)
	completed, err := store.CleanUp(ctx, supacheckpoint.SessionQuery{AllUsers: true, Statuses: []string{"completed"}})
	fmt.Println(completed, err)
	// Output:
	// inbox completed {"score": 5} 2
	// 0 <nil>
	// 1 <nil>
}

// Agents stores one JSON document per thread.
func ExampleStore_Agents() {
	setUp()
	ctx := context.Background()
	store, err := supacheckpoint.FromEnv(ctx, supacheckpoint.Options{Documents: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	agents, err := store.Agents()
	if err != nil {
		fmt.Println(err)
		return
	}
	thread := supacheckpoint.ThreadID("designer", "conversation-1")
	fmt.Println(agents.Put(ctx, thread, json.RawMessage(`{"messages": ["hello"]}`)))
	data, err := agents.Get(ctx, thread)
	fmt.Println(string(data), err)
	fmt.Println(agents.Delete(ctx, thread))
	data, err = agents.Get(ctx, thread)
	fmt.Println(data == nil, err)
	// Output:
	// <nil>
	// {"messages": ["hello"]} <nil>
	// <nil>
	// true <nil>
}

// Proposals stores one JSON document per thread. Each belongs to a user and to a proposal.
func ExampleStore_Proposals() {
	setUp()
	ctx := context.Background()
	store, err := supacheckpoint.FromEnv(ctx, supacheckpoint.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	mine, err := store.As(supacheckpoint.User{ID: ann})
	if err != nil {
		fmt.Println(err)
		return
	}
	proposal := newProposal(ann)
	documents, err := mine.Proposals(supacheckpoint.ProposalOptions{
		// The program knows the proposal of each thread.
		Proposal: func(_ context.Context, thread string) (string, error) { return proposal, nil },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	thread := supacheckpoint.ProposalThreadID(proposal, "research")
	fmt.Println(documents.Put(ctx, thread, json.RawMessage(`{"state": {"section": 2}}`)))
	data, err := documents.Get(ctx, thread)
	fmt.Println(len(data) > 0, err)
	for s, err := range documents.Sessions(ctx, supacheckpoint.SessionQuery{Prefix: thread}) {
		fmt.Println(s.Status, s.Checkpoints, err)
	}
	fmt.Println(documents.CleanUp(ctx, supacheckpoint.SessionQuery{Prefix: thread, Statuses: []string{"active"}}))
	// Output:
	// <nil>
	// true <nil>
	// active 1 <nil>
	// 1 <nil>
}

// The session of a thread has its proposal, status and metadata.
func ExampleProposals_Session() {
	setUp()
	ctx := context.Background()
	store, err := supacheckpoint.FromEnv(ctx, supacheckpoint.Options{Documents: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	mine, err := store.As(supacheckpoint.User{ID: ann})
	if err != nil {
		fmt.Println(err)
		return
	}
	proposal := newProposal(ann)
	documents, err := mine.Proposals(supacheckpoint.ProposalOptions{
		Proposal: func(context.Context, string) (string, error) { return proposal, nil },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	thread := supacheckpoint.ProposalThreadID(proposal, "research")
	fmt.Println(documents.PutSession(ctx, thread, supacheckpoint.SessionUpdate{Metadata: json.RawMessage(`{"title": "A bridge"}`)}))
	s, err := documents.Session(ctx, thread)
	fmt.Println(s.Proposal == proposal, s.Status, string(s.Metadata), err)
	_, err = documents.Session(ctx, "another")
	fmt.Println(errors.Is(err, checkpoint.ErrNotFound))
	// Output:
	// <nil>
	// true active {"title": "A bridge"} <nil>
	// true
}

// Do runs statements on other tables with the role and claims of the user.
func ExampleStore_Do() {
	setUp()
	ctx := context.Background()
	store, err := supacheckpoint.FromEnv(ctx, supacheckpoint.Options{Documents: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	proposal := newProposal(ann)
	for _, user := range []string{ann, bob} {
		mine, err := store.As(supacheckpoint.User{ID: user})
		if err != nil {
			fmt.Println(err)
			return
		}
		sees := false
		err = mine.Do(ctx, func(ctx context.Context, tx pgx.Tx) error {
			return tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM public.proposals WHERE id = $1)`, proposal).Scan(&sees)
		})
		fmt.Println(user[:8], sees, err)
		err = mine.Do(ctx, func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, `INSERT INTO public.proposals (user_id) VALUES ($1)`, ann)
			return err
		})
		fmt.Println(errors.Is(err, supacheckpoint.ErrDenied))
	}
	// Output:
	// 11111111 true <nil>
	// false
	// 22222222 false <nil>
	// true
}

// CheckServiceKey rejects the anon key, which is public.
func ExampleCheckServiceKey() {
	for _, key := range []string{"sb_secret_0123456789", "sb_publishable_0123456789"} {
		err := supacheckpoint.CheckServiceKey(key, "https://abcdefgh.supabase.co", nil)
		fmt.Println(err == nil, errors.Is(err, supacheckpoint.ErrAnonKey))
	}
	// Output:
	// true false
	// false true
}

// A verifier returns the user of a token. With a URL, it fetches the public keys of the project.
func ExampleVerifier() {
	v, err := supacheckpoint.NewVerifier(supacheckpoint.VerifierOptions{URL: project, Secret: []byte(secret)})
	if err != nil {
		fmt.Println(err)
		return
	}
	user, err := v.Verify(context.Background(), signIn(ann))
	fmt.Println(user.ID, user.Role, err)
	_, err = v.Verify(context.Background(), "eyJhbGciOiJub25lIn0.e30.")
	fmt.Println(errors.Is(err, supacheckpoint.ErrToken))
	// Output:
	// 11111111-1111-4111-8111-111111111111 authenticated <nil>
	// true
}

func ExampleThreadID() {
	fmt.Println(supacheckpoint.ThreadID("designer", "conversation-1"))
	fmt.Println(len(supacheckpoint.ThreadID("designer", "")), "characters, which nobody can guess")
	// Output:
	// designer-conversation-1
	// 45 characters, which nobody can guess
}

func ExampleProposalThreadID() {
	fmt.Println(supacheckpoint.ProposalThreadID("foo", "")[:20])
	// Output: research_2c26b46b68_
}

// Scripts returns the migrations for the Supabase CLI or the SQL editor.
func ExampleScripts() {
	scripts, err := supacheckpoint.Scripts("")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range scripts {
		fmt.Println(s.Name + ".sql")
	}
	// Output:
	// 20261121090001_weft_checkpoint.sql
	// 20261121090002_weft_functions.sql
	// 20261121090003_weft_security.sql
	// 20261121090004_weft_sessions.sql
	// 20261121090005_agent_checkpoints.sql
	// 20261121090006_proposals.sql
	// 20261122090001_weft_load.sql
	// 20261123090001_weft_writes.sql
	// 20261123090002_proposal_sessions.sql
	// 20261126090001_weft_status.sql
	// 20261126090002_weft_status_of_old_threads.sql
	// 20261126090003_weft_status_security.sql
}
