package console

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWordsAreWrappedAndEscaped(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := &Console{out: &out, width: 12}
	for _, piece := range []string{"a list of wo", "rds\n1. one\n", "\x1b[2Jgone \u202eend"} {
		c.Print(piece)
	}
	c.Say(Faint, "the end of it all")
	assert.Equal(t, "a list of \nwords\n1. one\n\\u001b[2Jgone \n\\u202eend\nthe end of \nit all\n", out.String())
}

func TestNoTerminalHasNoColoursAndNoBreaks(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := New(strings.NewReader(""), &out)
	c.Prompt("> ")
	c.Say(Bold, "%s", strings.Repeat("word ", 40))
	assert.Equal(t, strings.Repeat("word ", 40)+"\n", out.String())
	c.coloured = true
	out.Reset()
	c.Say(Bold, "x")
	assert.Equal(t, "\x1b[1mx\x1b[0m\n", out.String())
}

func TestALineEndsWithItsContext(t *testing.T) {
	t.Parallel()
	in, typed := io.Pipe()
	c := New(in, io.Discard)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := c.Line(ctx)
	require.ErrorIs(t, err, context.Canceled)
	go func() { _, _ = typed.Write([]byte("hello\n")); typed.Close() }()
	text, given, err := c.Line(t.Context())
	require.NoError(t, err)
	assert.True(t, given)
	assert.Equal(t, "hello", text)
	_, given, err = c.Line(t.Context())
	require.NoError(t, err)
	assert.False(t, given)
}

func TestALineThatIsTooLongIsAnError(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   io.Reader
		want string
	}{
		{strings.NewReader("one\n" + strings.Repeat("x", lineLength+1)), "longer than the limit of 1 MiB"},
		{io.MultiReader(strings.NewReader("one\n"), iotest.ErrReader(errors.New("unplugged"))), "unplugged"},
	} {
		c := New(tt.in, io.Discard)
		text, given, err := c.Line(t.Context())
		require.NoError(t, err)
		assert.True(t, given)
		assert.Equal(t, "one", text)
		for range 2 {
			_, given, err = c.Line(t.Context())
			require.ErrorContains(t, err, tt.want)
			assert.False(t, given)
		}
	}
}
