// Package modeltest checks that a model keeps the rules of [llm.Model] and [llm.Chunk]. The test of a
// model replaces the provider by a test server, for example with net/http/httptest:
//
//	func TestModel(t *testing.T) {
//		modeltest.Run(t, func(t *testing.T, s modeltest.Scene) llm.Model {
//			server := httptest.NewServer(play(s)) // streams the events of the scene
//			t.Cleanup(server.Close)
//			return &acme.Model{URL: server.URL}
//		})
//	}
//
// The model must stream: it yields text before the reply is complete. Test what the model sends to the provider
// yourself; Run does not check requests.
//
// [RunEmbedder] does the same for an embedder of package memory.
//
// A complete provider with its test is in docs/howto/add-a-provider.md.
package modeltest
