package agentmemory_test

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/graph/agent/deep"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/agentmemory"
	"github.com/weft-go/weft/memory/extract"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/memory/sqlitememory"
	"github.com/weft-go/weft/tools"
)

// Files of a memory belong to a user: another thread of the user reads them, another user does
// not, and they are forgotten with the user.
func TestFilesBelongToAUser(t *testing.T) {
	t.Parallel()
	sqlite, err := sqlitememory.Open(t.Context(), t.TempDir()+"/files.db", sqlitememory.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, sqlite.Close()) })
	inMemory, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	require.NoError(t, err)
	inSQLite, err := memory.New(sqlite, memory.Options{})
	require.NoError(t, err)
	for name, m := range map[string]*memory.Memory{"in memory": inMemory, "SQLite": inSQLite} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := agentmemory.Files(m)
			ctx := agentmemory.For(t.Context(), ann)
			bob := agentmemory.For(t.Context(), memory.Scope{User: "bob"})
			for _, file := range []string{"/a", "/d/one", "/d/two", "/dd"} {
				_, err := files.Write(ctx, nil, file, "text of "+file)
				require.NoError(t, err)
			}
			_, err := files.Write(ctx, nil, "/a", "new ☀ text")
			require.NoError(t, err)
			text, err := files.Read(ctx, nil, "/a")
			require.NoError(t, err)
			assert.Equal(t, "new ☀ text", text)
			list, err := files.List(ctx, nil, "/d")
			require.NoError(t, err)
			assert.Equal(t, []deep.File{{Name: "/d/one", Size: 14}, {Name: "/d/two", Size: 14}}, list)
			list, err = files.List(ctx, nil, "/")
			require.NoError(t, err)
			assert.Len(t, list, 4)
			_, err = files.Read(bob, nil, "/a")
			require.ErrorIs(t, err, fs.ErrNotExist)
			list, err = files.List(bob, nil, "/")
			require.NoError(t, err)
			assert.Empty(t, list)
			_, err = files.Write(ctx, nil, "/a", strings.Repeat("x", memory.MaxValue))
			require.ErrorIs(t, err, deep.ErrTooLarge)
			_, err = m.Values().Forget(t.Context(), ann)
			require.NoError(t, err)
			_, err = files.Read(ctx, nil, "/a")
			require.ErrorIs(t, err, fs.ErrNotExist)
		})
	}
}

func TestFilesNeedAUser(t *testing.T) {
	t.Parallel()
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	require.NoError(t, err)
	files := agentmemory.Files(m)
	for want, ctx := range map[error]context.Context{
		tools.ErrUnbound: t.Context(), extract.ErrNoUser: agentmemory.For(t.Context(), memory.Scope{Tenant: "t"}),
	} {
		_, err := files.Read(ctx, nil, "/a")
		require.ErrorIs(t, err, want)
		_, err = files.List(ctx, nil, "/")
		require.ErrorIs(t, err, want)
		_, err = files.Write(ctx, nil, "/a", "")
		require.ErrorIs(t, err, want)
	}
}

// A deep agent keeps the notes of a user in the memory, and all other files in its state.
func ExampleFiles() {
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	if err != nil {
		panic(err)
	}
	notes := agentmemory.Files(m)
	model := llmtest.NewScript(llmtest.Call("write_file", `{"file_path":"/notes/tea.md","content":"green"}`), llmtest.Say("noted"))
	a, err := deep.New("helper", model, deep.Options{Files: deep.Mount(deep.State(), map[string]deep.Files{"/notes": notes})})
	if err != nil {
		panic(err)
	}
	ctx := agentmemory.For(context.Background(), memory.Scope{User: "ann"})
	if _, err := a.Invoke(ctx, agent.Messages.Put(llm.User("I drink green tea."))); err != nil {
		panic(err)
	}
	fmt.Println(notes.Read(ctx, nil, "/tea.md"))
	// Output: green <nil>
}

// A long result of a tool fits into a file, even if JSON needs six bytes for each of its
// bytes.
func TestLongResultFitsIntoAFile(t *testing.T) {
	t.Parallel()
	m, err := memory.New(inmemory.New(inmemory.Options{}), memory.Options{})
	require.NoError(t, err)
	page := tools.New("page", "Loads a page.", func(context.Context, struct{}) (string, error) { return strings.Repeat("<", 3<<20), nil })
	model := llmtest.NewScript(llmtest.Call("page", `{}`), llmtest.Say("done"))
	files := agentmemory.Files(m)
	g, err := deep.New("a", model, deep.Options{Files: files, Tools: []tools.Tool{page}})
	require.NoError(t, err)
	ctx := agentmemory.For(t.Context(), ann)
	_, err = g.Invoke(ctx, agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	list, err := files.List(ctx, nil, "/results")
	require.NoError(t, err)
	require.Len(t, list, 1)
	assert.Greater(t, list[0].Size, 500_000)
}
