package pdf_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/knowledge/pdf"
)

// TestMain makes the test binary act as pdftotext if it gets the arguments of pdftotext.
func TestMain(m *testing.M) {
	if len(os.Args) == 7 && os.Args[1] == "-enc" {
		os.Exit(program())
	}
	m.Run()
}

// program performs the task in its input, and returns the exit code.
func program() int {
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		return 9
	}
	_, task, _ := strings.Cut(string(input), " ")
	switch task {
	case "environment":
		fmt.Print(strings.Join(os.Environ(), "\n"), "\f")
	case "arguments":
		fmt.Print(strings.Join(os.Args[1:], " "), "\f")
	case "endless":
		for {
			if _, err := fmt.Println(strings.Repeat("word ", 1000)); err != nil {
				return 1
			}
		}
	case "sleep":
		<-time.After(time.Hour)
	case "limits":
		limits, err := os.ReadFile("/proc/self/limits")
		fmt.Print(string(limits), err)
	case "bytes":
		fmt.Print("a\x00b\xff\f")
	case "broken":
		fmt.Fprintln(os.Stderr, "Syntax Error: no trailer\nmore")
		return 1
	case "locked":
		fmt.Fprintln(os.Stderr, "Command Line Error: Incorrect password")
		return 1
	}
	return 0
}

// fake runs the test binary as the program. Its memory is limited only if the test sets a
// limit, because the race detector needs terabytes of address space.
func fake(t *testing.T, x pdf.Extractor, task string) (knowledge.Extracted, error) {
	t.Helper()
	x.Program = os.Args[0]
	if x.MaxMemory == 0 {
		x.MaxMemory = -1
	}
	return x.Extract(t.Context(), []byte("%PDF-1.7 "+task))
}

func TestExtractPassesOnlyThePath(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "secret")
	got, err := fake(t, pdf.Extractor{}, "environment")
	require.NoError(t, err)
	assert.Equal(t, "PATH="+os.Getenv("PATH")+"\f", got.Text)
	got, err = fake(t, pdf.Extractor{}, "arguments")
	require.NoError(t, err)
	assert.Equal(t, "-enc UTF-8 -eol unix - -\f", got.Text)
}

func TestExtractLimitsTheOutput(t *testing.T) {
	t.Parallel()
	_, err := fake(t, pdf.Extractor{MaxText: 100_000}, "endless")
	require.ErrorIs(t, err, knowledge.ErrTooLarge)
}

func TestExtractLimitsTheTime(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	_, err := fake(t, pdf.Extractor{Timeout: 100 * time.Millisecond}, "sleep")
	require.ErrorIs(t, err, pdf.ErrTimeout)
	assert.Less(t, time.Since(begin), time.Minute)
}

func TestExtractStopsWithItsContext(t *testing.T) {
	t.Parallel()
	errStop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(errStop) })
	_, err := pdf.Extractor{Program: os.Args[0], MaxMemory: -1}.Extract(ctx, []byte("%PDF-1.7 sleep"))
	require.ErrorIs(t, err, errStop)
}

func TestExtractLimitsTheMemory(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can limit the memory of another process")
	}
	got, err := fake(t, pdf.Extractor{MaxMemory: 1 << 46}, "limits")
	require.NoError(t, err)
	assert.Regexp(t, `Max address space +70368744177664 +70368744177664 `, got.Text)
}

func TestExtractErrors(t *testing.T) {
	t.Parallel()
	_, err := fake(t, pdf.Extractor{}, "broken")
	require.ErrorIs(t, err, pdf.ErrUnreadable)
	assert.ErrorContains(t, err, `"Syntax Error: no trailer"`)
	_, err = fake(t, pdf.Extractor{}, "locked")
	require.ErrorIs(t, err, pdf.ErrEncrypted)
	_, err = fake(t, pdf.Extractor{}, "nothing")
	require.ErrorIs(t, err, pdf.ErrNoText)
	got, err := fake(t, pdf.Extractor{}, "bytes")
	require.NoError(t, err)
	assert.Equal(t, "a\ufffdb\ufffd\f", got.Text)
	_, err = pdf.Extractor{}.Extract(t.Context(), []byte("<html>"))
	require.ErrorIs(t, err, pdf.ErrUnreadable)
	_, err = pdf.Extractor{Program: "no-such-program"}.Extract(t.Context(), []byte("%PDF-1.7"))
	require.ErrorIs(t, err, pdf.ErrNotInstalled)
	assert.ErrorContains(t, err, "no-such-program")
}
