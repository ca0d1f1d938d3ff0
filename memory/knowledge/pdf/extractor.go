package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/knowledge/split"
)

// Errors of [Extractor.Extract]. If the text is larger than the limit, the error is
// [knowledge.ErrTooLarge].
var (
	// ErrNotInstalled: see https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#pdferrnotinstalled.
	ErrNotInstalled = errors.New("pdf: the program is not installed")
	// ErrUnreadable: see https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#pdferrunreadable.
	ErrUnreadable = errors.New("pdf: the file cannot be read")
	// ErrEncrypted: see https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#pdferrencrypted.
	ErrEncrypted = errors.New("pdf: the file is encrypted")
	// ErrNoText: see https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#pdferrnotext.
	ErrNoText = errors.New("pdf: the file has no text")
	// ErrTimeout: see https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#pdferrtimeout.
	ErrTimeout = errors.New("pdf: the time limit was reached")
)

// The default limits of an [Extractor].
const (
	DefaultTimeout   = 30 * time.Second
	DefaultMaxText   = 16 << 20
	DefaultMaxMemory = 1 << 30
)

// An Extractor is a [knowledge.Extractor] for PDF files. The zero value runs pdftotext from
// PATH with the default limits. It is safe for concurrent use.
type Extractor struct {
	// Program is the name or path of pdftotext. Another program must accept the same
	// arguments: "-enc UTF-8 -eol unix - -" reads a PDF from the standard input and writes its
	// text to the standard output, with a form feed after each page.
	Program string
	// Timeout limits the time for one file.
	Timeout time.Duration
	// MaxText limits the bytes of the text.
	MaxText int
	// MaxMemory limits the address space of the program in bytes. A negative number means no
	// limit. It has an effect on Linux only. On other systems, only Timeout and MaxText end a
	// program that needs more and more memory, and it can use all memory before.
	MaxMemory int64
}

var _ knowledge.Extractor = Extractor{}

// Extract returns the text of a PDF file. A form feed ends each page.
func (x Extractor) Extract(ctx context.Context, file []byte) (knowledge.Extracted, error) {
	if !bytes.Contains(file[:min(len(file), 1024)], []byte("%PDF-")) {
		return knowledge.Extracted{}, fmt.Errorf("%w: it has no PDF header", ErrUnreadable)
	}
	text, err := x.withDefaults().run(ctx, file)
	if err != nil {
		return knowledge.Extracted{}, err
	}
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "\ufffd")
	if strings.TrimSpace(text) == "" {
		return knowledge.Extracted{}, fmt.Errorf("%w: recognize the text of scanned pages first", ErrNoText)
	}
	return knowledge.Extracted{Text: text, Format: split.Pages}, nil
}

func (x Extractor) withDefaults() Extractor {
	if x.Program == "" {
		x.Program = "pdftotext"
	}
	if x.Timeout <= 0 {
		x.Timeout = DefaultTimeout
	}
	if x.MaxText <= 0 {
		x.MaxText = DefaultMaxText
	}
	if x.MaxMemory == 0 {
		x.MaxMemory = DefaultMaxMemory
	}
	return x
}

// maxMessage is the maximum number of bytes of the program's error messages that are kept.
const maxMessage = 4 << 10

// run returns the output of the program for a file.
func (x Extractor) run(ctx context.Context, file []byte) (string, error) {
	limited, cancel := context.WithTimeoutCause(ctx, x.Timeout, ErrTimeout)
	defer cancel()
	input := &gate{open: make(chan struct{}), data: bytes.NewReader(file)}
	output := &head{limit: x.MaxText, full: cancel}
	messages := &head{limit: maxMessage}
	cmd := exec.CommandContext(limited, x.Program, "-enc", "UTF-8", "-eol", "unix", "-", "-")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = input, output, messages
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("%w: install %s (Poppler)", ErrNotInstalled, x.Program)
	} else if err != nil {
		return "", fmt.Errorf("pdf: start %s: %w", x.Program, err)
	}
	limit := limitMemory(cmd.Process.Pid, x.MaxMemory)
	if limit != nil {
		cancel()
	}
	close(input.open)
	err := cmd.Wait()
	switch {
	case limit != nil:
		return "", fmt.Errorf("pdf: limit the memory of %s: %w", x.Program, limit)
	case output.over:
		return "", fmt.Errorf("%w: the text of the PDF has more than %d bytes", knowledge.ErrTooLarge, x.MaxText)
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case limited.Err() != nil:
		return "", fmt.Errorf("%w: %s took more than %v", ErrTimeout, x.Program, x.Timeout)
	case err != nil:
		return "", x.failure(err, string(messages.data))
	}
	return string(output.data), nil
}

// failure returns the error for a failed run with these messages.
func (x Extractor) failure(err error, messages string) error {
	if strings.Contains(messages, "Incorrect password") || strings.Contains(messages, "is not allowed") {
		return fmt.Errorf("%w: remove its password first", ErrEncrypted)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(messages), "\n")
	if first == "" {
		first = "no message"
	}
	return fmt.Errorf("%w: %s: %w: %.200q", ErrUnreadable, x.Program, err, first)
}

// A gate is a reader that blocks until it is opened, so that the program cannot read the file
// before its memory is limited.
type gate struct {
	open chan struct{}
	data io.Reader
}

func (g *gate) Read(p []byte) (int, error) {
	<-g.open
	return g.data.Read(p)
}

// A head keeps the first bytes that are written to it.
type head struct {
	data  []byte
	limit int
	over  bool   // more was written
	full  func() // called if more is written; may be nil
}

func (h *head) Write(p []byte) (int, error) {
	n := min(len(p), h.limit-len(h.data))
	h.data = append(h.data, p[:n]...)
	if n < len(p) && !h.over {
		h.over = true
		if h.full != nil {
			h.full()
		}
	}
	return len(p), nil
}
