// Package supacheckpoint stores checkpoints in a Supabase project. Each user has access
// to their own threads only.
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
//	userStore, err := store.As(user)
//	if err != nil {
//		return err
//	}
//	g, err := b.Compile(graph.Options{Checkpoints: userStore})
//
// The package adds the roles, row-level security and tokens of a Supabase project to
// package [pgcheckpoint].
//
//   - A [Store] has the rights of the service role and works on threads that have no
//     user. [Store.As] returns a store for a user whose token was verified. Each of its
//     calls is one transaction, in one round trip, with the role and the claims of the
//     user. Row-level security then denies access to the rows of other users.
//     [Store.For] works on the threads of one user with the rights of the service.
//   - The user and the id together identify a thread. Two users may have threads with
//     the same id. The id of another user's thread gives no access to it.
//   - [Store.Do] runs a transaction on other tables with the same rights.
//   - Every thread has a [Session] with its status, times and metadata. [Store.CleanUp]
//     removes old sessions with their threads and checkpoints.
//   - The tables are in their own schema, which the Data API does not expose. The
//     migrations are in supabase/migrations, for the Supabase CLI or the SQL editor;
//     [Migrate] applies the same files.
//   - All poolers of Supabase work. Use the session pooler or the direct connection for
//     a long-running service, and the transaction pooler on port 6543 for short-lived
//     functions.
//   - [Agents] and [Proposals] read and write one JSON document per thread, for
//     programs that share such tables with other programs.
//
// See docs/supabase.md for the setup of a project and examples/supabase for a service.
package supacheckpoint
