// Package profile keeps what is known of a user in one place: a plan, usage and preferences,
// and further documents, one for each schema.
//
//	profiles, err := profile.New(kv.NewInMemory(kv.InMemoryOptions{}))
//	if err != nil {
//		return err
//	}
//	ann := memory.Scope{User: "ann"}
//	_, err = profiles.SetContext(ctx, ann, profile.Context{Plan: "pro", Preferences: profile.Text("short answers")})
//	if err != nil {
//		return err
//	}
//	summary, err := profiles.Summary(ctx, ann) // for a prompt, or a tool's answer
//
// What to know about it:
//
//   - A document is a JSON object, and belongs to the user of a scope. There is one of
//     each schema, whose name is any text.
//   - [Profiles.Patch] changes a document by a merge patch (RFC 7396), and loses no change of
//     others. With a version, it changes only what the caller saw.
//   - The context is the document of the schema [ContextSchema], with the fields "plan",
//     "usage" and "preferences". A user of whom nothing is known has an empty one.
//   - [Context.Summary] is what a model may read: one line a field, without what could be taken for
//     another line.
//
// [Profiles] is safe for use by any number of goroutines. Documents are values in a [kv.Store], in the namespace
// [Namespace] of their scope, with their schemas as keys.
package profile
