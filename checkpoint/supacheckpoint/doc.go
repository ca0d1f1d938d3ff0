// Package supacheckpoint keeps checkpoints in a Supabase project, where every user
// sees their own threads only.
//
//	store, err := supacheckpoint.FromEnv(ctx, supacheckpoint.Options{})
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	user, err := store.VerifyJWT(ctx, token)
//	if err != nil {
//		return err // 401
//	}
//	mine, err := store.As(user)
//	if err != nil {
//		return err
//	}
//	g, err := b.Compile(graph.Options{Checkpoints: mine})
//
// It is [pgcheckpoint] with what a Supabase project has beside it: roles, row-level
// security, tokens. What to know about it:
//
//   - A [Store] works with the rights of the service role, on threads that belong to
//     nobody. [Store.As] binds a user whose token was verified: each of its calls is
//     one transaction, and one round trip, that takes on the role and the claims of
//     the user for its own length. The database then refuses what is not theirs,
//     whatever a program asks for. [Store.For] has the rights of the service
//     and works on the threads of one user.
//   - A thread is found by its user and its id together. Two users may have threads
//     of one id, and knowing the id of another's thread is of no use: it is not there.
//   - [Store.Do] gives a transaction on tables of your own the same rights.
//   - Every thread has a [Session]: its status, times and metadata. [Store.CleanUp]
//     removes old ones with all that their threads have.
//   - Tables are in a schema of their own, which the Data API does not show. The
//     migrations are in supabase/migrations, for the Supabase CLI or the SQL editor;
//     [Migrate] applies the same.
//   - It works through every pooler of Supabase. For a service that runs all the time,
//     take the session pooler or the direct connection; for functions that come and
//     go, the transaction pooler on port 6543.
//   - [Agents] and [Proposals] read and write one JSON document for each thread, for
//     programs that share tables of that form with others.
//
// The steps of a project are in docs/supabase.md, and a service in examples/supabase.
package supacheckpoint
